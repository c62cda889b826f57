/* Substrates kernel ABI, version 1.
 *
 * A kernel is a receptor written as a native function. The engine calls it with a context, the address of
 * the pipe's state and the 64 bits of one value; it returns 0, or a fault code that the engine reports as it
 * reports an exception of a Python receptor.
 *
 * To emit, a kernel stores a slot at `tail` and advances `tail`; with `tail == limit` it calls `grow` first.
 * The engine takes the new slots when the kernel has returned, whatever it returned: those of the running
 * circuit join its transit in order, those of other circuits their ingress. A null pipe is skipped.
 *
 * Write each field of a slot once, with its own width (64 bits): a wider or narrower store defeats the
 * processor's store forwarding.
 */
#ifndef SUBSTRATES_KERNEL_H
#define SUBSTRATES_KERNEL_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SUBSTRATES_KERNEL_ABI 1

/* Fault codes: 1 to 0x0fffffff are for a kernel's own use, all others are reserved. `grow` returns this one. */
#define SUBSTRATES_FAULT_MEMORY 0x10000000

/* An opaque handle of a pipe; 0 is none. It is valid while its Python pipe lives. */
typedef uint64_t substrates_pipe;

typedef struct substrates_slot {
    substrates_pipe pipe;
    uint64_t bits;
} substrates_slot;

typedef struct substrates_context substrates_context;

struct substrates_context {
    substrates_slot *tail;  /* where the next slot goes; advanced by the kernel */
    substrates_slot *limit; /* one past the last slot of the window */
    /* Makes room: afterwards tail < limit. Returns 0, or a fault code when out of memory, which the kernel
     * should return. May move the window: read `tail` again. */
    int32_t (*grow)(substrates_context *context);
};

typedef int32_t (*substrates_kernel)(substrates_context *context, void *state, uint64_t bits);

/* Stores a slot. There must be room. */
static inline void substrates_put(substrates_context *context, substrates_pipe pipe, uint64_t bits) {
    substrates_slot *slot = context->tail;
    *(volatile uint64_t *)&slot->pipe = pipe; /* volatile: or compilers make one wide store of the two */
    *(volatile uint64_t *)&slot->bits = bits;
    context->tail = slot + 1;
}

/* Emits when the window is full. Apart, so that emitting into room costs no saving of registers. */
__attribute__((cold, noinline, unused)) static int32_t
substrates_grow_and_put(substrates_context *context, substrates_pipe pipe, uint64_t bits) {
    int32_t fault = context->grow(context);
    if (fault == 0) {
        substrates_put(context, pipe, bits);
    }
    return fault;
}

/* Emits raw bits. Returns 0, or a fault code that the kernel should return. */
static inline int32_t substrates_emit(substrates_context *context, substrates_pipe pipe, uint64_t bits) {
    if (__builtin_expect(context->tail == context->limit, 0)) {
        return substrates_grow_and_put(context, pipe, bits);
    }
    substrates_put(context, pipe, bits);
    return 0;
}

/* Emits to a pipe of the int64 lane. */
static inline int32_t substrates_emit_int64(substrates_context *context, substrates_pipe pipe, int64_t value) {
    return substrates_emit(context, pipe, (uint64_t)value);
}

/* Emits to a pipe of the float64 lane. */
static inline int32_t substrates_emit_float64(substrates_context *context, substrates_pipe pipe, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return substrates_emit(context, pipe, bits);
}

/* The value of a delivery on the int64 lane. */
static inline int64_t substrates_int64(uint64_t bits) {
    return (int64_t)bits;
}

/* The value of a delivery on the float64 lane. */
static inline double substrates_float64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#ifdef __cplusplus
}
#endif

#endif /* SUBSTRATES_KERNEL_H */
