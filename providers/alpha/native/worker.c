/* Visits: delivering what a circuit has. The hot path of the engine. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

/* A kernel found the window full: move what is left to the front, or take a larger buffer. */
static int32_t grow(substrates_context *context) {
    struct worker *worker = (struct worker *)context;
    size_t waiting = (size_t)(context->tail - worker->head);
    size_t emitted = (size_t)(context->tail - worker->start);
    size_t room = (size_t)(worker->end - worker->base);
    substrates_slot *base = worker->base;
    if (waiting > room / 2) {
        if (room > SIZE_MAX / 2 / sizeof *base) {
            return SUBSTRATES_FAULT_MEMORY;
        }
        base = malloc(2 * room * sizeof *base);
        if (base == NULL) {
            return SUBSTRATES_FAULT_MEMORY;
        }
        worker->allocated_bytes_own += 2 * room * sizeof *base;
        store_relaxed(&worker->allocated_bytes, worker->allocated_bytes_own);
        memory_account((int64_t)(room * sizeof *base));
        memcpy(base, worker->head, waiting * sizeof *base);
        free(worker->base);
        worker->base = base;
        worker->end = base + 2 * room;
        context->limit = worker->end;
    } else {
        memmove(base, worker->head, waiting * sizeof *base);
    }
    worker->head = base;
    context->tail = base + waiting;
    worker->start = context->tail - emitted;
    return 0;
}

int worker_open(struct worker *worker) {
    worker->base = malloc(TRANSIT_SLOTS * sizeof *worker->base);
    if (worker->base == NULL) {
        return ALPHA_MEMORY;
    }
    memory_account((int64_t)(TRANSIT_SLOTS * sizeof *worker->base));
    worker->end = worker->base + TRANSIT_SLOTS;
    worker->head = worker->start = worker->base;
    worker->context.tail = worker->base;
    worker->context.limit = worker->end;
    worker->context.grow = grow;
    return ALPHA_OK;
}

void worker_close(struct worker *worker) {
    memory_account(-(int64_t)((size_t)(worker->end - worker->base) * sizeof *worker->base));
    free(worker->base);
    worker->base = NULL;
    nodes_return(worker);
    add_relaxed(&engine.allocated_bytes, worker->allocated_bytes_own);
    worker->allocated_bytes_own = 0;
    store_relaxed(&worker->allocated_bytes, 0);
}

/* A buffer that one burst has made large goes back once it is empty. */
static void shrink(struct worker *worker) {
    size_t room = (size_t)(worker->end - worker->base);
    if (room <= 64 * TRANSIT_SLOTS) {
        return;
    }
    substrates_slot *base = malloc(TRANSIT_SLOTS * sizeof *base);
    if (base == NULL) {
        return;
    }
    memory_account(-(int64_t)((room - TRANSIT_SLOTS) * sizeof *base));
    free(worker->base);
    worker->base = worker->head = worker->start = worker->context.tail = base;
    worker->end = worker->context.limit = base + TRANSIT_SLOTS;
}

/* Sorts what the kernel emitted, from worker->start to the tail: other circuits' values are admitted there,
 * this circuit's close up and stay as transit. */
void route(struct worker *worker, struct circuit *circuit) {
    substrates_slot *kept = worker->start;
    substrates_slot *end = worker->context.tail;
    for (substrates_slot *slot = kept; slot != end; slot++) {
        uint64_t handle = slot->pipe, bits = slot->bits;
        if (handle == 0) {
            continue;
        }
        struct pipe *pipe = pipe_of(handle);
        if (unlikely(!pipe_is(pipe, handle))) {
            continue;
        }
        struct circuit *target = load_relaxed(&pipe->circuit);
        if (target == circuit) {
            kept->pipe = handle;
            kept->bits = bits;
            kept++;
        } else {
            pipe_prefetch(pipe);
            if (unlikely(circuit_admit(worker, target, handle, bits, false) == ADMITTED_MEMORY)) {
                event_fault(target, pipe, handle, SUBSTRATES_FAULT_MEMORY);
            }
        }
    }
    worker->context.tail = kept;
}

/* The watcher asked for the processor. Returns whether the circuit has to be put back. */
static bool yields(struct worker *worker, struct circuit *circuit) {
    store_relaxed(&worker->preempt, 0);
    return spread(worker) || load_relaxed(&circuit->adopted) || load_relaxed(&engine.stopping);
}

/* Goes on with the circuit that the only value of the running one is for: that of the pipe with this handle. There is
 * no node and no queue, and what is left of both visits are a claim and a rest:
 *
 * 1. The worker has nothing but this value: none in the transit, none pending, none in the ingress, no next circuit.
 * 2. It claims the other circuit, IDLE to BUSY. That is the value's admission: whatever comes in from now on is
 *    behind it. While the circuit is BUSY it cannot end, nor its pipes.
 * 3. It lets the running circuit rest. If something has come in meanwhile, that one is put back.
 *
 * NULL: it has to go the usual way, and is still there unless it has gone it already. */
static __attribute__((noinline)) struct pipe *follow(struct worker *worker, uint64_t handle) {
    if (unlikely(handle == 0)) {
        return NULL;
    }
    struct pipe *pipe = pipe_of(handle);
    if (unlikely(!pipe_is(pipe, handle))) {
        return NULL;
    }
    pipe_prefetch(pipe);
    struct circuit *circuit = worker->circuit;
    struct circuit *target = load_relaxed(&pipe->circuit);
    if (target == circuit || circuit->pending != NULL || load_relaxed(&circuit->ingress) != BUSY ||
        !may_follow(worker) || load_relaxed(&target->closing) || load_relaxed(&target->adopted) ||
        !circuit_begin(target)) {
        return NULL;
    }
    circuit_touch(target);
    if (unlikely(load_relaxed(&target->adopted))) {
        /* Python's meanwhile, and perhaps already looking into it: as if an emitter had found it idle. */
        if (circuit_admit(worker, target, handle, worker->base->bits, false) == ADMITTED_MEMORY) {
            event_fault(target, pipe, handle, SUBSTRATES_FAULT_MEMORY);
        }
        worker->context.tail = worker->base;
        schedule(NULL, target);
        return NULL;
    }
    if (unlikely(!pipe_is(pipe, handle))) {
        if (!circuit_rest(target)) {
            schedule(NULL, target);
        }
        return NULL;
    }
    worker->circuit = target;
    count_visit(worker);
    worker->streak++;
    if (unlikely(!circuit_rest(circuit))) {
        schedule(NULL, circuit);
    }
    return pipe;
}

/* Where `deliver_to_one` stopped: the pipe that received last, and its fault code. */
struct delivered {
    uint64_t handle;
    int32_t code;
};

/* Delivers `bits` to a pipe, and as long as its kernel emits one value, and that to its own pipe or to one that this
 * worker can `follow` it to, delivers that too. The buffer is empty and rewound, so the same slot is written and read
 * each time; there is nothing to look up and nothing to route. Returns with what the kernel has emitted last between
 * `base` and the tail, and with the circuit of the last pipe as the running one.
 *
 * A function of its own for the sake of registers: spills are stores, and stores bound this loop. */
static __attribute__((noinline)) struct delivered deliver_to_one(
    struct worker *worker, substrates_slot *base, uint64_t handle, substrates_kernel kernel, void *state,
    uint64_t bits) {
    substrates_slot *after = base + 1;
    for (;;) {
        for (;;) {
            worker->context.tail = base;
            int32_t code = kernel(&worker->context, state, bits);
            if (unlikely(worker->context.tail != after) || unlikely(code != 0) ||
                unlikely(load_relaxed(&worker->preempt))) {
                return (struct delivered){handle, code};
            }
            if (unlikely(base->pipe != handle)) {
                break;
            }
            bits = base->bits;
        }
        struct pipe *pipe = follow(worker, base->pipe);
        if (pipe == NULL) {
            return (struct delivered){handle, 0};
        }
        handle = base->pipe;
        bits = base->bits;
        kernel = pipe->kernel;
        state = pipe->state;
    }
}

/* Delivers the transit until it is empty (true) or the time slice is over (false, perhaps with the last value). The
 * running circuit may be another one afterwards. */
static bool drain(struct worker *worker) {
    substrates_context *context = &worker->context;
    while (worker->head != context->tail) {
        uint64_t handle = worker->head->pipe;
        uint64_t bits = worker->head->bits;
        struct pipe *pipe = pipe_of(handle);
        substrates_kernel kernel = pipe->kernel;
        void *state = pipe->state;
        struct delivered delivered = {handle, 0};
        if (worker->head + 1 == context->tail) {
            worker->head = worker->start = worker->base; /* the last slot is in hand: rewind */
            delivered = deliver_to_one(worker, worker->base, handle, kernel, state, bits);
        } else {
            worker->head++;
            worker->start = context->tail;
            delivered.code = kernel(context, state, bits);
        }
        if (unlikely(delivered.code != 0)) {
            event_fault(worker->circuit, pipe_of(delivered.handle), delivered.handle, delivered.code);
        }
        if (context->tail != worker->start) {
            route(worker, worker->circuit);
        }
        if (unlikely(load_relaxed(&worker->preempt)) && yields(worker, worker->circuit)) {
            return false;
        }
    }
    return true;
}

/* Puts the transit aside, so that another circuit can use the buffer. False: no memory, go on. */
static bool park_transit(struct worker *worker, struct circuit *circuit) {
    size_t count = (size_t)(worker->context.tail - worker->head);
    if (count > 0) {
        struct transit *parked = malloc(sizeof *parked + count * sizeof parked->slots[0]);
        if (parked == NULL) {
            return false;
        }
        worker->allocated_bytes_own += sizeof *parked + count * sizeof parked->slots[0];
        store_relaxed(&worker->allocated_bytes, worker->allocated_bytes_own);
        parked->count = count;
        memcpy(parked->slots, worker->head, count * sizeof parked->slots[0]);
        circuit->parked = parked;
        worker->head = worker->start = worker->context.tail = worker->base;
        shrink(worker);
    }
    return true;
}

static void resume_transit(struct worker *worker, struct circuit *circuit) {
    struct transit *parked = circuit->parked;
    circuit->parked = NULL;
    size_t count = parked->count;
    if (count > (size_t)(worker->end - worker->base)) {
        /* Not in this buffer; the parked one is as good, with its head cut off. */
        substrates_slot *base = malloc(2 * count * sizeof *base);
        if (base == NULL) {
            circuit->parked = parked; /* later, when there is memory */
            return;
        }
        memory_account((int64_t)((2 * count - (size_t)(worker->end - worker->base)) * sizeof *base));
        free(worker->base);
        worker->base = base;
        worker->end = worker->context.limit = base + 2 * count;
    }
    memcpy(worker->base, parked->slots, count * sizeof parked->slots[0]);
    worker->head = worker->start = worker->base;
    worker->context.tail = worker->base + count;
    free(parked);
}

/* Gives an adopted circuit up, as it is and not idle: Python waits for the mark and takes it from there. */
void hand_over(struct circuit *circuit) {
    add_relaxed(&engine.python_busy, 1);
    store_release(&circuit->handed, 1);
}

/* Runs a circuit, and those that its last value leads to, until nothing is left or the time slice is over. */
void visit(struct worker *worker, struct circuit *circuit) {
    worker->circuit = circuit;
    if (unlikely(circuit->parked != NULL)) {
        if (load_relaxed(&circuit->adopted)) {
            hand_over(circuit);
            return;
        }
        resume_transit(worker, circuit);
        if (circuit->parked != NULL) {
            schedule(NULL, circuit);
            return;
        }
    }
    for (;;) {
        if (worker->head != worker->context.tail) {
            bool drained = drain(worker);
            circuit = worker->circuit;
            if (!drained) {
                if (!park_transit(worker, circuit)) {
                    continue;
                }
                if (load_relaxed(&circuit->adopted)) {
                    hand_over(circuit);
                } else if (circuit->parked != NULL || circuit->pending != NULL || !circuit_rest(circuit)) {
                    queue_push(&engine.injection, circuit);
                }
                return;
            }
        }
        if (unlikely(load_relaxed(&circuit->adopted))) {
            hand_over(circuit);
            return;
        }
        struct node *node = circuit->pending;
        if (node == NULL) {
            uintptr_t seen = load_relaxed(&circuit->ingress);
            if (seen == BUSY && circuit_rest(circuit)) {
                return;
            }
            node = circuit_take(circuit);
            if (unlikely(node == NULL)) {
                continue;
            }
        } else if (unlikely(load_relaxed(&worker->preempt)) && yields(worker, circuit)) {
            queue_push(&engine.injection, circuit);
            return;
        }
        circuit->pending = node->next;
        uint64_t handle = node->pipe, bits = node->bits;
        node_give(worker, node);
        if (likely(handle != 0)) {
            if (likely(pipe_is(pipe_of(handle), handle))) {
                worker->base->pipe = handle;
                worker->base->bits = bits;
                worker->head = worker->start = worker->base;
                worker->context.tail = worker->base + 1;
            }
        } else if ((bits & COMMAND_MASK) == COMMAND_CLOSE) {
            if (circuit_end(worker, circuit)) {
                circuit_release(circuit);
            }
            return;
        } else if ((bits & COMMAND_MASK) == COMMAND_RELEASE) {
            circuit_end(worker, circuit);
            circuit_release(circuit);
            return;
        } else {
            circuit_command(bits);
        }
    }
}
