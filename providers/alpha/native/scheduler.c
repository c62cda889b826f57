/* Which worker runs which circuit, and when workers sleep.
 *
 * Where a ready circuit waits
 * ---------------------------
 * next       of the worker whose visit made it ready: it is hot there, and one token that travels from circuit
 *            to circuit never crosses to another core. The worker takes it; the watcher moves it on if the
 *            worker is stuck.
 * queue      of that worker, when its next slot is taken, or when it is not done itself and others sleep.
 * injection  when made ready from outside, or put back at the end of a time slice.
 *
 * A worker that has nothing but a value for an idle circuit goes on with that circuit past all three, as often in a
 * row as it may take its next slot: see follow() in worker.c.
 *
 * Sleeping (a Dekker protocol between a worker that parks and a thread that pushes)
 * ---------------------------------------------------------------------------------
 * 1. the worker enters the list of parked workers and counts itself, under park_mutex;
 * 2. fence; it looks at all queues once more, and leaves the list again if one is not empty;
 * 3. it sleeps on its parker.
 * 1'. a pusher puts the circuit into a queue;
 * 2'. fence; it reads the count, and if it is not 0 it takes one worker from the list and unparks it.
 * Either the worker sees the circuit in 2 or the pusher sees the worker in 2'.
 *
 * One worker at a time searches: it has just been woken, or looks around for some microseconds before it
 * parks. While one does, pushers wake nobody: it counts as searching until it has found something (then it
 * wakes the next if more waits) or until before its step 1 (then its step 2 sees what was pushed). A circuit in a next slot needs
 * no pusher's look: its worker is awake and takes it.
 */
#define _GNU_SOURCE
#include "engine.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>

_Thread_local struct worker *this_worker;

/* -- queues */

static void lock_take(struct lock *lock) {
    for (int tries = 1; swap_acquire(&lock->taken, 1) != 0; tries++) {
        if (tries % 64 == 0) {
            sched_yield(); /* the holder may have lost its processor */
        } else {
            relax_processor();
        }
    }
}

static void lock_give(struct lock *lock) {
    store_release(&lock->taken, 0);
}

void queue_push_all(struct queue *queue, struct circuit *first, struct circuit *last, uint32_t count) {
    last->link = NULL;
    lock_take(&queue->lock);
    if (queue->head == NULL) {
        queue->head = first;
    } else {
        queue->tail->link = first;
    }
    queue->tail = last;
    store_relaxed(&queue->size, load_relaxed(&queue->size) + count);
    lock_give(&queue->lock);
}

void queue_push(struct queue *queue, struct circuit *circuit) {
    queue_push_all(queue, circuit, circuit, 1);
}

struct circuit *queue_pop(struct queue *queue) {
    if (load_relaxed(&queue->size) == 0) {
        return NULL;
    }
    lock_take(&queue->lock);
    struct circuit *circuit = queue->head;
    if (circuit != NULL) {
        queue->head = circuit->link;
        store_relaxed(&queue->size, load_relaxed(&queue->size) - 1);
    }
    lock_give(&queue->lock);
    return circuit;
}

static bool anything_waits(void) {
    if (load_relaxed(&engine.injection.size) > 0) {
        return true;
    }
    uint32_t count = load_acquire(&engine.worker_count);
    for (uint32_t index = 0; index < count; index++) {
        struct worker *worker = load_acquire(&engine.workers[index]);
        if (worker != NULL && load_relaxed(&worker->queue.size) > 0) {
            return true;
        }
    }
    return false;
}

/* -- parking */

static void parked_remove(struct worker *worker) {
    if (worker->parked_previous != NULL) {
        worker->parked_previous->parked_next = worker->parked_next;
    } else {
        engine.parked = worker->parked_next;
    }
    if (worker->parked_next != NULL) {
        worker->parked_next->parked_previous = worker->parked_previous;
    }
    store_relaxed(&engine.parked_count, load_relaxed(&engine.parked_count) - 1);
    store_relaxed(&worker->state, WORKER_RUNNING);
}

static void search_begin(struct worker *worker) {
    worker->searches = true;
    add_ordered(&engine.searching, 1);
}

static void search_end(struct worker *worker) {
    if (worker->searches) {
        worker->searches = false;
        add_ordered(&engine.searching, (uint32_t)-1);
    }
}

static void wake_parked(void) {
    pthread_mutex_lock(&engine.park_mutex);
    struct worker *worker = engine.parked;
    if (worker != NULL) {
        parked_remove(worker);
        search_begin(worker);
        if (load_relaxed(&engine.watcher_asleep)) {
            store_relaxed(&engine.watcher_asleep, 0);
            parker_unpark(&engine.watcher_parker);
        }
        /* Under the mutex: a worker that retires takes it too, and is not freed in between. */
        parker_unpark(&worker->parker);
    }
    pthread_mutex_unlock(&engine.park_mutex);
}

void wake_one(void) {
    fence_ordered();
    if (load_relaxed(&engine.parked_count) > 0 && load_relaxed(&engine.searching) == 0) {
        wake_parked();
    }
}

void wake_all(void) {
    fence_ordered();
    while (load_relaxed(&engine.parked_count) > 0) {
        wake_parked();
    }
}

bool is_quiescent(void) {
    return load_relaxed(&engine.parked_count) == load_relaxed(&engine.threads) && !anything_waits() &&
           load_relaxed(&engine.python_busy) == 0;
}

/* Leaves the list of parked workers; false: somebody took it out and gives, or gave, the permit. */
static bool parked_leave(struct worker *worker) {
    pthread_mutex_lock(&engine.park_mutex);
    bool listed = load_relaxed(&worker->state) == WORKER_PARKED;
    if (listed) {
        parked_remove(worker);
    }
    pthread_mutex_unlock(&engine.park_mutex);
    return listed;
}

/* Sleeps until there may be work. False: the worker shall end. */
static bool park(struct worker *worker) {
    if (worker->searches || load_relaxed(&engine.searching) == 0) {
        if (!worker->searches) {
            search_begin(worker);
        }
        for (int spin = 0; spin < SEARCH_SPINS; spin++) {
            if (anything_waits()) {
                return true;
            }
            relax_processor();
        }
        search_end(worker);
    }
    pthread_mutex_lock(&engine.park_mutex);
    worker->parked_previous = NULL;
    worker->parked_next = engine.parked;
    if (engine.parked != NULL) {
        engine.parked->parked_previous = worker;
    }
    engine.parked = worker;
    store_relaxed(&worker->state, WORKER_PARKED);
    store_relaxed(&engine.parked_count, load_relaxed(&engine.parked_count) + 1);
    pthread_mutex_unlock(&engine.park_mutex);
    fence_ordered();
    if (anything_waits() || load_relaxed(&engine.stopping)) {
        if (!parked_leave(worker)) {
            while (parker_park(&worker->parker, -1) != PARKED_WOKEN) {
            }
        }
        return !load_relaxed(&engine.stopping);
    }
    if (memory_has_empty_slabs()) {
        alpha_trim();
    }
    for (;;) {
        switch (parker_park(&worker->parker, worker->extra ? RETIRE_NS : -1)) {
        case PARKED_WOKEN:
            return !load_relaxed(&engine.stopping);
        case PARKED_TIMEOUT:
            if (parked_leave(worker)) {
                return false;
            }
            break;
        case PARKED_INTERRUPTED:
            break;
        }
    }
}

/* -- choosing */

static struct circuit *steal(struct worker *thief) {
    uint32_t count = load_acquire(&engine.worker_count);
    uint32_t first = thief->picks;
    for (uint32_t step = 0; step < count; step++) {
        struct worker *victim = load_acquire(&engine.workers[(first + step) % count]);
        struct circuit *circuit = victim == NULL ? NULL : queue_pop(&victim->queue);
        if (circuit != NULL) {
            return circuit;
        }
    }
    return NULL;
}

static struct circuit *take_next(struct worker *worker) {
    return load_relaxed(&worker->next) == NULL ? NULL : swap_acquire(&worker->next, NULL);
}

static struct circuit *pick(struct worker *worker) {
    struct circuit *circuit;
    if (worker->streak < STREAK && (circuit = take_next(worker)) != NULL) {
        worker->streak++;
        return circuit;
    }
    worker->streak = 0;
    /* Now and then the injection queue goes first, so that circuits that keep each other ready here do not
     * keep those from outside waiting. */
    bool outside_first = ++worker->picks % 16 == 0;
    circuit = outside_first ? queue_pop(&engine.injection) : NULL;
    if (circuit == NULL) {
        circuit = queue_pop(&worker->queue);
    }
    if (circuit == NULL) {
        circuit = queue_pop(&engine.injection);
    }
    if (circuit == NULL) {
        circuit = take_next(worker);
    }
    if (circuit == NULL) {
        circuit = steal(worker);
    }
    if (circuit != NULL) {
        search_end(worker);
        if (load_relaxed(&worker->queue.size) > 0 || load_relaxed(&engine.injection.size) > 0) {
            wake_one();
        }
    }
    return circuit;
}

void schedule(struct worker *worker, struct circuit *circuit) {
    if (unlikely(load_relaxed(&circuit->adopted))) {
        if (load_acquire(&circuit->handed)) {
            event_ready(circuit);
        } else {
            hand_over(circuit); /* an adopter waits for whoever is responsible for it: that is us */
        }
        return;
    }
    if (worker == NULL || worker->guest) {
        queue_push(&engine.injection, circuit);
        wake_one();
        return;
    }
    bool goes_on = worker->head != worker->start || worker->circuit->pending != NULL;
    if (goes_on && load_relaxed(&engine.parked_count) > 0) {
        queue_push(&worker->queue, circuit);
        wake_one();
        return;
    }
    struct circuit *before = load_relaxed(&worker->next);
    if (before == NULL) {
        store_release(&worker->next, circuit); /* nobody but this worker fills the slot */
        return;
    }
    before = swap_both(&worker->next, circuit);
    if (before != NULL) {
        queue_push(&worker->queue, before);
        wake_one();
    }
}

bool spread(struct worker *worker) {
    struct circuit *next = take_next(worker);
    if (next != NULL) {
        queue_push(&worker->queue, next);
    }
    if (!anything_waits()) {
        return false;
    }
    wake_one();
    return true;
}

/* -- threads */

void *worker_main(void *argument) {
    struct worker *worker = argument;
    this_worker = worker;
    for (;;) {
        struct circuit *circuit = load_relaxed(&engine.stopping) ? NULL : pick(worker);
        if (circuit != NULL) {
            count_visit(worker);
            visit(worker, circuit);
            worker->circuit = NULL;
        } else if (!park(worker)) {
            break;
        }
    }
    search_end(worker);
    pthread_mutex_lock(&engine.life_mutex);
    add_relaxed(&engine.visits, load_relaxed(&worker->visits));
    store_relaxed(&worker->visits, 0);
    worker_close(worker);
    store_release(&worker->state, WORKER_GONE); /* its place, and its struct, serve the next one */
    add_relaxed(&engine.threads, (uint32_t)-1);
    pthread_mutex_unlock(&engine.life_mutex);
    return NULL;
}

/* All signals stay with Python's threads. */
static int thread_start(pthread_t *thread, void *(*main)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        pthread_detach(*thread);
    }
    return error == 0 ? ALPHA_OK : ALPHA_MEMORY;
}

static int add_locked(bool extra) {
    uint32_t index = 0, count = load_relaxed(&engine.worker_count);
    struct worker *worker = NULL;
    for (; index < count; index++) {
        worker = load_relaxed(&engine.workers[index]);
        if (load_acquire(&worker->state) == WORKER_GONE) {
            break;
        }
    }
    if (index == WORKERS) {
        return ALPHA_MEMORY;
    }
    if (index == count) {
        worker = aligned_alloc(CACHE_LINE, sizeof *worker);
        if (worker == NULL) {
            return ALPHA_MEMORY;
        }
        *worker = (struct worker){0};
        parker_open(&worker->parker);
    }
    if (worker_open(worker) != ALPHA_OK) {
        if (index == count) {
            free(worker);
        }
        return ALPHA_MEMORY;
    }
    worker->extra = extra;
    worker->stuck_ticks = 0;
    store_relaxed(&worker->preempt, 0);
    store_relaxed(&worker->state, WORKER_RUNNING);
    if (index == count) {
        store_release(&engine.workers[index], worker);
        store_release(&engine.worker_count, count + 1);
    }
    add_relaxed(&engine.threads, 1);
    int result = thread_start(&worker->thread, worker_main, worker);
    if (result != ALPHA_OK) {
        add_relaxed(&engine.threads, (uint32_t)-1);
        worker_close(worker);
        store_release(&worker->state, WORKER_GONE);
    }
    return result;
}

int worker_add(bool extra) {
    pthread_mutex_lock(&engine.life_mutex);
    int result = load_relaxed(&engine.stopping) ? ALPHA_STOPPED : add_locked(extra);
    pthread_mutex_unlock(&engine.life_mutex);
    return result;
}

/* -- the watcher
 *
 * Every tick it asks each worker that is in the same visit as a tick ago to look up (preempt). A worker that
 * has not even looked up since, for STUCK_TICKS ticks, is inside a kernel that blocks or computes for long:
 * what waits in its next slot goes to the injection queue, and if circuits wait and nobody is free, another
 * worker is added in its place.
 */

static uint32_t inspect(struct worker *worker) {
    if (load_acquire(&worker->state) != WORKER_RUNNING) {
        worker->stuck_ticks = 0;
        return 0;
    }
    uint64_t visits = load_relaxed(&worker->visits);
    if (visits != worker->seen_visits) {
        worker->seen_visits = visits;
        worker->stuck_ticks = 0;
        return 0;
    }
    if (!load_relaxed(&worker->preempt)) {
        worker->stuck_ticks = 0;
        store_relaxed(&worker->preempt, 1);
        return 0;
    }
    if (++worker->stuck_ticks < STUCK_TICKS) {
        return 0;
    }
    struct circuit *next = take_next(worker);
    if (next != NULL) {
        queue_push(&engine.injection, next);
    }
    return 1;
}

static void tick(void) {
    uint32_t count = load_acquire(&engine.worker_count), stuck = 0;
    for (uint32_t index = 0; index < count; index++) {
        stuck += inspect(load_acquire(&engine.workers[index]));
    }
    if (!anything_waits()) {
        return;
    }
    if (load_relaxed(&engine.parked_count) > 0) {
        wake_one();
    } else if (load_relaxed(&engine.threads) - stuck < (uint32_t)engine.cores) {
        worker_add(true);
    }
}

void *watcher_main(void *unused) {
    (void)unused;
    int idle_ticks = 0;
    while (!load_relaxed(&engine.stopping)) {
        bool sleeping = idle_ticks > IDLE_TICKS;
        if (sleeping) {
            pthread_mutex_lock(&engine.park_mutex);
            sleeping = load_relaxed(&engine.parked_count) == load_relaxed(&engine.threads);
            store_relaxed(&engine.watcher_asleep, sleeping);
            pthread_mutex_unlock(&engine.park_mutex);
        }
        parker_park(&engine.watcher_parker, sleeping ? -1 : TICK_NS);
        bool idle = load_relaxed(&engine.parked_count) == load_relaxed(&engine.threads);
        idle_ticks = idle ? idle_ticks + 1 : 0;
        if (!idle) {
            tick();
        }
    }
    add_relaxed(&engine.threads_watching, (uint32_t)-1);
    return NULL;
}

int watcher_start(void) {
    add_relaxed(&engine.threads_watching, 1);
    return thread_start(&engine.watcher, watcher_main, NULL);
}
