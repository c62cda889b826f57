#include "lean.h"

#include <stdlib.h>

static void run(struct lean_queue *queue) {
    uint64_t head = queue->tail - 1;
    while (head != queue->tail) {
        struct lean_slot *slot = &queue->slots[head++ & (FLOOR_SLOTS - 1)];
        slot->receive(queue, slot->state, slot->value);
    }
}

int64_t floor_lean(int64_t circuits, int64_t burst, int64_t rounds) {
    struct lean_state *states = calloc((size_t)circuits, sizeof *states);
    struct lean_queue *queue = calloc(1, sizeof *queue);
    if (states == NULL || queue == NULL) {
        free(states);
        free(queue);
        return FLOOR_NO_MEMORY;
    }
    for (int64_t i = 0; i < circuits; i++) {
        states[i].burst = burst - 1;
        states[i].onward = i + 1 < circuits ? &states[i + 1] : NULL;
    }
    int64_t result = floor_thread_ns();
    for (int64_t round = 0; round < rounds; round++) {
        lean_emit(queue, lean_relay, states, burst - 1);
        run(queue);
    }
    result = floor_thread_ns() - result;
    for (int64_t i = 0; i < circuits; i++) {
        if (states[i].count != burst * rounds) {
            result = FLOOR_MISCOUNT;
        }
    }
    free(states);
    free(queue);
    return result;
}
