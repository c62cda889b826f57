#include "checked.h"

void checked_relay(struct checked_pipe *pipe, struct checked_state *state, int64_t value) {
    state->count++;
    if (value > 0) {
        checked_emit(pipe, value - 1);
    } else if (state->onward != 0) {
        checked_emit(state->onward, state->burst);
    }
}
