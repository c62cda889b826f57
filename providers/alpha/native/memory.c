/* Slabs for circuits and pipes, and the cache of ingress nodes.
 *
 * A slab holds objects of one size and is aligned to its own size, so that an object finds its slab by its
 * address. Objects keep their generation and their CLOSED mark while free. Empty slabs stay mapped until
 * memory_trim, which is called only while nothing runs (see engine.h).
 */
#define _GNU_SOURCE
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT = 16, POOLS = (int)((sizeof(struct pipe) + INLINE_STATE + UNIT - 1) / UNIT) + 1, CIRCUITS = 0, KEPT_EMPTY = 2 };

struct slab {
    struct slab *next, *previous; /* in the pool's list of slabs with room, or of empty ones */
    void *free;
    uint32_t used, fresh, capacity; /* fresh: objects never handed out yet start here */
    uint16_t pool;
    bool listed;
};

struct pool {
    size_t size;
    struct slab *room, *empty;
    uint64_t used, slabs;
    uint32_t empties;
};

/* Pool 0 is for circuits; pool n for pipes of n units. One mutex: creation and dropping only. */
static struct pool pools[POOLS];
static pthread_mutex_t pools_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t empty_slabs;
static _Atomic int64_t other_bytes;

static pthread_mutex_t nodes_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct node *shared_nodes;
static uint32_t shared_count;
static _Atomic uint64_t cached_nodes;

static struct slab *slab_map(uint16_t index, size_t size) {
    char *memory = mmap(NULL, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    char *aligned = (char *)(((uintptr_t)memory + SLAB_BYTES - 1) & ~(uintptr_t)(SLAB_BYTES - 1));
    if (aligned > memory) {
        munmap(memory, (size_t)(aligned - memory));
    }
    size_t after = (size_t)(memory + 2 * SLAB_BYTES - (aligned + SLAB_BYTES));
    if (after > 0) {
        munmap(aligned + SLAB_BYTES, after);
    }
    struct slab *slab = (struct slab *)aligned;
    slab->pool = index;
    slab->capacity = (uint32_t)((SLAB_BYTES - CACHE_LINE) / size);
    return slab;
}

static void list_add(struct slab **list, struct slab *slab) {
    slab->previous = NULL;
    slab->next = *list;
    if (slab->next != NULL) {
        slab->next->previous = slab;
    }
    *list = slab;
}

static void list_remove(struct slab **list, struct slab *slab) {
    if (slab->previous != NULL) {
        slab->previous->next = slab->next;
    } else {
        *list = slab->next;
    }
    if (slab->next != NULL) {
        slab->next->previous = slab->previous;
    }
}

/* The link of a free object: a field that nobody looks at in one. */
static void **link_of(uint16_t index, void *object) {
    return index == CIRCUITS ? (void **)&((struct circuit *)object)->link : &((struct pipe *)object)->state;
}

static void *allocate(uint16_t index) {
    struct pool *pool = &pools[index];
    pthread_mutex_lock(&pools_mutex);
    struct slab *slab = pool->room;
    if (slab == NULL) {
        slab = pool->empty;
        if (slab != NULL) {
            list_remove(&pool->empty, slab);
            pool->empties--;
            add_relaxed(&empty_slabs, (uint32_t)-1);
        } else {
            pool->size = index == CIRCUITS ? sizeof(struct circuit) : (size_t)index * UNIT;
            slab = slab_map(index, pool->size);
            if (slab == NULL) {
                pthread_mutex_unlock(&pools_mutex);
                return NULL;
            }
            pool->slabs++;
        }
        list_add(&pool->room, slab);
        slab->listed = true;
    }
    void *object = slab->free;
    if (object != NULL) {
        slab->free = *link_of(index, object);
    } else {
        object = (char *)slab + CACHE_LINE + (size_t)slab->fresh++ * pool->size;
    }
    slab->used++;
    pool->used++;
    if (slab->free == NULL && slab->fresh == slab->capacity) {
        list_remove(&pool->room, slab);
        slab->listed = false;
    }
    pthread_mutex_unlock(&pools_mutex);
    return object;
}

static void release(uint16_t index, void *object) {
    struct pool *pool = &pools[index];
    struct slab *slab = (struct slab *)((uintptr_t)object & ~(uintptr_t)(SLAB_BYTES - 1));
    pthread_mutex_lock(&pools_mutex);
    *link_of(index, object) = slab->free;
    slab->free = object;
    slab->used--;
    pool->used--;
    if (slab->used == 0) {
        if (slab->listed) {
            list_remove(&pool->room, slab);
            slab->listed = false;
        }
        list_add(&pool->empty, slab);
        pool->empties++;
        add_relaxed(&empty_slabs, 1);
    } else if (!slab->listed) {
        list_add(&pool->room, slab);
        slab->listed = true;
    }
    pthread_mutex_unlock(&pools_mutex);
}

struct circuit *circuit_allocate(void) {
    struct circuit *circuit = allocate(CIRCUITS);
    if (circuit != NULL) {
        circuit->pending = NULL;
        circuit->parked = NULL;
        circuit->link = NULL;
        store_relaxed(&circuit->closing, 0);
        store_relaxed(&circuit->adopted, 0);
        store_relaxed(&circuit->handed, 0);
        store_relaxed(&circuit->references, 1);
        circuit->moved = 0;
        circuit->last = NULL;
    }
    return circuit;
}

void circuit_release(struct circuit *circuit) {
    if (atomic_fetch_sub_explicit(&circuit->references, 1, memory_order_acq_rel) == 1) {
        release(CIRCUITS, circuit);
    }
}

/* The pool of pipes with `inside` bytes of state behind them. */
static uint16_t units_of(size_t inside) {
    return (uint16_t)((sizeof(struct pipe) + inside + UNIT - 1) / UNIT);
}

struct pipe *pipe_allocate(size_t size, bool inline_state) {
    size_t inside = inline_state && size <= INLINE_STATE ? size : 0;
    uint16_t units = units_of(inside);
    struct pipe *pipe = allocate(units);
    if (pipe == NULL) {
        return NULL;
    }
    pipe->units = units;
    pipe->state = pipe + 1;
    if (inline_state && size > INLINE_STATE) {
        char *memory = calloc(1, sizeof(uint64_t) + size);
        if (memory == NULL) {
            release(units, pipe);
            return NULL;
        }
        /* Its size stands in front of it, for the account. */
        memcpy(memory, &size, sizeof size);
        pipe->state = memory + sizeof(uint64_t);
        pipe->units = 0;
        memory_account((int64_t)size);
    }
    return pipe;
}

void pipe_free(struct pipe *pipe) {
    uint16_t units = pipe->units;
    if (units == 0) {
        char *memory = (char *)pipe->state - sizeof(uint64_t);
        size_t size;
        memcpy(&size, memory, sizeof size);
        memory_account(-(int64_t)size);
        free(memory);
        units = units_of(0);
    }
    release(units, pipe);
}

void memory_account(int64_t bytes) {
    add_relaxed(&other_bytes, bytes);
}

struct node *node_take(struct worker *worker) {
    if (worker != NULL && worker->nodes != NULL) {
        struct node *node = worker->nodes;
        worker->nodes = node->next;
        worker->node_count--;
        return node;
    }
    struct node *node = NULL;
    if (load_relaxed(&cached_nodes) > 0) {
        pthread_mutex_lock(&nodes_mutex);
        node = shared_nodes;
        if (node != NULL) {
            uint32_t taken = 1;
            struct node *last = node;
            if (worker != NULL) { /* a worker takes half a cache at a time */
                while (taken < NODES_PER_WORKER / 2 && last->next != NULL) {
                    last = last->next;
                    taken++;
                }
                worker->nodes = node == last ? NULL : node->next;
                worker->node_count = taken - 1;
            }
            shared_nodes = last->next;
            last->next = NULL;
            shared_count -= taken;
            store_relaxed(&cached_nodes, shared_count);
        }
        pthread_mutex_unlock(&nodes_mutex);
    }
    if (node == NULL) {
        node = malloc(sizeof *node);
        if (node != NULL) {
            if (worker != NULL) {
                worker->allocated_bytes_own += sizeof *node;
                store_relaxed(&worker->allocated_bytes, worker->allocated_bytes_own);
            } else {
                add_relaxed(&engine.allocated_bytes, sizeof *node);
            }
        }
    }
    return node;
}

/* Moves `count` nodes to the shared cache, or to the C heap when that is full. */
static void share(struct node *first, uint32_t count) {
    pthread_mutex_lock(&nodes_mutex);
    while (count > 0 && shared_count < NODES_SHARED) {
        struct node *next = first->next;
        first->next = shared_nodes;
        shared_nodes = first;
        shared_count++;
        count--;
        first = next;
    }
    store_relaxed(&cached_nodes, shared_count);
    pthread_mutex_unlock(&nodes_mutex);
    while (count-- > 0) {
        struct node *next = first->next;
        free(first);
        first = next;
    }
}

void node_give(struct worker *worker, struct node *node) {
    if (worker == NULL) {
        node->next = NULL;
        share(node, 1);
        return;
    }
    node->next = worker->nodes;
    worker->nodes = node;
    if (++worker->node_count == NODES_PER_WORKER) {
        struct node *first = worker->nodes, *last = first;
        for (int kept = 1; kept < NODES_PER_WORKER / 2; kept++) {
            last = last->next;
        }
        worker->nodes = last->next;
        worker->node_count = NODES_PER_WORKER / 2;
        last->next = NULL;
        share(first, NODES_PER_WORKER / 2);
    }
}

void nodes_return(struct worker *worker) {
    struct node *first = worker->nodes;
    uint32_t count = worker->node_count;
    worker->nodes = NULL;
    worker->node_count = 0;
    if (count > 0) {
        share(first, count);
    }
}

void memory_facts(alpha_facts *facts) {
    pthread_mutex_lock(&pools_mutex);
    uint64_t mapped = 0, used = 0, pipes = 0;
    for (int index = 0; index < POOLS; index++) {
        mapped += pools[index].slabs * SLAB_BYTES;
        used += pools[index].used * pools[index].size;
        pipes += index == CIRCUITS ? 0 : pools[index].used;
    }
    facts->circuits = pools[CIRCUITS].used;
    facts->pipes = pipes;
    pthread_mutex_unlock(&pools_mutex);
    int64_t others = load_relaxed(&other_bytes);
    facts->engine_bytes = mapped + (uint64_t)(others > 0 ? others : 0);
    facts->used_bytes = used;
    facts->cached_bytes = load_relaxed(&cached_nodes) * sizeof(struct node);
}

bool memory_has_empty_slabs(void) {
    return load_relaxed(&empty_slabs) > KEPT_EMPTY;
}

void memory_trim(void) {
    pthread_mutex_lock(&pools_mutex);
    for (int index = 0; index < POOLS; index++) {
        struct pool *pool = &pools[index];
        while (pool->empty != NULL) {
            struct slab *slab = pool->empty;
            list_remove(&pool->empty, slab);
            pool->empties--;
            pool->slabs--;
            add_relaxed(&empty_slabs, (uint32_t)-1);
            munmap(slab, SLAB_BYTES);
        }
    }
    pthread_mutex_unlock(&pools_mutex);
}
