/* Atomic operations with their memory order in the name. All shared fields go through these. */
#ifndef SUBSTRATES_ATOMICS_H
#define SUBSTRATES_ATOMICS_H

#include <stdatomic.h>

#define load_relaxed(object) atomic_load_explicit((object), memory_order_relaxed)
#define load_acquire(object) atomic_load_explicit((object), memory_order_acquire)
#define load_ordered(object) atomic_load_explicit((object), memory_order_seq_cst)
#define store_relaxed(object, value) atomic_store_explicit((object), (value), memory_order_relaxed)
#define store_release(object, value) atomic_store_explicit((object), (value), memory_order_release)
#define store_ordered(object, value) atomic_store_explicit((object), (value), memory_order_seq_cst)
#define swap_acquire(object, value) atomic_exchange_explicit((object), (value), memory_order_acquire)
#define swap_both(object, value) atomic_exchange_explicit((object), (value), memory_order_acq_rel)
#define swap_ordered(object, value) atomic_exchange_explicit((object), (value), memory_order_seq_cst)
#define add_relaxed(object, value) atomic_fetch_add_explicit((object), (value), memory_order_relaxed)
#define add_ordered(object, value) atomic_fetch_add_explicit((object), (value), memory_order_seq_cst)
#define replace_both(object, expected, value) \
    atomic_compare_exchange_strong_explicit((object), (expected), (value), memory_order_acq_rel, memory_order_acquire)
#define replace_both_weak(object, expected, value) \
    atomic_compare_exchange_weak_explicit((object), (expected), (value), memory_order_acq_rel, memory_order_acquire)
#define replace_ordered(object, expected, value) \
    atomic_compare_exchange_strong_explicit((object), (expected), (value), memory_order_seq_cst, memory_order_acquire)
#define replace_ordered_weak(object, expected, value) \
    atomic_compare_exchange_weak_explicit((object), (expected), (value), memory_order_seq_cst, memory_order_acquire)
#define fence_ordered() atomic_thread_fence(memory_order_seq_cst)

#if defined(__x86_64__) || defined(__i386__)
#define relax_processor() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define relax_processor() __asm__ volatile("yield")
#else
#define relax_processor() ((void)0)
#endif

/* Fetches a line in order to write to it. The builtin would ask for it to read, unless told that the processor has
 * this instruction; all of 64 bits take it, at worst as none. */
#if defined(__x86_64__)
#define fetch_to_write(address) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(address)))
#else
#define fetch_to_write(address) __builtin_prefetch((address), 1)
#endif

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
