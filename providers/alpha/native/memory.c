/* Slabs for circuits, pipes and ingress nodes, and the cache of nodes.
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
enum { NODES = POOLS /* the pool of ingress nodes */ };
enum { ROW_PIPES = CACHE_LINE / UNIT /* the pool of pipes in rows */ };

_Static_assert(sizeof(struct pipe) + sizeof(struct region *) <= CACHE_LINE, "a pipe in rows is one cache line");

struct slab {
    struct slab_head head;
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

/* Pool 0 is for circuits; pool n for pipes of n units; the last one for nodes. One mutex: creation and dropping,
 * and nodes that the caches have no room for, many at a time. */
static struct pool pools[POOLS + 1];
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
    return index == CIRCUITS ? (void **)&((struct circuit *)object)->link
           : index == NODES  ? (void **)&((struct node *)object)->next
                             : &((struct pipe *)object)->state;
}

/* A slab in which nothing is, in no list; NULL: out of memory. Under the mutex. */
static struct slab *empty_slab(uint16_t index) {
    struct pool *pool = &pools[index];
    struct slab *slab = pool->empty;
    if (slab != NULL) {
        list_remove(&pool->empty, slab);
        pool->empties--;
        add_relaxed(&empty_slabs, (uint32_t)-1);
        return slab;
    }
    pool->size = index == CIRCUITS ? sizeof(struct circuit) : index == NODES ? sizeof(struct node) : (size_t)index * UNIT;
    slab = slab_map(index, pool->size);
    if (slab != NULL) {
        pool->slabs++;
    }
    return slab;
}

/* Under the mutex. */
static void *allocate_one(uint16_t index) {
    struct pool *pool = &pools[index];
    struct slab *slab = pool->room;
    if (slab == NULL) {
        slab = empty_slab(index);
        if (slab == NULL) {
            return NULL;
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
    return object;
}

static void *allocate(uint16_t index) {
    pthread_mutex_lock(&pools_mutex);
    void *object = allocate_one(index);
    pthread_mutex_unlock(&pools_mutex);
    return object;
}

static void list_empty(struct pool *pool, struct slab *slab) {
    list_add(&pool->empty, slab);
    pool->empties++;
    add_relaxed(&empty_slabs, 1);
}

/* Under the mutex. */
static void release_one(uint16_t index, void *object) {
    struct pool *pool = &pools[index];
    struct slab *slab = (struct slab *)((uintptr_t)object & ~(uintptr_t)(SLAB_BYTES - 1));
    __atomic_store_n(link_of(index, object), slab->free, __ATOMIC_RELAXED); /* see pipe_set_state */
    slab->free = object;
    slab->used--;
    pool->used--;
    if (slab->used == 0) {
        if (slab->listed) {
            list_remove(&pool->room, slab);
            slab->listed = false;
        }
        list_empty(pool, slab);
    } else if (!slab->listed) {
        list_add(&pool->room, slab);
        slab->listed = true;
    }
}

static void release(uint16_t index, void *object) {
    pthread_mutex_lock(&pools_mutex);
    release_one(index, object);
    pthread_mutex_unlock(&pools_mutex);
}

/* -- rows */

static uint16_t pool_of_rows(bool circuits) {
    return circuits ? CIRCUITS : ROW_PIPES;
}

bool rows_allocate(struct rows *rows, bool circuits, size_t count) {
    uint16_t index = pool_of_rows(circuits);
    struct pool *pool = &pools[index];
    size_t slabs = count / ROWS_PER_SLAB + (count % ROWS_PER_SLAB != 0);
    *rows = (struct rows){.count = count, .first = malloc((slabs + 1) * sizeof *rows->first)};
    if (rows->first == NULL) {
        return false;
    }
    memory_account((int64_t)((slabs + 1) * sizeof *rows->first));
    for (size_t left = count; rows->slabs < slabs; rows->slabs++) {
        uint32_t used = left < ROWS_PER_SLAB ? (uint32_t)left : ROWS_PER_SLAB;
        pthread_mutex_lock(&pools_mutex);
        struct slab *slab = empty_slab(index);
        if (slab != NULL) {
            /* As if it had never been used: objects keep what they have to keep, see engine.h. */
            slab->free = NULL;
            slab->fresh = slab->used = used;
            pool->used += used;
            if (used < slab->capacity) {
                list_add(&pool->room, slab);
                slab->listed = true;
            }
        }
        pthread_mutex_unlock(&pools_mutex);
        if (slab == NULL) {
            break;
        }
        store_relaxed(&slab->head.touched, 0);
        rows->first[rows->slabs] = (char *)slab + CACHE_LINE;
        left -= used;
    }
    if (rows->slabs < slabs) {
        for (size_t full = 0; full < rows->slabs; full++) { /* the last one, with room, was not come to */
            struct slab *slab = (struct slab *)(rows->first[full] - CACHE_LINE);
            pthread_mutex_lock(&pools_mutex);
            slab->fresh = slab->used = 0;
            pool->used -= ROWS_PER_SLAB;
            list_empty(pool, slab);
            pthread_mutex_unlock(&pools_mutex);
        }
        rows->slabs = slabs;
        rows_forget(rows);
        return false;
    }
    return true;
}

void rows_forget(struct rows *rows) {
    memory_account(-(int64_t)((rows->slabs + 1) * sizeof *rows->first));
    free(rows->first);
    rows->first = NULL;
}

int64_t rows_index(const struct rows *rows, uint64_t address) {
    for (size_t slab = 0; slab < rows->slabs; slab++) {
        uint64_t offset = address - (uint64_t)(uintptr_t)rows->first[slab];
        if (offset < ROWS_PER_SLAB * CACHE_LINE) {
            uint64_t index = slab * ROWS_PER_SLAB + offset / CACHE_LINE;
            return offset % CACHE_LINE == 0 && index < rows->count ? (int64_t)index : -1;
        }
    }
    return -1;
}

void rows_free(bool circuits, void *const *objects, size_t count) {
    uint16_t index = pool_of_rows(circuits);
    pthread_mutex_lock(&pools_mutex);
    for (size_t at = 0; at < count; at++) {
        release_one(index, objects[at]);
    }
    pthread_mutex_unlock(&pools_mutex);
}

struct circuit *circuit_allocate(void) {
    return allocate(CIRCUITS);
}

bool circuit_unreferenced(struct circuit *circuit) {
    return atomic_fetch_sub_explicit(&circuit->references, 1, memory_order_acq_rel) == 1;
}

void circuit_release(struct circuit *circuit) {
    if (circuit_unreferenced(circuit)) {
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
    pipe_set_state(pipe, pipe + 1);
    if (inline_state && size > INLINE_STATE) {
        char *memory = calloc(1, sizeof(uint64_t) + size);
        if (memory == NULL) {
            release(units, pipe);
            return NULL;
        }
        /* Its size stands in front of it, for the account. */
        memcpy(memory, &size, sizeof size);
        pipe_set_state(pipe, memory + sizeof(uint64_t));
        pipe->units = 0;
        memory_account((int64_t)size);
    }
    return pipe;
}

void pipe_free(struct pipe *pipe) {
    uint16_t units = pipe->units;
    if (units == IN_REGION) {
        struct region *region = *region_of(pipe);
        release(ROW_PIPES, pipe);
        region_pipes_gone(region, 1);
        return;
    }
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

struct node *nodes_take(uint32_t wanted, uint32_t *taken) {
    struct node *list = NULL;
    uint32_t count = 0;
    if (load_relaxed(&cached_nodes) > 0) {
        pthread_mutex_lock(&nodes_mutex);
        for (; count < wanted && shared_nodes != NULL; count++) {
            struct node *node = shared_nodes;
            shared_nodes = node->next;
            node->next = list;
            list = node;
        }
        shared_count -= count;
        store_relaxed(&cached_nodes, shared_count);
        pthread_mutex_unlock(&nodes_mutex);
    }
    if (count == 0) {
        struct node *node;
        pthread_mutex_lock(&pools_mutex);
        for (; count < wanted && (node = allocate_one(NODES)) != NULL; count++) {
            node->next = list;
            list = node;
        }
        pthread_mutex_unlock(&pools_mutex);
        add_relaxed(&engine.allocated_bytes, count * sizeof *list);
    }
    *taken = count;
    return list;
}

/* A worker takes half a cache at a time, other threads what they need. */
struct node *node_take(struct worker *worker) {
    uint32_t taken;
    if (worker == NULL) {
        return nodes_take(1, &taken);
    }
    if (worker->nodes == NULL) {
        worker->nodes = nodes_take(NODES_PER_WORKER / 2, &worker->node_count);
        if (worker->nodes == NULL) {
            return NULL;
        }
    }
    struct node *node = worker->nodes;
    worker->nodes = node->next;
    worker->node_count--;
    return node;
}

/* Moves `count` nodes to the shared cache, or to their slabs when that is full. */
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
    if (count > 0) {
        pthread_mutex_lock(&pools_mutex);
        while (count-- > 0) {
            struct node *next = first->next;
            release_one(NODES, first);
            first = next;
        }
        pthread_mutex_unlock(&pools_mutex);
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

void nodes_give(struct node *first, uint32_t count) {
    if (count > 0) {
        share(first, count);
    }
}

void nodes_return(struct worker *worker) {
    struct node *first = worker->nodes;
    uint32_t count = worker->node_count;
    worker->nodes = NULL;
    worker->node_count = 0;
    nodes_give(first, count);
}

void memory_facts(alpha_facts *facts) {
    pthread_mutex_lock(&pools_mutex);
    uint64_t mapped = 0, used = 0, pipes = 0;
    for (int index = 0; index < POOLS; index++) {
        mapped += pools[index].slabs * SLAB_BYTES;
        used += pools[index].used * pools[index].size;
        pipes += index == CIRCUITS ? 0 : pools[index].used;
    }
    mapped += pools[NODES].slabs * SLAB_BYTES;
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
    pthread_mutex_lock(&nodes_mutex); /* what is cached keeps slabs from being empty */
    struct node *cached = shared_nodes;
    shared_nodes = NULL;
    shared_count = 0;
    store_relaxed(&cached_nodes, 0);
    pthread_mutex_unlock(&nodes_mutex);
    pthread_mutex_lock(&pools_mutex);
    while (cached != NULL) {
        struct node *next = cached->next;
        release_one(NODES, cached);
        cached = next;
    }
    for (int index = 0; index <= NODES; index++) {
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
