/* The floors: the showcase's relay written by hand in C with no engine around it.
 *
 * What an engine is compared with. Each floor is two translation units, so that the loop cannot see into the
 * receptor, as an engine cannot see into a kernel; built at -O2 without link-time optimisation.
 */
#ifndef PERFKIT_FLOOR_H
#define PERFKIT_FLOOR_H

#include <stdint.h>
#include <time.h>

#define FLOOR_API __attribute__((visibility("default")))
#define FLOOR_COLD __attribute__((cold, noinline))
#define FLOOR_UNLIKELY(condition) __builtin_expect((condition), 0)

enum {
    FLOOR_NO_MEMORY = -1,
    FLOOR_MISCOUNT = -2,
    /* Occupied: one slot, as in the showcase. Rings of 1, 8 and 64 slots measure the same. */
    FLOOR_SLOTS = 64,
};

/* Runs a relay of `circuits`, `burst` deliveries to each, `rounds` times over, in the calling thread.
 * Returns the processor time of the thread in nanoseconds, or FLOOR_NO_MEMORY or FLOOR_MISCOUNT. */
FLOOR_API int64_t floor_lean(int64_t circuits, int64_t burst, int64_t rounds);
FLOOR_API int64_t floor_checked(int64_t circuits, int64_t burst, int64_t rounds);

static inline int64_t floor_thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
