#include "checked.h"

#include <stdlib.h>
#include <string.h>

_Thread_local struct checked_circuit *checked_current;
/* With one token per thread, one circuit at most waits to be run. */
static _Thread_local struct checked_circuit *next;

static FLOOR_COLD int grow(struct checked_circuit *circuit) {
    uint64_t mask = 2 * circuit->capacity - 1;
    struct checked_slot *slots = malloc((mask + 1) * sizeof *slots);
    if (slots == NULL) {
        return 0;
    }
    for (uint64_t i = circuit->head; i != circuit->tail; i++) {
        slots[i & mask] = circuit->slots[i & circuit->mask];
    }
    free(circuit->slots);
    circuit->slots = slots;
    circuit->capacity = mask + 1;
    circuit->mask = mask;
    return 1;
}

void checked_emit_slowly(struct checked_pipe *pipe, int64_t value) {
    struct checked_circuit *circuit = pipe->circuit;
    if (circuit->closed) {
        return;
    }
    if (circuit->tail - circuit->head == circuit->capacity && !grow(circuit)) {
        return;
    }
    struct checked_slot *slot = &circuit->slots[circuit->tail & circuit->mask];
    slot->pipe = pipe;
    slot->value = value;
    circuit->tail++;
    if (circuit != checked_current) {
        next = circuit;
    }
}

static void run(void) {
    while (next != NULL) {
        struct checked_circuit *circuit = next;
        next = NULL;
        checked_current = circuit;
        uint64_t head = circuit->head;
        while (head != circuit->tail) {
            struct checked_slot *slot = &circuit->slots[head & circuit->mask];
            struct checked_pipe *pipe = slot->pipe;
            int64_t value = slot->value;
            circuit->head = ++head;
            pipe->receive(pipe, pipe->state, value);
        }
        checked_current = NULL;
    }
}

/* On cache lines of its own, as an engine would lay it out. */
struct member {
    _Alignas(64) struct checked_circuit circuit;
    struct checked_pipe pipe;
    struct checked_state state;
};

int64_t floor_checked(int64_t circuits, int64_t burst, int64_t rounds) {
    int64_t result = 0;
    struct member *members = aligned_alloc(64, (size_t)circuits * sizeof *members);
    if (members == NULL) {
        return FLOOR_NO_MEMORY;
    }
    memset(members, 0, (size_t)circuits * sizeof *members);
    for (int64_t i = 0; i < circuits; i++) {
        struct member *member = &members[i];
        member->circuit.capacity = FLOOR_SLOTS;
        member->circuit.mask = FLOOR_SLOTS - 1;
        member->circuit.slots = calloc(FLOOR_SLOTS, sizeof *member->circuit.slots);
        if (member->circuit.slots == NULL) {
            result = FLOOR_NO_MEMORY;
        }
        member->pipe.circuit = &member->circuit;
        member->pipe.receive = checked_relay;
        member->pipe.state = &member->state;
        member->state.burst = burst - 1;
        member->state.onward = i + 1 < circuits ? &members[i + 1].pipe : NULL;
    }
    if (result == 0) {
        int64_t start = floor_thread_ns();
        for (int64_t round = 0; round < rounds; round++) {
            checked_emit(&members[0].pipe, burst - 1);
            run();
        }
        result = floor_thread_ns() - start;
    }
    for (int64_t i = 0; i < circuits; i++) {
        if (result >= 0 && members[i].state.count != burst * rounds) {
            result = FLOOR_MISCOUNT;
        }
        free(members[i].circuit.slots);
    }
    free(members);
    return result;
}
