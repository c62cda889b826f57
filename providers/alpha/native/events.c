/* What native threads have to tell Python, and barriers that Python threads wait at.
 *
 * Native threads never call into the interpreter: a thread of Python's fetches events. Circuits that become
 * ready for Python are linked through themselves, so that reporting one needs no memory.
 */
#include "engine.h"

#include <stdlib.h>

enum { FAULTS_QUEUED = 4096 /* more wait for Python than it can have use for: the rest is only counted */ };

struct event {
    struct event *next;
    alpha_event event;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct parker reader;
static struct event *first, *last;
static struct circuit *first_ready, *last_ready;
static uint32_t faults_queued;
static uint64_t faults;

void events_open(void) {
    parker_open(&reader);
}

static void append(const alpha_event *event) {
    struct event *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return;
    }
    entry->next = NULL;
    entry->event = *event;
    if (last == NULL) {
        first = entry;
    } else {
        last->next = entry;
    }
    last = entry;
    faults_queued += event->kind == ALPHA_EVENT_FAULT;
}

void event_fault(struct circuit *circuit, struct pipe *pipe, uint64_t handle, int32_t code) {
    pthread_mutex_lock(&mutex);
    faults++;
    if (last != NULL && last->event.kind == ALPHA_EVENT_FAULT && last->event.pipe == handle && last->event.code == code) {
        last->event.count++;
    } else if (faults_queued < FAULTS_QUEUED) {
        append(&(alpha_event){
            .kind = ALPHA_EVENT_FAULT,
            .code = code,
            .circuit = (uint64_t)(uintptr_t)circuit,
            .pipe = handle,
            .kernel = (uint64_t)(uintptr_t)pipe->kernel,
            .circuit_name = circuit->name,
            .pipe_name = pipe->name,
            .count = 1,
        });
    }
    pthread_mutex_unlock(&mutex);
    parker_unpark(&reader);
}

void event_dropped(uint64_t handle) {
    pthread_mutex_lock(&mutex);
    append(&(alpha_event){.kind = ALPHA_EVENT_DROPPED, .pipe = handle});
    pthread_mutex_unlock(&mutex);
    parker_unpark(&reader);
}

void event_ready(struct circuit *circuit) {
    add_relaxed(&engine.python_busy, 1);
    pthread_mutex_lock(&mutex);
    if (!circuit->reported) {
        circuit->reported = 1;
        circuit->link = NULL;
        if (last_ready == NULL) {
            first_ready = circuit;
        } else {
            last_ready->link = circuit;
        }
        last_ready = circuit;
    }
    pthread_mutex_unlock(&mutex);
    parker_unpark(&reader);
}

void event_forget(struct circuit *circuit) {
    pthread_mutex_lock(&mutex);
    if (circuit->reported) {
        circuit->reported = 0;
        struct circuit *before = NULL, *at = first_ready;
        while (at != circuit) {
            before = at;
            at = at->link;
        }
        if (before == NULL) {
            first_ready = circuit->link;
        } else {
            before->link = circuit->link;
        }
        if (last_ready == circuit) {
            last_ready = before;
        }
    }
    pthread_mutex_unlock(&mutex);
}

void events_stop(void) {
    parker_unpark(&reader);
}

uint64_t events_faults(void) {
    pthread_mutex_lock(&mutex);
    uint64_t count = faults;
    pthread_mutex_unlock(&mutex);
    return count;
}

int alpha_events_wait(int64_t timeout_ns) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        bool waiting = first_ready != NULL || first != NULL;
        pthread_mutex_unlock(&mutex);
        if (waiting) {
            return ALPHA_OK;
        }
        if (load_relaxed(&engine.stopping)) {
            return ALPHA_STOPPED;
        }
        switch (parker_park(&reader, timeout_ns)) {
        case PARKED_WOKEN:
            break;
        case PARKED_TIMEOUT:
            return ALPHA_TIMEOUT;
        case PARKED_INTERRUPTED:
            return ALPHA_INTERRUPTED;
        }
    }
}

int alpha_event_take(alpha_event *event) {
    struct event *entry = NULL;
    int found = 1;
    pthread_mutex_lock(&mutex);
    if (first_ready != NULL) {
        struct circuit *circuit = first_ready;
        first_ready = circuit->link;
        if (first_ready == NULL) {
            last_ready = NULL;
        }
        circuit->reported = 0;
        *event = (alpha_event){.kind = ALPHA_EVENT_READY, .circuit = (uint64_t)(uintptr_t)circuit};
    } else if (first != NULL) {
        entry = first;
        first = entry->next;
        if (first == NULL) {
            last = NULL;
        }
        *event = entry->event;
        faults_queued -= event->kind == ALPHA_EVENT_FAULT;
    } else {
        found = 0;
    }
    pthread_mutex_unlock(&mutex);
    free(entry);
    return found;
}

/* -- barriers */

struct waiter {
    _Atomic uint32_t references; /* the caller's, and one of each barrier on its way */
    _Atomic uint32_t expected;   /* barriers on their way, and one while more may come: the last gives the permit */
    bool notes;                  /* when its turn comes; set before it is on its way */
    _Atomic int64_t turn_ns;     /* written before the permit is given; 0: its turn has not come, or it does not note */
    struct parker parker;
};

static void waiter_release(struct waiter *waiter) {
    if (atomic_fetch_sub_explicit(&waiter->references, 1, memory_order_acq_rel) == 1) {
        parker_close(&waiter->parker);
        free(waiter);
    }
}

struct waiter *waiter_new(bool notes) {
    struct waiter *waiter = malloc(sizeof *waiter);
    if (waiter != NULL) {
        parker_open(&waiter->parker);
        store_relaxed(&waiter->references, 1);
        store_relaxed(&waiter->expected, 1);
        waiter->notes = notes;
        store_relaxed(&waiter->turn_ns, 0);
    }
    return waiter;
}

void waiter_expect(struct waiter *waiter) {
    add_relaxed(&waiter->references, 1);
    add_relaxed(&waiter->expected, 1);
}

bool waiter_complete(struct waiter *waiter) {
    bool last = atomic_fetch_sub_explicit(&waiter->expected, 1, memory_order_acq_rel) == 1;
    if (last) {
        parker_unpark(&waiter->parker);
    }
    return last;
}

void waiter_done(uint64_t address) {
    struct waiter *waiter = (struct waiter *)(uintptr_t)address;
    if (unlikely(waiter->notes)) {
        store_relaxed(&waiter->turn_ns, clock_now_ns());
    }
    waiter_complete(waiter);
    waiter_release(waiter);
}

static int barrier(uint64_t address, uint64_t *result, bool notes) {
    struct circuit *circuit = (struct circuit *)(uintptr_t)address;
    *result = 0;
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    if (load_relaxed(&circuit->adopted)) {
        return ALPHA_ADOPTED;
    }
    uintptr_t ingress = load_acquire(&circuit->ingress);
    if (ingress == CLOSED || (ingress == IDLE && !notes)) {
        return ALPHA_OK;
    }
    struct waiter *waiter = waiter_new(notes);
    if (waiter == NULL) {
        return ALPHA_MEMORY;
    }
    waiter_expect(waiter);
    uint64_t bits = (uint64_t)(uintptr_t)waiter | COMMAND_BARRIER;
    enum admitted admitted = circuit_admit(NULL, circuit, 0, bits, true);
    if (admitted == ADMITTED) {
        waiter_complete(waiter);
        *result = (uint64_t)(uintptr_t)waiter;
        return ALPHA_OK;
    }
    waiter_release(waiter); /* the barrier's */
    waiter_release(waiter);
    return admitted == ADMITTED_MEMORY ? ALPHA_MEMORY : ALPHA_OK;
}

int alpha_barrier(uint64_t address, uint64_t *result) {
    return barrier(address, result, false);
}

int alpha_probe(uint64_t address, uint64_t *result) {
    return barrier(address, result, true);
}

int64_t alpha_turn_ns(uint64_t address) {
    return load_relaxed(&((struct waiter *)(uintptr_t)address)->turn_ns);
}

int alpha_wait(uint64_t address, int64_t timeout_ns) {
    struct waiter *waiter = (struct waiter *)(uintptr_t)address;
    for (int spin = 0; engine.cores > 1 && spin < WAIT_SPINS && !load_relaxed(&waiter->parker.permit); spin++) {
        relax_processor();
    }
    if (load_relaxed(&engine.stopping)) {
        return ALPHA_STOPPED;
    }
    switch (parker_park(&waiter->parker, timeout_ns)) {
    case PARKED_WOKEN:
        return ALPHA_OK;
    case PARKED_TIMEOUT:
        return ALPHA_TIMEOUT;
    case PARKED_INTERRUPTED:
        break;
    }
    return ALPHA_INTERRUPTED;
}

void alpha_waiter_free(uint64_t address) {
    waiter_release((struct waiter *)(uintptr_t)address);
}
