/* Admission and the end of circuits. */
#include "engine.h"

#include <stdlib.h>

void circuit_open(struct circuit *circuit, uint32_t name, bool adopted) {
    circuit->pending = NULL;
    circuit->parked = NULL;
    circuit->link = NULL;
    circuit->name = name;
    store_relaxed(&circuit->closing, 0);
    store_relaxed(&circuit->adopted, adopted);
    store_relaxed(&circuit->handed, adopted);
    store_relaxed(&circuit->references, 1);
    circuit->moved = 0;
    circuit->last = NULL;
    store_release(&circuit->ingress, IDLE);
}

enum admitted circuit_admit(
    struct worker *worker, struct circuit *circuit, uint64_t pipe, uint64_t bits, bool command) {
    if (!command && load_relaxed(&circuit->closing)) {
        return ADMITTED_DROPPED;
    }
    struct node *node = node_take(worker);
    if (node == NULL) {
        return ADMITTED_MEMORY;
    }
    node->pipe = pipe;
    node->bits = bits;
    switch (circuit_push(circuit, node)) {
    case CLOSED:
        node_give(worker, node);
        return ADMITTED_DROPPED;
    case IDLE:
        schedule(worker, circuit);
        break;
    }
    return ADMITTED;
}

static struct node *oldest_first(uintptr_t newest) {
    if (newest <= CLOSED) {
        return NULL;
    }
    struct node *node = (struct node *)newest, *list = NULL;
    while (node != NULL) {
        struct node *next = node->next;
        node->next = list;
        list = node;
        node = next;
    }
    return list;
}

struct node *circuit_take(struct circuit *circuit) {
    return oldest_first(swap_acquire(&circuit->ingress, BUSY));
}

uint64_t pipe_open(struct pipe *pipe, struct circuit *circuit, substrates_kernel kernel, int64_t name) {
    pipe->kernel = kernel;
    pipe->name = name == ALPHA_SAME_NAME ? circuit->name : (uint32_t)name;
    pipe->generation++;
    store_relaxed(&pipe->circuit, circuit);
    add_relaxed(&circuit->references, 1);
    uint64_t handle = ((uint64_t)pipe->generation << HANDLE_BITS) | (uint64_t)(uintptr_t)pipe;
    store_release(&pipe->handle, handle);
    return handle;
}

void pipe_drop(uint64_t handle, bool report) {
    struct pipe *pipe = pipe_of(handle);
    struct circuit *circuit = load_relaxed(&pipe->circuit);
    store_relaxed(&pipe->handle, 0);
    pipe_free(pipe);
    circuit_release(circuit);
    if (report) {
        event_dropped(handle);
    }
}

/* Frees a list of nodes that nobody will receive; commands among them still take effect. Returns whether the
 * release of the circuit was one of them. */
static bool discard(struct worker *worker, struct node *list) {
    bool released = false;
    while (list != NULL) {
        struct node *next = list->next;
        uint64_t pipe = list->pipe, bits = list->bits;
        node_give(worker, list);
        if (pipe == 0) {
            circuit_command(bits);
            released |= (bits & COMMAND_MASK) == COMMAND_RELEASE;
        }
        list = next;
    }
    return released;
}

/* The circuit's last moment. Afterwards it may be freed by whoever drops it. Returns whether that was asked
 * for already, so that it is the caller who has to free it. */
bool circuit_end(struct worker *worker, struct circuit *circuit) {
    struct node *rest = circuit->pending;
    circuit->pending = NULL;
    free(circuit->parked);
    circuit->parked = NULL;
    bool released = discard(worker, rest);
    return discard(worker, oldest_first(swap_both(&circuit->ingress, CLOSED))) || released;
}

void circuit_command(uint64_t bits) {
    uint64_t argument = bits & ~(uint64_t)COMMAND_MASK;
    switch ((enum command)(bits & COMMAND_MASK)) {
    case COMMAND_BARRIER:
        waiter_done(argument);
        break;
    case COMMAND_DROP:
    case COMMAND_DROP_REPORT: {
        struct pipe *pipe = (struct pipe *)(uintptr_t)argument;
        pipe_drop(load_relaxed(&pipe->handle), (bits & COMMAND_MASK) == COMMAND_DROP_REPORT);
        break;
    }
    case COMMAND_CLOSE:
    case COMMAND_RELEASE: /* these two end the visit: see visit() */
        break;
    }
}
