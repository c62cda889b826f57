/* The checked floor: the relay with the checks that no engine gets around. To emit is to go from the pipe to
 * its circuit, to see that it is open, that the calling thread is running it and that its queue has room, and
 * to store a slot {pipe, value}; to deliver is to load it and to call the pipe's function. The receptor gets its
 * pipe as an argument: through a field of its state it would cost 1.8 ns more (4.8 for 3.0), since the next
 * delivery waits for that load. */
#ifndef PERFKIT_CHECKED_H
#define PERFKIT_CHECKED_H

#include "floor.h"

struct checked_pipe;
struct checked_state;

typedef void (*checked_receptor)(struct checked_pipe *pipe, struct checked_state *state, int64_t value);

struct checked_slot {
    struct checked_pipe *pipe;
    int64_t value;
};

struct checked_circuit {
    uint64_t head;
    uint64_t tail;
    uint64_t capacity;
    uint64_t mask; /* capacity - 1; a power of two less one */
    struct checked_slot *slots;
    int32_t closed;
};

struct checked_pipe {
    struct checked_circuit *circuit;
    checked_receptor receive;
    struct checked_state *state;
};

struct checked_state {
    int64_t count;
    int64_t burst;
    struct checked_pipe *onward;
};

/* The circuit that the calling thread is running. */
extern _Thread_local struct checked_circuit *checked_current;

/* Emits where a check has failed: not to a closed circuit; to one that the thread is not running, which is then
 * the next to run; to a full queue, which grows. Out of line, so that the common path saves no register. */
void checked_emit_slowly(struct checked_pipe *pipe, int64_t value);

static inline void checked_emit(struct checked_pipe *pipe, int64_t value) {
    struct checked_circuit *circuit = pipe->circuit;
    if (FLOOR_UNLIKELY(circuit->closed != 0) || FLOOR_UNLIKELY(circuit != checked_current) ||
        FLOOR_UNLIKELY(circuit->tail - circuit->head == circuit->capacity)) {
        checked_emit_slowly(pipe, value);
        return;
    }
    struct checked_slot *slot = &circuit->slots[circuit->tail & circuit->mask];
    slot->pipe = pipe;
    slot->value = value;
    circuit->tail++;
}

void checked_relay(struct checked_pipe *pipe, struct checked_state *state, int64_t value);

#endif
