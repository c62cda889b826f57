/* The engine's structures and how its parts work together.
 *
 * A value's way
 * -------------
 * 1. `alpha_emit_*` (from outside) or `route` (from a kernel of another circuit) puts a node into the
 *    circuit's ingress. If the circuit was idle it becomes ready.                              circuit.c
 * 2. A ready circuit waits in a worker's next slot, in a worker's queue, or in the injection queue for those
 *    made ready from outside. A worker takes it and visits it.                                 scheduler.c
 * 3. The visit takes one ingress value at a time into the worker's transit buffer and drains the transit:
 *    calls the kernel, which emits into the buffer's end; what goes to other circuits is routed at once, what
 *    stays is transit and comes before the next ingress value.                                 worker.c
 * 4. With nothing left the circuit goes idle: an idle circuit is its 64 bytes and nothing else.
 *
 * A value that a kernel emits as the only one, and with which nothing is left, skips 1 and 2 if the circuit that it is
 * for is idle: the worker follows it there.                                                   worker.c
 *
 * The ingress word (circuit.ingress)
 * ----------------------------------
 * IDLE      nothing waits, nobody runs it
 * BUSY      somebody is responsible for it (it is ready or being run), nothing new waits
 * address   somebody is responsible; the newest node of a list that came in meanwhile
 * CLOSED    it has ended, or is no circuit at the moment; whatever comes is dropped
 *
 * Emitters push with compare-and-swap; the one that replaces IDLE makes the circuit ready. The runner takes
 * the whole list by exchange with BUSY, and goes idle by compare-and-swap from BUSY to IDLE, which fails if
 * something came in. Who has a value in hand for an idle circuit may begin it by compare-and-swap from IDLE to BUSY:
 * then the value has its place, before all that comes in later, without a node. There is no third place where "is it scheduled" is kept, hence no wake-up to lose.
 * Emitting releases, taking acquires; going idle releases, the next emitter acquires: so everything in a
 * circuit but this word belongs to whoever is responsible for it.
 *
 * Memory is type-stable
 * ---------------------
 * Circuits and pipes live in slabs of their own kind, unmapped only while nothing runs at all. So a stale
 * handle can always be looked at: the pipe's own handle differs from it (a generation counts reuses), a freed
 * circuit's ingress is CLOSED. (The garbage collector may drop a circuit before its pipes: each pipe counts as a
 * reference.) A kernel that emits to a pipe that is gone emits to nobody.
 *
 * Populations
 * -----------
 * Members are circuits like all others, in order in slabs that the population has taken whole; so are the pipes
 * made for all members at once, whose states lie in one block of memory, a region.               population.c
 */
#ifndef SUBSTRATES_ENGINE_H
#define SUBSTRATES_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alpha.h"
#include "atomics.h"
#include "parker.h"
#include "substrates_kernel.h"

enum {
    CACHE_LINE = 64,
    CELL = 8,
    SLAB_BYTES = 256 * 1024,   /* 4,096 circuits; small beside a population, large beside a system call */
    INLINE_STATE = 1024,       /* larger kernel states get memory of their own */
    TRANSIT_SLOTS = 256,       /* 4 KiB: stays in the first-level cache; grows on demand */
    NODES_PER_WORKER = 512,    /* kept for reuse by each worker; half of them move to the shared cache at a time */
    NODES_SHARED = 16384,      /* kept for reuse by all; more goes back to the C heap */
    TICK_NS = 2000000,         /* the watcher's period, and the time slice of a circuit that others wait behind */
    STUCK_TICKS = 4,           /* ticks inside one kernel call after which its worker counts as blocked: 8 ms */
    IDLE_TICKS = 50,           /* ticks without any running worker after which the watcher sleeps */
    WORKERS = 512,             /* bounds the threads that blocking kernels can cause */
    RETIRE_NS = 1000000000,    /* how long an added worker waits for work */
    STREAK = 64,               /* visits through the next slot, or past it, before the queues get their turn */
    SEARCH_SPINS = 1500,       /* looks for work before parking: some 15 microseconds, less than a wake-up costs */
    WAIT_SPINS = 2000          /* looks at a barrier before parking: some tens of microseconds, a futex's price */
};

/* -- circuits and pipes */

enum ingress { IDLE = 0, BUSY = 1, CLOSED = 2 };

struct node {
    struct node *next;
    uint64_t pipe; /* 0: a command */
    uint64_t bits; /* of a command: an address, the kind of command in its low bits */
};

enum command { COMMAND_BARRIER = 0, COMMAND_CLOSE = 1, COMMAND_DROP = 2, COMMAND_DROP_REPORT = 3, COMMAND_RELEASE = 4 };
enum { COMMAND_MASK = 7 };

struct transit {
    size_t count;
    substrates_slot slots[];
};

struct circuit {
    _Atomic uintptr_t ingress;
    struct node *pending;      /* taken from the ingress, oldest first; the responsible thread's, or see `moved` */
    struct transit *parked;    /* transit put aside at the end of a time slice; the responsible thread's */
    struct circuit *link;      /* in a queue of ready circuits, or in the pool's free list */
    uint32_t name;
    _Atomic uint8_t closing;   /* set by close; emitters drop from then on */
    _Atomic uint8_t adopted;   /* set once: Python runs it */
    _Atomic uint8_t handed;    /* set once, by the thread that gave it up after adoption */
    uint8_t reported;          /* in the list of ready circuits that Python runs; under its mutex */
    _Atomic uint32_t references; /* Python's and one of each pipe: a live pipe's circuit can always be looked at */
    /* Of an adopted circuit, under adopted_mutex: how many values have ever been moved from the ingress to
     * `pending`, and the last node there. */
    uint64_t moved;
    struct node *last;
};

_Static_assert(sizeof(struct circuit) == CACHE_LINE, "a circuit is one cache line");

struct pipe {
    substrates_kernel kernel;
    void *state;               /* inline behind the pipe, or elsewhere; the free list's link of a dead pipe */
    struct circuit *_Atomic circuit;
    _Atomic uint64_t handle;   /* its own; 0 while dead */
    uint32_t name;
    uint16_t generation;
    uint16_t units;            /* of 16 bytes, its pool; 0: its state is on the C heap; or IN_REGION */
};

/* The state is written while others may look where it is, in order to fetch it, by a handle that has become stale. */
static inline void pipe_set_state(struct pipe *pipe, void *state) {
    __atomic_store_n(&pipe->state, state, __ATOMIC_RELAXED);
}

static inline void pipe_prefetch(struct pipe *pipe) {
    __builtin_prefetch(__atomic_load_n(&pipe->state, __ATOMIC_RELAXED));
}

enum { IN_REGION = 0xffff /* the pipe is followed by a `struct region *`, where its state is */ };

#define HANDLE_BITS 48
#define HANDLE_MASK ((UINT64_C(1) << HANDLE_BITS) - 1)

static inline struct pipe *pipe_of(uint64_t handle) {
    return (struct pipe *)(uintptr_t)(handle & HANDLE_MASK);
}

/* -- slabs and rows */

/* What a slab begins with, as far as others than memory.c know it. */
struct slab_head {
    _Atomic uint32_t touched; /* of circuits: one may be busy; see population.c */
};

/* Every circuit that something was put into is in a touched slab by the time it is queued or its emitter returns.
 * Whoever makes a circuit busy, or adds to what it has, calls this behind its ordered compare-and-swap. */
static inline void circuit_touch(struct circuit *circuit) {
    struct slab_head *slab = (struct slab_head *)((uintptr_t)circuit & ~(uintptr_t)(SLAB_BYTES - 1));
    if (unlikely(load_ordered(&slab->touched) == 0)) {
        store_ordered(&slab->touched, 1);
    }
}

/* Puts a node into the ingress. Returns what was there: IDLE, then the caller schedules the circuit; or CLOSED, then
 * the node is not in. */
static inline uintptr_t circuit_push(struct circuit *circuit, struct node *node) {
    uintptr_t last = load_acquire(&circuit->ingress);
    do {
        if (unlikely(last == CLOSED)) {
            return CLOSED;
        }
        node->next = last <= BUSY ? NULL : (struct node *)last;
    } while (!replace_ordered_weak(&circuit->ingress, &last, (uintptr_t)node));
    circuit_touch(circuit);
    return last;
}

/* Many circuits or pipes of one cache line each, in order in slabs that nothing else was in. */
struct rows {
    size_t count, slabs;
    char **first; /* of each slab: its first row */
};

enum { ROWS_PER_SLAB = (SLAB_BYTES - CACHE_LINE) / CACHE_LINE };

static inline void *row_at(const struct rows *rows, size_t index) {
    return rows->first[index / ROWS_PER_SLAB] + index % ROWS_PER_SLAB * CACHE_LINE;
}

/* -- workers */

struct lock {
    _Atomic uint32_t taken;
};

struct queue {
    struct lock lock;
    _Atomic uint32_t size; /* written under the lock */
    struct circuit *head, *tail;
};

struct worker {
    substrates_context context; /* first: a kernel's context is the worker */
    substrates_slot *base, *end;
    substrates_slot *head;      /* the next slot to deliver */
    substrates_slot *start;     /* the first slot that the running kernel emitted */
    struct circuit *circuit;
    struct node *nodes;
    uint32_t node_count;
    uint32_t streak, picks;
    uint64_t allocated_bytes_own;
    _Atomic uint64_t allocated_bytes, visits;  /* written by the worker */
    _Atomic uint32_t preempt;                  /* set by the watcher, cleared by the worker between two deliveries */
    _Atomic uint32_t state;
    struct worker *parked_next, *parked_previous; /* under engine.park_mutex */
    bool extra;                                /* added by the watcher; retires */
    bool guest;                                /* no worker: a Python thread that runs a kernel of an adopted circuit */
    bool searches;                             /* counted in engine.searching; the worker's, or its waker's */
    uint32_t stuck_ticks;                      /* the watcher's */
    uint64_t seen_visits;                      /* the watcher's */
    pthread_t thread;
    struct parker parker;
    _Alignas(CACHE_LINE) struct circuit *_Atomic next; /* filled by the worker, taken by it or by the watcher */
    _Alignas(CACHE_LINE) struct queue queue;           /* filled by the worker, emptied by any worker */
};

enum worker_state { WORKER_NONE, WORKER_RUNNING, WORKER_PARKED, WORKER_GONE };

struct engine {
    int cores;
    _Atomic uint32_t forked, stopping, started;
    pthread_mutex_t life_mutex;                /* starting, stopping, adding workers */
    struct worker *_Atomic workers[WORKERS];
    _Atomic uint32_t worker_count;             /* slots used in `workers` */
    _Atomic uint32_t threads, threads_watching;
    struct queue injection;
    pthread_mutex_t park_mutex;
    struct worker *parked;
    _Atomic uint32_t parked_count;             /* written under park_mutex */
    _Atomic uint32_t searching;                /* workers that look for work */
    struct parker watcher_parker;
    _Atomic uint32_t watcher_asleep;
    pthread_t watcher;
    _Atomic uint64_t allocated_bytes;          /* by threads that are no workers, and by workers that are gone */
    _Atomic uint64_t visits;
    _Atomic uint32_t python_busy;              /* adopted circuits that are not idle */
};

extern struct engine engine;

/* memory.c */
struct circuit *circuit_allocate(void);
void circuit_release(struct circuit *circuit); /* lets go of one reference; the last one frees */
bool circuit_unreferenced(struct circuit *circuit); /* lets go of one; true: of the last, and the caller frees */
/* A dead pipe with room for `size` bytes of state at `state`; `inline_state` false: none. */
struct pipe *pipe_allocate(size_t size, bool inline_state);
void pipe_free(struct pipe *pipe);
bool rows_allocate(struct rows *rows, bool circuits, size_t count); /* dead circuits, or pipes with a pointer behind */
void rows_forget(struct rows *rows);                                /* the list, not what it lists */
int64_t rows_index(const struct rows *rows, uint64_t address);      /* -1: it is none of them */
void rows_free(bool circuits, void *const *objects, size_t count);
/* A list of `wanted` nodes, or as many as there is memory for; `*taken` says how many. */
struct node *nodes_take(uint32_t wanted, uint32_t *taken);
void nodes_give(struct node *first, uint32_t count);
struct node *node_take(struct worker *worker); /* NULL: out of memory; worker NULL: any other thread */
void node_give(struct worker *worker, struct node *node);
void nodes_return(struct worker *worker);
void memory_facts(alpha_facts *facts);
bool memory_has_empty_slabs(void);
void memory_trim(void); /* only while nothing runs */
void memory_account(int64_t bytes); /* other memory that engine_bytes counts */

/* population.c */
struct region;
void region_pipes_gone(struct region *region, uint64_t count);
static inline struct region **region_of(struct pipe *pipe) {
    return (struct region **)(pipe + 1);
}

/* circuit.c */
enum admitted { ADMITTED, ADMITTED_DROPPED, ADMITTED_MEMORY };
void circuit_open(struct circuit *circuit, uint32_t name, bool adopted); /* a dead one, with one reference */
enum admitted circuit_admit(struct worker *worker, struct circuit *circuit, uint64_t pipe, uint64_t bits, bool command);
struct node *circuit_take(struct circuit *circuit); /* the list oldest first, NULL if none */
void circuit_command(uint64_t bits);
bool circuit_end(struct worker *worker, struct circuit *circuit);
uint64_t pipe_open(struct pipe *pipe, struct circuit *circuit, substrates_kernel kernel, int64_t name); /* its handle */
void pipe_drop(uint64_t handle, bool report);

/* Whether a pipe is still the one of this handle. */
static inline bool pipe_is(struct pipe *pipe, uint64_t handle) {
    return load_relaxed(&pipe->handle) == handle;
}

/* IDLE to BUSY: becomes responsible if nobody is; what the caller has in hand is then the first. */
static inline bool circuit_begin(struct circuit *circuit) {
    uintptr_t expected = IDLE;
    return replace_ordered(&circuit->ingress, &expected, BUSY);
}

/* BUSY to IDLE: gives up responsibility; false: something came in. */
static inline bool circuit_rest(struct circuit *circuit) {
    uintptr_t expected = BUSY;
    return replace_both(&circuit->ingress, &expected, IDLE);
}

/* scheduler.c */
void queue_push(struct queue *queue, struct circuit *circuit);
void queue_push_all(struct queue *queue, struct circuit *first, struct circuit *last, uint32_t count);
struct circuit *queue_pop(struct queue *queue);
void schedule(struct worker *worker, struct circuit *circuit); /* the caller made it BUSY; worker NULL: from outside */
void wake_one(void);
void wake_all(void);
bool spread(struct worker *worker); /* lets others take what waits here; whether anything waits anywhere */
void *worker_main(void *worker);
void *watcher_main(void *unused);
int worker_add(bool extra);
int watcher_start(void);
bool is_quiescent(void);    /* under park_mutex: no circuit is ready or run by a worker */
extern _Thread_local struct worker *this_worker;

/* Whether the worker may go on with a circuit past its next slot and the queues. */
static inline bool may_follow(struct worker *worker) {
    return worker->streak < STREAK && load_relaxed(&worker->next) == NULL;
}

/* Notes that the worker, the caller's, begins with a circuit. */
static inline void count_visit(struct worker *worker) {
    store_relaxed(&worker->visits, load_relaxed(&worker->visits) + 1);
}

/* worker.c */
void hand_over(struct circuit *circuit);
void visit(struct worker *worker, struct circuit *circuit);
int worker_open(struct worker *worker);
void worker_close(struct worker *worker);
void route(struct worker *worker, struct circuit *circuit);

/* events.c */
void events_open(void);
void event_fault(struct circuit *circuit, struct pipe *pipe, uint64_t handle, int32_t code);
void event_ready(struct circuit *circuit);
void event_dropped(uint64_t handle);
void event_forget(struct circuit *circuit);
struct waiter;
struct waiter *waiter_new(bool notes);       /* NULL: out of memory */
void waiter_expect(struct waiter *waiter);   /* one barrier more is on its way: a waiter_done */
bool waiter_complete(struct waiter *waiter); /* no more will be; whether all have come */
void waiter_done(uint64_t waiter);
void events_stop(void);
uint64_t events_faults(void);

#endif
