/* Populations: many circuits, and pipes to all of them, in one call.
 *
 * Which members are busy
 * ----------------------
 * A barrier over all members must not look at each of a million that are idle. So every slab of circuits has a word
 * `touched`, 0 only if all of the population's members there are idle, and a barrier looks into touched slabs alone.
 *
 * The emitter (circuit_push):              The barrier, one at a time (population->mutex):
 *   1. compare-and-swap on the ingress       1. exchange touched with 0
 *   2. load touched; if 0, store 1           2. load each ingress; put a barrier into each that is busy,
 *                                               which as an emitter touches the slab again
 *
 * All of it is sequentially consistent: either the barrier sees in 2 what the emitter did in 1, or the emitter sees
 * in 2 the 0 of the barrier's 1 and undoes it before its emission returns. So an emission that has returned is in a
 * touched slab until a barrier has seen its circuit idle. The mutex keeps another barrier from looking in between.
 *
 * Every emitter does 2, and not only the one that made the circuit busy: that one may be held up in between, and
 * an emission that came behind it and has returned must be seen. Whoever queues a circuit has done 2 before, so
 * that what the circuit causes is not seen earlier either.
 */
#define _GNU_SOURCE
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BATCH = 256, /* nodes taken, circuits queued and objects freed by one lock; some ten microseconds of work */
    AHEAD = 16   /* circuits that are fetched before their turn comes */
};

struct population {
    _Atomic uint64_t references; /* Python's, and one of each region */
    pthread_mutex_t mutex;       /* one barrier at a time looks for busy members */
    struct rows circuits;
};

struct region {
    _Atomic uint32_t references; /* one for Python's arrays, one while there are pipes */
    _Atomic uint64_t pipes;      /* that exist, and one until they are dropped */
    uint64_t number;             /* odd, which no handle is, and never given again, which an address is */
    size_t bytes;                /* mapped, this struct in front */
    size_t size;                 /* of a state */
    struct population *population;
    struct rows rows;
    uint64_t *handles;
    char *states;
};

static struct population *population_at(uint64_t address) {
    return (struct population *)(uintptr_t)address;
}

static struct region *region_at(uint64_t address) {
    return (struct region *)(uintptr_t)address;
}

static void population_release(struct population *population) {
    if (atomic_fetch_sub_explicit(&population->references, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&population->mutex);
        rows_forget(&population->circuits);
        memory_account(-(int64_t)sizeof *population);
        free(population);
    }
}

/* -- many objects with one lock */

/* Objects to be freed. */
struct heap {
    bool circuits;
    size_t count;
    void *objects[BATCH];
};

static void heap_flush(struct heap *heap) {
    if (heap->count > 0) {
        rows_free(heap->circuits, heap->objects, heap->count);
        heap->count = 0;
    }
}

static void heap_add(struct heap *heap, void *object) {
    heap->objects[heap->count++] = object;
    if (heap->count == BATCH) {
        heap_flush(heap);
    }
}

static void heap_release(struct heap *heap, struct circuit *circuit) {
    if (circuit_unreferenced(circuit)) {
        heap_add(heap, circuit);
    }
}

/* Nodes taken, and circuits that became ready and are not queued yet. */
struct admission {
    struct node *nodes;
    uint32_t node_count;
    uint32_t ready_count;
    struct circuit *first, *last;
};

static void admission_queue(struct admission *admission) {
    if (admission->ready_count > 0) {
        queue_push_all(&engine.injection, admission->first, admission->last, admission->ready_count);
        admission->ready_count = 0;
        wake_one();
    }
}

static void admission_end(struct admission *admission) {
    admission_queue(admission);
    nodes_give(admission->nodes, admission->node_count);
    admission->nodes = NULL;
    admission->node_count = 0;
}

/* As circuit_admit from outside; `left`: how many more nodes will be wanted at most. */
static inline enum admitted admit(
    struct admission *admission, struct circuit *circuit, uint64_t pipe, uint64_t bits, uint64_t left) {
    if (unlikely(admission->node_count == 0)) {
        admission->nodes = nodes_take(left < BATCH ? (uint32_t)left : BATCH, &admission->node_count);
        if (admission->node_count == 0) {
            return ADMITTED_MEMORY;
        }
    }
    struct node *node = admission->nodes, *others = node->next;
    node->pipe = pipe;
    node->bits = bits;
    uintptr_t last = circuit_push(circuit, node);
    if (unlikely(last == CLOSED)) {
        node->next = others; /* for the next one; it may have come to lead elsewhere */
        return ADMITTED_DROPPED;
    }
    admission->nodes = others;
    admission->node_count--;
    if (last == IDLE) {
        if (unlikely(load_relaxed(&circuit->adopted))) {
            schedule(NULL, circuit);
            return ADMITTED;
        }
        circuit->link = NULL;
        if (admission->ready_count++ == 0) {
            admission->first = circuit;
        } else {
            admission->last->link = circuit;
        }
        admission->last = circuit;
        if (admission->ready_count == BATCH) {
            admission_queue(admission);
        }
    }
    return ADMITTED;
}

/* -- populations */

uint64_t alpha_population_new(uint32_t name, uint64_t count) {
    if (load_relaxed(&engine.forked)) {
        return 0;
    }
    struct population *population = malloc(sizeof *population);
    if (population == NULL) {
        return 0;
    }
    if (!rows_allocate(&population->circuits, true, count)) {
        free(population);
        return 0;
    }
    memory_account((int64_t)sizeof *population);
    store_relaxed(&population->references, 1);
    pthread_mutex_init(&population->mutex, NULL);
    for (uint64_t index = 0; index < count; index++) {
        circuit_open(row_at(&population->circuits, index), name, false);
    }
    return (uint64_t)(uintptr_t)population;
}

uint64_t alpha_population_circuit(uint64_t address, uint64_t index) {
    return (uint64_t)(uintptr_t)row_at(&population_at(address)->circuits, index);
}

int64_t alpha_population_index(uint64_t address, uint64_t circuit) {
    return rows_index(&population_at(address)->circuits, circuit);
}

int alpha_population_close(uint64_t address) {
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    struct rows *circuits = &population_at(address)->circuits;
    struct admission admission = {0};
    int result = ALPHA_OK;
    for (size_t index = 0; index < circuits->count; index++) {
        struct circuit *circuit = row_at(circuits, index);
        if (load_relaxed(&circuit->adopted)) {
            continue;
        }
        store_relaxed(&circuit->closing, 1);
        uintptr_t expected = IDLE;
        if (!replace_both(&circuit->ingress, &expected, CLOSED) && expected != CLOSED &&
            admit(&admission, circuit, 0, COMMAND_CLOSE, circuits->count - index) == ADMITTED_MEMORY) {
            result = ALPHA_MEMORY;
            break;
        }
    }
    admission_end(&admission);
    return result;
}

int alpha_population_barrier(uint64_t address, uint64_t *result) {
    *result = 0;
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    struct population *population = population_at(address);
    struct rows *circuits = &population->circuits;
    struct admission admission = {0};
    struct waiter *waiter = NULL;
    bool failed = false;
    pthread_mutex_lock(&population->mutex);
    for (size_t slab = 0; slab < circuits->slabs && !failed; slab++) {
        char *first = circuits->first[slab];
        _Atomic uint32_t *touched = &((struct slab_head *)(first - CACHE_LINE))->touched;
        if (load_ordered(touched) == 0) {
            continue;
        }
        swap_ordered(touched, 0);
        size_t begin = slab * ROWS_PER_SLAB, left = circuits->count - begin;
        size_t count = left < ROWS_PER_SLAB ? left : ROWS_PER_SLAB;
        for (size_t row = 0; row < count && !failed; row++) {
            struct circuit *circuit = (struct circuit *)(first + row * CACHE_LINE);
            uintptr_t ingress = load_ordered(&circuit->ingress);
            if (ingress == IDLE || ingress == CLOSED || load_relaxed(&circuit->adopted)) {
                continue;
            }
            if (waiter == NULL && (waiter = waiter_new(false)) == NULL) {
                failed = true;
                break;
            }
            waiter_expect(waiter);
            uint64_t bits = (uint64_t)(uintptr_t)waiter | COMMAND_BARRIER;
            enum admitted admitted = admit(&admission, circuit, 0, bits, left - row);
            if (admitted != ADMITTED) { /* it has ended meanwhile, or there is no memory */
                waiter_done((uint64_t)(uintptr_t)waiter);
                failed = admitted == ADMITTED_MEMORY;
            }
        }
        if (failed) {
            store_ordered(touched, 1);
        }
    }
    pthread_mutex_unlock(&population->mutex);
    admission_end(&admission);
    if (waiter != NULL) {
        if (waiter_complete(waiter) || failed) {
            alpha_waiter_free((uint64_t)(uintptr_t)waiter);
        } else {
            *result = (uint64_t)(uintptr_t)waiter;
        }
    }
    return failed ? ALPHA_MEMORY : ALPHA_OK;
}

void alpha_population_drop(void *address) {
    if (load_relaxed(&engine.forked)) {
        return;
    }
    struct population *population = address;
    struct rows *circuits = &population->circuits;
    struct admission admission = {0};
    struct heap freed = {.circuits = true};
    for (size_t index = 0; index < circuits->count; index++) {
        struct circuit *circuit = row_at(circuits, index);
        if (load_relaxed(&circuit->adopted)) {
            alpha_circuit_drop((uint64_t)(uintptr_t)circuit);
            continue;
        }
        uintptr_t expected = IDLE;
        if (replace_both(&circuit->ingress, &expected, CLOSED) || expected == CLOSED ||
            admit(&admission, circuit, 0, COMMAND_RELEASE, circuits->count - index) == ADMITTED_DROPPED) {
            heap_release(&freed, circuit);
        }
    }
    admission_end(&admission);
    heap_flush(&freed);
    population_release(population);
    if (memory_has_empty_slabs()) {
        alpha_trim();
    }
}

/* -- pipes */

static void region_release(struct region *region) {
    if (atomic_fetch_sub_explicit(&region->references, 1, memory_order_acq_rel) == 1) {
        rows_forget(&region->rows);
        population_release(region->population);
        memory_account(-(int64_t)region->bytes);
        munmap(region, region->bytes);
    }
}

void region_pipes_gone(struct region *region, uint64_t count) {
    if (atomic_fetch_sub_explicit(&region->pipes, count, memory_order_acq_rel) == count) {
        event_dropped(region->number);
        region_release(region);
    }
}

static _Atomic uint64_t regions; /* ever made */

static struct region *region_map(struct population *population, size_t size) {
    size_t count = population->circuits.count, head = (sizeof(struct region) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (size >= SIZE_MAX / 2 || count > (SIZE_MAX / 2 - head) / (size + sizeof(uint64_t))) {
        return NULL;
    }
    size_t bytes = head + count * (size + sizeof(uint64_t));
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    struct region *region = memory;
    region->bytes = bytes;
    region->size = size;
    region->population = population;
    region->states = (char *)memory + head;
    region->handles = (uint64_t *)(void *)(region->states + count * size);
    region->number = 2 * add_relaxed(&regions, 1) + 1;
    store_relaxed(&region->references, 2);
    store_relaxed(&region->pipes, count + 1);
    return region;
}

uint64_t alpha_pipes_new(uint64_t address, uint64_t kernel, int64_t name, const char *state, size_t size,
                         const uint32_t *own, size_t own_count) {
    if (load_relaxed(&engine.forked)) {
        return 0;
    }
    struct population *population = population_at(address);
    size_t count = population->circuits.count;
    struct region *region = region_map(population, size);
    if (region == NULL) {
        return 0;
    }
    if (!rows_allocate(&region->rows, false, count)) {
        munmap(region, region->bytes);
        return 0;
    }
    memory_account((int64_t)region->bytes);
    add_relaxed(&population->references, 1);
    for (size_t index = 0; index < count; index++) {
        struct pipe *pipe = row_at(&region->rows, index);
        char *row = region->states + index * size;
        pipe_set_state(pipe, row);
        pipe->units = IN_REGION;
        *region_of(pipe) = region;
        memcpy(row, state, size);
        struct circuit *circuit = row_at(&population->circuits, index);
        uint64_t handle = pipe_open(pipe, circuit, (substrates_kernel)(uintptr_t)kernel, name);
        for (size_t at = 0; at < own_count; at++) {
            memcpy(row + (size_t)own[at] * CELL, &handle, CELL);
        }
        region->handles[index] = handle;
    }
    return (uint64_t)(uintptr_t)region;
}

uint64_t alpha_pipes_number(uint64_t address) {
    return region_at(address)->number;
}

uint64_t *alpha_pipes_handles(uint64_t address) {
    return region_at(address)->handles;
}

char *alpha_pipes_states(uint64_t address) {
    return region_at(address)->states;
}

int64_t alpha_pipes_index(uint64_t address, uint64_t handle) {
    struct region *region = region_at(address);
    int64_t index = rows_index(&region->rows, handle & HANDLE_MASK);
    return index >= 0 && region->handles[index] == handle ? index : -1;
}

int alpha_pipes_emit(uint64_t address, const uint64_t *values, int single, const int64_t *where, uint64_t count,
                     uint64_t *done) {
    struct region *region = region_at(address);
    struct rows *circuits = &region->population->circuits;
    if (load_relaxed(&engine.forked)) {
        return ALPHA_FORKED;
    }
    struct admission admission = {0};
    bool inside = this_worker != NULL; /* a kernel called out and came back: perhaps it is its own circuit's turn */
    int result = ALPHA_OK;
    uint64_t at = *done;
    for (; at < count; at++) {
        if (at + AHEAD < count) {
            size_t ahead = where == NULL ? at + AHEAD : (size_t)where[at + AHEAD];
            fetch_to_write(row_at(circuits, ahead < circuits->count ? ahead : 0));
        }
        size_t index = where == NULL ? at : (size_t)where[at];
        if (unlikely(index >= circuits->count)) {
            result = ALPHA_RANGE;
            break;
        }
        struct circuit *circuit = row_at(circuits, index);
        uint64_t handle = region->handles[index], bits = values[single ? 0 : at];
        if (unlikely(inside)) {
            result = alpha_emit_int64(handle, (int64_t)bits);
            if (result != ALPHA_OK) {
                break;
            }
            continue;
        }
        if (unlikely(load_relaxed(&circuit->adopted))) {
            result = ALPHA_ADOPTED;
            break;
        }
        if (unlikely(load_relaxed(&circuit->closing))) {
            continue;
        }
        if (unlikely(admit(&admission, circuit, handle, bits, count - at) == ADMITTED_MEMORY)) {
            result = ALPHA_MEMORY;
            break;
        }
    }
    admission_end(&admission);
    *done = at;
    return result;
}

void alpha_pipes_drop(void *address) {
    struct region *region = address;
    struct rows *rows = &region->rows;
    if (load_relaxed(&engine.forked)) {
        return;
    }
    struct admission admission = {0};
    struct heap freed = {0}, circuits = {.circuits = true};
    uint64_t gone = 0;
    for (size_t index = 0; index < rows->count; index++) {
        struct pipe *pipe = row_at(rows, index);
        struct circuit *circuit = load_relaxed(&pipe->circuit);
        uintptr_t seen = IDLE;
        /* See alpha_pipe_drop. Of a circuit that Python runs, it is Python that is responsible, idle or not. */
        bool mine = !load_relaxed(&circuit->adopted) && replace_both(&circuit->ingress, &seen, BUSY);
        if (!mine && seen != CLOSED) {
            uint64_t bits = (uint64_t)(uintptr_t)pipe | COMMAND_DROP;
            if (admit(&admission, circuit, 0, bits, rows->count - index) != ADMITTED_DROPPED) {
                continue; /* out of memory: the pipe stays for good, which harms nobody */
            }
        }
        store_relaxed(&pipe->handle, 0);
        if (mine && !circuit_rest(circuit)) {
            circuit_touch(circuit);
            schedule(NULL, circuit);
        }
        heap_add(&freed, pipe);
        heap_release(&circuits, circuit);
        gone++;
    }
    admission_end(&admission);
    heap_flush(&freed);
    heap_flush(&circuits);
    region_pipes_gone(region, gone + 1);
    if (memory_has_empty_slabs()) {
        alpha_trim();
    }
}

void alpha_pipes_free(void *address) {
    if (!load_relaxed(&engine.forked)) {
        region_release(address);
    }
}
