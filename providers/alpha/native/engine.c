/* The engine's life, and the functions that Python calls on circuits and pipes. */
#define _GNU_SOURCE
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct engine engine = {
    .life_mutex = PTHREAD_MUTEX_INITIALIZER,
    .park_mutex = PTHREAD_MUTEX_INITIALIZER,
};

static struct circuit *circuit_at(uint64_t address) {
    return (struct circuit *)(uintptr_t)address;
}

/* -- life */

static void forked_child(void) {
    store_relaxed(&engine.forked, 1);
}

int alpha_start(int workers) {
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    int result = ALPHA_OK;
    pthread_mutex_lock(&engine.life_mutex);
    bool starts = !load_relaxed(&engine.started);
    if (starts) {
        engine.cores = workers;
        parker_open(&engine.watcher_parker);
        events_open();
        if (pthread_atfork(NULL, NULL, forked_child) != 0) {
            result = ALPHA_MEMORY;
        }
    }
    pthread_mutex_unlock(&engine.life_mutex);
    for (int count = 0; starts && result == ALPHA_OK && count < workers; count++) {
        result = worker_add(false);
        if (result != ALPHA_OK && count > 0) {
            result = ALPHA_OK; /* fewer workers than wished for are enough */
            break;
        }
    }
    if (starts && result == ALPHA_OK) {
        result = watcher_start();
        store_relaxed(&engine.started, result == ALPHA_OK);
    }
    return result;
}

void alpha_stop(int patience_ms) {
    if (load_relaxed(&engine.forked) || !load_relaxed(&engine.started)) {
        return;
    }
    pthread_mutex_lock(&engine.life_mutex);
    store_ordered(&engine.stopping, 1);
    uint32_t count = load_relaxed(&engine.worker_count);
    for (uint32_t index = 0; index < count; index++) {
        store_relaxed(&load_relaxed(&engine.workers[index])->preempt, 1);
    }
    pthread_mutex_unlock(&engine.life_mutex);
    parker_unpark(&engine.watcher_parker);
    events_stop();
    struct timespec nap = {0, 1000000};
    for (int waited = 0; waited <= patience_ms; waited++) {
        wake_all();
        if (load_relaxed(&engine.threads) + load_relaxed(&engine.threads_watching) == 0) {
            break;
        }
        nanosleep(&nap, NULL);
    }
}

void alpha_read_facts(alpha_facts *facts) {
    memset(facts, 0, sizeof *facts);
    if (load_relaxed(&engine.forked)) {
        return;
    }
    memory_facts(facts);
    facts->allocated_bytes = load_relaxed(&engine.allocated_bytes);
    facts->visits = load_relaxed(&engine.visits);
    pthread_mutex_lock(&engine.life_mutex);
    uint32_t count = load_relaxed(&engine.worker_count);
    for (uint32_t index = 0; index < count; index++) {
        struct worker *worker = load_relaxed(&engine.workers[index]);
        facts->allocated_bytes += load_relaxed(&worker->allocated_bytes);
        facts->visits += load_relaxed(&worker->visits);
    }
    facts->workers = load_relaxed(&engine.threads);
    pthread_mutex_unlock(&engine.life_mutex);
    facts->faults = events_faults();
}

void alpha_trim(void) {
    if (load_relaxed(&engine.forked)) {
        return;
    }
    pthread_mutex_lock(&engine.park_mutex);
    if (is_quiescent()) {
        memory_trim();
    }
    pthread_mutex_unlock(&engine.park_mutex);
}

#ifndef ALPHA_FLAGS
#define ALPHA_FLAGS "flags unknown"
#endif
#if defined(__clang__)
#define ALPHA_COMPILER "clang "
#else
#define ALPHA_COMPILER "gcc "
#endif

const char *alpha_build(void) {
    return ALPHA_COMPILER __VERSION__ ", " ALPHA_FLAGS;
}

/* -- circuits */

uint64_t alpha_circuit_new(uint32_t name, int adopted) {
    if (load_relaxed(&engine.forked)) {
        return 0;
    }
    struct circuit *circuit = circuit_allocate();
    if (circuit == NULL) {
        return 0;
    }
    circuit_open(circuit, name, adopted != 0);
    return (uint64_t)(uintptr_t)circuit;
}

int alpha_circuit_close(uint64_t address) {
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    struct circuit *circuit = circuit_at(address);
    store_relaxed(&circuit->closing, 1);
    if (load_relaxed(&circuit->adopted)) {
        return ALPHA_ADOPTED;
    }
    uintptr_t expected = IDLE;
    if (replace_both(&circuit->ingress, &expected, CLOSED)) {
        return ALPHA_OK;
    }
    return circuit_admit(NULL, circuit, 0, COMMAND_CLOSE, true) == ADMITTED_MEMORY ? ALPHA_MEMORY : ALPHA_OK;
}

void alpha_circuit_drop(uint64_t address) {
    if (load_relaxed(&engine.forked)) {
        return;
    }
    struct circuit *circuit = circuit_at(address);
    if (load_relaxed(&circuit->adopted)) {
        alpha_circuit_bury(address);
        event_forget(circuit);
        circuit_release(circuit);
    } else {
        uintptr_t expected = IDLE;
        if (replace_both(&circuit->ingress, &expected, CLOSED) || expected == CLOSED ||
            circuit_admit(NULL, circuit, 0, COMMAND_RELEASE, true) == ADMITTED_DROPPED) {
            circuit_release(circuit);
        }
    }
    if (memory_has_empty_slabs()) {
        alpha_trim();
    }
}

int alpha_circuit_adopt(uint64_t address) {
    struct circuit *circuit = circuit_at(address);
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    store_ordered(&circuit->adopted, 1); /* again is no change: `handed` stays */
    struct timespec nap = {0, 50000};
    for (;;) {
        if (load_acquire(&circuit->handed) || load_relaxed(&engine.stopping)) {
            return ALPHA_OK;
        }
        uintptr_t expected = IDLE;
        if (replace_both(&circuit->ingress, &expected, BUSY)) {
            hand_over(circuit);
            return ALPHA_OK;
        }
        if (expected == CLOSED) {
            return ALPHA_OK;
        }
        /* A worker that runs it looks at the flag between two deliveries when it is asked to. */
        uint32_t count = load_acquire(&engine.worker_count);
        for (uint32_t index = 0; index < count; index++) {
            store_relaxed(&load_acquire(&engine.workers[index])->preempt, 1);
        }
        nanosleep(&nap, NULL);
    }
}

/* Marking, by whoever admits from Python, and taking, by whoever runs the circuit, share the list of pending nodes. */
static pthread_mutex_t adopted_mutex = PTHREAD_MUTEX_INITIALIZER;

uint64_t alpha_tail_mark(uint64_t address) {
    struct circuit *circuit = circuit_at(address);
    pthread_mutex_lock(&adopted_mutex);
    if (circuit->moved == 0) { /* what the worker had taken when it gave the circuit up comes first */
        for (struct node *node = circuit->pending; node != NULL; node = node->next) {
            circuit->last = node;
            circuit->moved++;
        }
    }
    if (load_acquire(&circuit->ingress) > CLOSED) {
        struct node *list = circuit_take(circuit);
        if (list != NULL) {
            if (circuit->pending == NULL) {
                circuit->pending = list;
            } else {
                circuit->last->next = list;
            }
            for (; list != NULL; list = list->next) {
                circuit->last = list;
                circuit->moved++;
            }
        }
    }
    uint64_t moved = circuit->moved;
    pthread_mutex_unlock(&adopted_mutex);
    return moved;
}

int alpha_tail_take(uint64_t address, alpha_item *items, int room) {
    struct circuit *circuit = circuit_at(address);
    int count = 0;
    pthread_mutex_lock(&adopted_mutex);
    for (struct node *node; count < room && (node = circuit->pending) != NULL; count++) {
        circuit->pending = node->next;
        items[count].pipe = node->pipe;
        items[count].bits = node->bits;
        node_give(NULL, node);
    }
    pthread_mutex_unlock(&adopted_mutex);
    return count;
}

int alpha_tail_rest(uint64_t address) {
    struct circuit *circuit = circuit_at(address);
    uintptr_t seen = load_acquire(&circuit->ingress);
    if (seen == BUSY && circuit_rest(circuit)) {
        add_relaxed(&engine.python_busy, (uint32_t)-1);
        return 1;
    }
    return seen == IDLE || seen == CLOSED;
}

int alpha_left_transit(uint64_t address, alpha_item *items, int room) {
    struct circuit *circuit = circuit_at(address);
    struct transit *parked = circuit->parked;
    if (parked == NULL) {
        return 0;
    }
    size_t taken = parked->count < (size_t)room ? parked->count : (size_t)room;
    memcpy(items, parked->slots, taken * sizeof *items);
    parked->count -= taken;
    memmove(parked->slots, parked->slots + taken, parked->count * sizeof *items);
    if (parked->count == 0) {
        free(parked);
        circuit->parked = NULL;
    }
    return (int)taken;
}

void alpha_circuit_bury(uint64_t address) {
    if (load_relaxed(&engine.forked)) {
        return;
    }
    struct circuit *circuit = circuit_at(address);
    uintptr_t seen = load_relaxed(&circuit->ingress);
    if (seen != CLOSED) {
        if (seen != IDLE) {
            add_relaxed(&engine.python_busy, (uint32_t)-1);
        }
        pthread_mutex_lock(&adopted_mutex);
        circuit_end(NULL, circuit);
        pthread_mutex_unlock(&adopted_mutex);
    }
}

uint64_t alpha_run_command(uint64_t address, uint64_t bits) {
    (void)address;
    uint64_t kind = bits & COMMAND_MASK;
    bool drops = kind == COMMAND_DROP || kind == COMMAND_DROP_REPORT;
    uint64_t handle = drops ? load_relaxed(&((struct pipe *)(uintptr_t)(bits & ~(uint64_t)COMMAND_MASK))->handle) : 0;
    circuit_command(bits);
    return handle;
}

/* -- pipes */

static uint64_t pipe_publish(struct pipe *pipe, uint64_t circuit, uint64_t kernel, int64_t name) {
    return pipe_open(pipe, circuit_at(circuit), (substrates_kernel)(uintptr_t)kernel, name);
}

uint64_t alpha_pipe_new(uint64_t circuit, uint64_t kernel, int64_t name, const char *state, size_t size, uint64_t own,
                        uint32_t cell, uint64_t target) {
    if (load_relaxed(&engine.forked)) {
        return 0;
    }
    struct pipe *pipe = pipe_allocate(size, true);
    if (pipe == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(pipe->state, state, size);
    }
    uint64_t handle = pipe_publish(pipe, circuit, kernel, name);
    uint64_t *cells = pipe->state;
    for (; own != 0; own &= own - 1) {
        cells[__builtin_ctzll(own)] = handle;
    }
    if (target != 0) {
        cells[cell] = target;
    }
    return handle;
}

uint64_t alpha_pipe_over(uint64_t circuit, uint64_t kernel, int64_t name, void *state) {
    if (load_relaxed(&engine.forked)) {
        return 0;
    }
    struct pipe *pipe = pipe_allocate(0, false);
    if (pipe == NULL) {
        return 0;
    }
    pipe_set_state(pipe, state);
    return pipe_publish(pipe, circuit, kernel, name);
}

int alpha_pipe_drop(uint64_t handle, int report) {
    if (load_relaxed(&engine.forked)) {
        return ALPHA_OK;
    }
    struct pipe *pipe = pipe_of(handle);
    struct circuit *circuit = load_relaxed(&pipe->circuit);
    if (load_acquire(&circuit->ingress) == CLOSED || load_relaxed(&circuit->adopted)) {
        pipe_drop(handle, false);
        return ALPHA_OK;
    }
    /* Whoever is responsible for the circuit drops its pipes: then no worker is inside this one. Nobody is while it
     * is idle, so we can be; what comes in meanwhile waits, and is for a pipe that is gone. */
    if (circuit_begin(circuit)) {
        add_relaxed(&circuit->references, 1); /* the pipe's was perhaps the last one */
        pipe_drop(handle, false);
        if (!circuit_rest(circuit)) {
            circuit_touch(circuit); /* who put something in has perhaps not come to it yet */
            schedule(NULL, circuit);
        }
        circuit_release(circuit);
        return ALPHA_OK;
    }
    uint64_t bits = (uint64_t)(uintptr_t)pipe | (report ? COMMAND_DROP_REPORT : COMMAND_DROP);
    switch (circuit_admit(NULL, circuit, 0, bits, true)) {
    case ADMITTED:
        return ALPHA_DEFERRED;
    case ADMITTED_DROPPED:
        pipe_drop(handle, false);
        return ALPHA_OK;
    case ADMITTED_MEMORY:
        break;
    }
    return ALPHA_MEMORY;
}

int64_t *alpha_pipe_state(uint64_t handle) {
    return pipe_of(handle)->state;
}

static int emit(uint64_t handle, uint64_t bits) {
    if (unlikely(handle == 0)) { /* a pipe that the garbage collector has finalized and somebody holds on to */
        return ALPHA_OK;
    }
    struct circuit *circuit = load_relaxed(&pipe_of(handle)->circuit);
    if (unlikely(load_relaxed(&engine.forked))) {
        return ALPHA_FORKED;
    }
    if (unlikely(load_relaxed(&circuit->adopted))) {
        return ALPHA_ADOPTED;
    }
    struct worker *worker = this_worker;
    if (unlikely(worker != NULL) && worker->circuit == circuit) {
        /* A kernel called out and came back: the same as emitting through its context. */
        return substrates_emit(&worker->context, handle, bits) == 0 ? ALPHA_OK : ALPHA_MEMORY;
    }
    return circuit_admit(NULL, circuit, handle, bits, false) == ADMITTED_MEMORY ? ALPHA_MEMORY : ALPHA_OK;
}

int alpha_emit_int64(uint64_t handle, int64_t value) {
    return emit(handle, (uint64_t)value);
}

int alpha_emit_float64(uint64_t handle, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return emit(handle, bits);
}

/* -- kernels of adopted circuits, run by the Python thread that runs the circuit */

static pthread_key_t guest_key;
static pthread_once_t guest_once = PTHREAD_ONCE_INIT;

static void guest_close(void *argument) {
    struct worker *guest = argument;
    worker_close(guest);
    free(guest);
}

static void guest_prepare(void) {
    pthread_key_create(&guest_key, guest_close);
}

static struct worker *guest_of_thread(void) {
    pthread_once(&guest_once, guest_prepare);
    struct worker *guest = pthread_getspecific(guest_key);
    if (guest == NULL) {
        guest = aligned_alloc(CACHE_LINE, sizeof *guest);
        if (guest == NULL) {
            return NULL;
        }
        *guest = (struct worker){.guest = true};
        if (worker_open(guest) != ALPHA_OK || pthread_setspecific(guest_key, guest) != 0) {
            free(guest);
            return NULL;
        }
    }
    return guest;
}

/* The stand-in for a Python receptor: recognised by its address, never called. */
static int32_t python(substrates_context *context, void *state, uint64_t bits) {
    (void)context;
    (void)state;
    (void)bits;
    return 0;
}

uint64_t alpha_kernel_python(void) {
    return (uint64_t)(uintptr_t)python;
}

int alpha_run(uint64_t address, const alpha_item *items, int count, int cascade, int64_t limit_ns) {
    enum { LOOK = 256 /* deliveries between two looks at the clock */ };
    struct worker *guest = guest_of_thread();
    if (guest == NULL) {
        return -1;
    }
    struct circuit *circuit = circuit_at(address);
    substrates_context *context = &guest->context;
    guest->circuit = circuit;
    guest->head = guest->start = context->tail = guest->base;
    for (int at = 0; at < count; at++) {
        if (substrates_emit(context, items[at].pipe, items[at].bits) != 0) {
            return -1;
        }
    }
    int64_t deadline = clock_now_ns() + limit_ns;
    for (int done = 0; guest->head != context->tail && (cascade || done < count); done++) {
        struct pipe *pipe = pipe_of(guest->head->pipe);
        uint64_t handle = guest->head->pipe, bits = guest->head->bits;
        if (pipe->kernel == python || (done % LOOK == LOOK - 1 && clock_now_ns() > deadline)) {
            break;
        }
        guest->head++;
        if (guest->head == context->tail) {
            guest->head = context->tail = guest->base;
        }
        guest->start = context->tail;
        int32_t code = pipe->kernel(context, pipe->state, bits);
        if (unlikely(code != 0)) {
            event_fault(circuit, pipe, handle, code);
        }
        route(guest, circuit);
    }
    return (int)(context->tail - guest->head);
}

void alpha_left(alpha_item *items, int count) {
    struct worker *guest = guest_of_thread();
    if (guest != NULL) {
        memcpy(items, guest->head, (size_t)count * sizeof *items);
    }
}

/* -- kernels of the engine's own */

static int32_t discard(substrates_context *context, void *state, uint64_t bits) {
    (void)context;
    (void)state;
    (void)bits;
    return 0;
}

static int32_t fan_out(substrates_context *context, void *state, uint64_t bits) {
    const uint64_t *cells = state;
    for (uint64_t index = 1; index <= cells[0]; index++) {
        int32_t fault = substrates_emit(context, cells[index], bits);
        if (fault != 0) {
            return fault;
        }
    }
    return 0;
}

uint64_t alpha_kernel_discard(void) {
    return (uint64_t)(uintptr_t)discard;
}

uint64_t alpha_kernel_fan_out(void) {
    return (uint64_t)(uintptr_t)fan_out;
}
