#define _GNU_SOURCE
#include "parker.h"

#include <errno.h>
#include <time.h>

#if defined(__APPLE__)
#define CLOCK CLOCK_UPTIME_RAW
#else
#define CLOCK CLOCK_MONOTONIC
#endif

int64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__linux__)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void parker_open(struct parker *parker) {
    store_relaxed(&parker->permit, 0);
}

void parker_close(struct parker *parker) {
    (void)parker;
}

enum parked parker_park(struct parker *parker, int64_t timeout_ns) {
    int64_t deadline = timeout_ns < 0 ? 0 : clock_now_ns() + timeout_ns;
    while (swap_acquire(&parker->permit, 0) == 0) {
        struct timespec left, *limit = NULL;
        if (timeout_ns >= 0) {
            int64_t rest = deadline - clock_now_ns();
            if (rest <= 0) {
                return PARKED_TIMEOUT;
            }
            left.tv_sec = (time_t)(rest / 1000000000);
            left.tv_nsec = (long)(rest % 1000000000);
            limit = &left;
        }
        if (syscall(SYS_futex, &parker->permit, FUTEX_WAIT_PRIVATE, 0, limit, NULL, 0) != 0 && errno == EINTR) {
            return swap_acquire(&parker->permit, 0) == 0 ? PARKED_INTERRUPTED : PARKED_WOKEN;
        }
    }
    return PARKED_WOKEN;
}

void parker_unpark(struct parker *parker) {
    if (swap_both(&parker->permit, 1) == 0) {
        syscall(SYS_futex, &parker->permit, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

#else

void parker_open(struct parker *parker) {
    store_relaxed(&parker->permit, 0);
    pthread_mutex_init(&parker->mutex, NULL);
    pthread_cond_init(&parker->condition, NULL);
}

void parker_close(struct parker *parker) {
    pthread_cond_destroy(&parker->condition);
    pthread_mutex_destroy(&parker->mutex);
}

/* Condition variables do not return on signals, so a long wait is cut into slices that do. */
enum { SLICE_NS = 50000000 };

enum parked parker_park(struct parker *parker, int64_t timeout_ns) {
    enum parked result = PARKED_WOKEN;
    int64_t slice = timeout_ns < 0 || timeout_ns > SLICE_NS ? SLICE_NS : timeout_ns;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)slice;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&parker->mutex);
    while (swap_acquire(&parker->permit, 0) == 0) {
        if (pthread_cond_timedwait(&parker->condition, &parker->mutex, &until) == ETIMEDOUT) {
            if (swap_acquire(&parker->permit, 0) == 0) {
                result = slice == timeout_ns ? PARKED_TIMEOUT : PARKED_INTERRUPTED;
            }
            break;
        }
    }
    pthread_mutex_unlock(&parker->mutex);
    return result;
}

void parker_unpark(struct parker *parker) {
    pthread_mutex_lock(&parker->mutex);
    store_release(&parker->permit, 1);
    pthread_cond_signal(&parker->condition);
    pthread_mutex_unlock(&parker->mutex);
}

#endif
