/* What the Python side calls. One engine a process; every function may be called from any thread.
 *
 * Handles: a circuit is its address; a pipe is its address with a generation in the upper 16 bits, so that
 * the handle of a pipe that is gone is recognised although its memory serves another pipe.
 *
 * build_alpha.py gives the part between the two marks to cffi as it is.
 */
#ifndef SUBSTRATES_ALPHA_H
#define SUBSTRATES_ALPHA_H

#include <stddef.h>
#include <stdint.h>

/* cdef: begin */

/* Results. */
enum {
    ALPHA_OK = 0,
    ALPHA_ADOPTED = 1,   /* the circuit is run by Python: admit the value there */
    ALPHA_DEFERRED = 1,  /* it will be done when the circuit has come to it */
    ALPHA_FORKED = 2,    /* this process is a forked child */
    ALPHA_MEMORY = 3,    /* out of memory; nothing was done */
    ALPHA_TIMEOUT = 4,
    ALPHA_INTERRUPTED = 5, /* a signal came in: give Python a chance to handle it, then call again */
    ALPHA_STOPPED = 6,
    ALPHA_RANGE = 7 /* no such index */
};

/* As the number of a pipe's name: the circuit's. */
enum { ALPHA_SAME_NAME = -1 };

/* Events. */
enum {
    ALPHA_EVENT_FAULT = 1,   /* a kernel returned a fault code */
    ALPHA_EVENT_READY = 2,   /* values wait for a circuit that Python runs */
    ALPHA_EVENT_DROPPED = 3  /* a deferred drop, of a pipe or of a population's pipes, is done */
};

typedef struct {
    int32_t kind;
    int32_t code;          /* FAULT: what the kernel returned */
    uint64_t circuit;
    uint64_t pipe;
    uint64_t kernel;       /* FAULT: the function's address */
    uint32_t circuit_name; /* FAULT: the numbers given at creation */
    uint32_t pipe_name;
    uint64_t count;        /* FAULT: how many alike came one after the other */
} alpha_event;

typedef struct {
    uint64_t pipe; /* 0: a command, to be run by alpha_run_command */
    uint64_t bits;
} alpha_item;

typedef struct {
    uint64_t circuits, pipes;      /* that exist */
    uint64_t workers;              /* threads */
    uint64_t engine_bytes;         /* mapped for circuits, pipes and their states, and held in transit buffers */
    uint64_t used_bytes;           /* of the circuits, pipes and states that exist */
    uint64_t allocated_bytes;      /* taken from the C heap for emissions since the start */
    uint64_t cached_bytes;         /* ingress nodes kept for reuse */
    uint64_t visits;               /* of circuits by workers since the start */
    uint64_t faults;
} alpha_facts;

/* Starts the engine unless it runs. `workers`: how many processors to use. */
int alpha_start(int workers);
/* Ends the threads, waiting `patience_ms` at most for kernels that run. What is queued is dropped. */
void alpha_stop(int patience_ms);
void alpha_read_facts(alpha_facts *facts);
/* Gives unused memory back to the system if nothing runs. */
void alpha_trim(void);

/* 0: out of memory, or forked. `adopted`: Python runs it from the start. */
uint64_t alpha_circuit_new(uint32_t name, int adopted);
/* The end, behind all that was accepted; what comes later is dropped. */
int alpha_circuit_close(uint64_t circuit);
/* Nobody refers to it any more; its pipes were dropped before. What was accepted is still delivered. */
void alpha_circuit_drop(uint64_t circuit);
/* Hands the circuit to Python for good; returns when no worker touches it. */
int alpha_circuit_adopt(uint64_t circuit);
/* Of an adopted circuit, whose values from native code wait in its tail.
 *
 * mark: how many values have come in since the adoption; they will be taken before what comes in from now on.
 * take: copies up to `room` of the marked ones, oldest first, and returns how many.
 * rest: with nothing left, makes the next value that comes in raise READY; 0 if something is left.
 * left_transit: the transit that the circuit had when it was adopted, `room` values at most. */
uint64_t alpha_tail_mark(uint64_t circuit);
int alpha_tail_take(uint64_t circuit, alpha_item *items, int room);
int alpha_tail_rest(uint64_t circuit);
int alpha_left_transit(uint64_t circuit, alpha_item *items, int room);
/* Of an adopted circuit that has ended: drops what waits and what comes. */
void alpha_circuit_bury(uint64_t circuit);
/* Returns the handle of the pipe that it drops, 0 if it is another command. */
uint64_t alpha_run_command(uint64_t circuit, uint64_t bits);

/* `state`: `size` bytes to start from, copied; `own`: cells, one bit each, that get the pipe's own handle; `cell`:
 * one that gets the handle `target`, if that is not 0. 0: out of memory. */
uint64_t alpha_pipe_new(uint64_t circuit, uint64_t kernel, int64_t name, const char *state, size_t size, uint64_t own,
                        uint32_t cell, uint64_t target);
/* As alpha_pipe_new over memory of the caller's, which must outlive the pipe and its deferred drop. */
uint64_t alpha_pipe_over(uint64_t circuit, uint64_t kernel, int64_t name, void *state);
/* Nobody holds the pipe any more. OK: gone. DEFERRED: once all accepted before is delivered; then DROPPED is
 * reported if `report`. */
int alpha_pipe_drop(uint64_t pipe, int report);
int64_t *alpha_pipe_state(uint64_t pipe);
int alpha_emit_int64(uint64_t pipe, int64_t value);
int alpha_emit_float64(uint64_t pipe, double value);
/* Runs kernels of an adopted circuit here and now: those of `items`, in order, and with `cascade` whatever they
 * cause on this circuit too, until a pipe with a Python receptor has its turn or `limit_ns` has passed. Values for
 * other circuits are admitted there. What is left for this circuit is fetched by alpha_left, in order; returns how
 * many there are, or -1 if out of memory, with nothing done. */
int alpha_run(uint64_t circuit, const alpha_item *items, int count, int cascade, int64_t limit_ns);
void alpha_left(alpha_item *items, int count);

/* Populations: `count` circuits, made, closed and dropped in one call; each can be closed and adopted like any other.
 *
 * new: 0: out of memory, or forked.
 * index: of a member's handle; -1: none of them.
 * close: all members that Python does not run.
 * barrier: as alpha_barrier, over all members that Python does not run.
 * drop: as alpha_circuit_drop of each. */
uint64_t alpha_population_new(uint32_t name, uint64_t count);
uint64_t alpha_population_circuit(uint64_t population, uint64_t index);
int64_t alpha_population_index(uint64_t population, uint64_t circuit);
int alpha_population_close(uint64_t population);
int alpha_population_barrier(uint64_t population, uint64_t *waiter);
void alpha_population_drop(void *population);

/* One pipe per member, with the states in one block of memory.
 *
 * new: `own`: the cells that get the pipe's own handle. 0: out of memory, or forked.
 * handles, states: arrays of `count`, valid until alpha_pipes_free.
 * index: of a pipe's handle; -1: none of them.
 * emit: values[i], or values[0] for all if `single`, to member where[i], or member i if `where` is NULL; i from
 *     *done to `count`. Stops where a member is run by Python (ADOPTED), with *done at it, and at an error (RANGE:
 *     another thread has changed `where` since it was checked).
 * number: what the event DROPPED has as its pipe once all pipes are gone.
 * drop: as alpha_pipe_drop of each, also of members that Python runs.
 * free: nobody looks at the arrays any more. */
uint64_t alpha_pipes_new(uint64_t population, uint64_t kernel, int64_t name, const char *state, size_t size,
                         const uint32_t *own, size_t own_count);
uint64_t alpha_pipes_number(uint64_t pipes);
uint64_t *alpha_pipes_handles(uint64_t pipes);
char *alpha_pipes_states(uint64_t pipes);
int64_t alpha_pipes_index(uint64_t pipes, uint64_t pipe);
int alpha_pipes_emit(uint64_t pipes, const uint64_t *values, int single, const int64_t *where, uint64_t count,
                     uint64_t *done);
void alpha_pipes_drop(void *pipes);
void alpha_pipes_free(void *pipes);

/* A barrier behind all that was accepted. *waiter is 0 if there is nothing to wait for. */
int alpha_barrier(uint64_t circuit, uint64_t *waiter);
/* A barrier that notes when its turn comes; also if nothing waits: then a worker comes for it. *waiter is 0 if the
 * circuit has ended. */
int alpha_probe(uint64_t circuit, uint64_t *waiter);
int alpha_wait(uint64_t waiter, int64_t timeout_ns);
/* When the turn of a probe came, by the clock of Python's time.perf_counter_ns; 0: not yet. */
int64_t alpha_turn_ns(uint64_t waiter);
void alpha_waiter_free(uint64_t waiter);

/* Waits until there are events; one thread at a time. OK, TIMEOUT, INTERRUPTED or STOPPED. */
int alpha_events_wait(int64_t timeout_ns);
/* Takes the oldest event: 1, or 0 if there is none. */
int alpha_event_take(alpha_event *event);

/* The compiler and its flags, for the record. */
const char *alpha_build(void);

/* Kernels of the engine's own: ignore; stand for a Python receptor; emit to the handles in the state (the first cell
 * counts them). */
uint64_t alpha_kernel_discard(void);
uint64_t alpha_kernel_python(void);
uint64_t alpha_kernel_fan_out(void);

/* cdef: end */

#endif
