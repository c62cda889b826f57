#include "lean.h"

void lean_relay(struct lean_queue *queue, struct lean_state *state, int64_t value) {
    state->count++;
    if (value > 0) {
        lean_emit(queue, lean_relay, state, value - 1);
    } else if (state->onward != 0) {
        lean_emit(queue, lean_relay, state->onward, state->burst);
    }
}
