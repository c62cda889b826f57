/* The lean floor: a bare FIFO. To emit is to store a slot {function, state, value}; to deliver is to load it
 * and to call the function. No ownership, no end, no bound is checked. */
#ifndef PERFKIT_LEAN_H
#define PERFKIT_LEAN_H

#include "floor.h"

struct lean_queue;
struct lean_state;

typedef void (*lean_receptor)(struct lean_queue *queue, struct lean_state *state, int64_t value);

struct lean_slot {
    lean_receptor receive;
    struct lean_state *state;
    int64_t value;
    int64_t unused; /* 32 bytes: an index is a shift */
};

struct lean_queue {
    uint64_t tail;
    struct lean_slot slots[FLOOR_SLOTS];
};

struct lean_state {
    int64_t count;
    int64_t burst;
    struct lean_state *onward;
};

static inline void lean_emit(struct lean_queue *queue, lean_receptor receive, struct lean_state *state,
                             int64_t value) {
    struct lean_slot *slot = &queue->slots[queue->tail & (FLOOR_SLOTS - 1)];
    slot->receive = receive;
    slot->state = state;
    slot->value = value;
    queue->tail++;
}

void lean_relay(struct lean_queue *queue, struct lean_state *state, int64_t value);

#endif
