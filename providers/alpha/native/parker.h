/* Parking: a thread sleeps until another one gives it a permit. */
#ifndef SUBSTRATES_PARKER_H
#define SUBSTRATES_PARKER_H

#include <stdint.h>

#include "atomics.h"

#if !defined(__linux__)
#include <pthread.h>
#endif

struct parker {
    _Atomic uint32_t permit; /* 1: given and not taken */
#if !defined(__linux__)
    pthread_mutex_t mutex;
    pthread_cond_t condition;
#endif
};

enum parked { PARKED_WOKEN, PARKED_TIMEOUT, PARKED_INTERRUPTED };

void parker_open(struct parker *parker);
void parker_close(struct parker *parker);
/* Takes the permit, waiting for it; negative: without limit. May return PARKED_INTERRUPTED on a signal. */
enum parked parker_park(struct parker *parker, int64_t timeout_ns);
/* Gives the permit; whatever was written before is visible to the thread that takes it. */
void parker_unpark(struct parker *parker);

/* The clock of Python's time.perf_counter_ns. */
int64_t clock_now_ns(void);

#endif
