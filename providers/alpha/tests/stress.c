/* Stress of the engine without Python: exact counts while everything happens at once. Run under the sanitizers
 * by test_native.py. The first argument scales the work; exit status 1 and a line on stderr on a difference. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alpha.h"
#include "substrates_kernel.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "stress.c:%d: %s does not hold\n", __LINE__, #condition);      \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static int scale = 1;

/* -- kernels */

struct relay {
    int64_t count, burst;
    uint64_t here, onward;
};

/* Counts down on itself, then hands on. */
static int32_t relay(substrates_context *context, void *memory, uint64_t bits) {
    struct relay *state = memory;
    int64_t value = substrates_int64(bits);
    state->count++;
    if (value > 0) {
        return substrates_emit_int64(context, state->here, value - 1);
    }
    return state->onward ? substrates_emit_int64(context, state->onward, state->burst) : 0;
}

struct hop {
    int64_t count;
    uint64_t onward;
};

static _Atomic int arrived, slept;

/* Hands on, one less, until nothing is left. */
static int32_t hop(substrates_context *context, void *memory, uint64_t bits) {
    struct hop *state = memory;
    int64_t value = substrates_int64(bits);
    state->count++;
    if (value == 0) {
        atomic_fetch_add(&arrived, 1);
        return 0;
    }
    return substrates_emit_int64(context, state->onward, value - 1);
}

struct tree {
    int64_t count;
    uint64_t here;
};

/* Doubles on itself: a value n becomes 2^n - 1 deliveries; the buffer has to grow. */
static int32_t tree(substrates_context *context, void *memory, uint64_t bits) {
    struct tree *state = memory;
    int64_t value = substrates_int64(bits);
    state->count++;
    for (int side = 0; value > 1 && side < 2; side++) {
        int32_t fault = substrates_emit_int64(context, state->here, value - 1);
        if (fault != 0) {
            return fault;
        }
    }
    return 0;
}

struct order {
    int64_t last[8], count, wrong;
};

/* Values are producer << 32 | sequence: each producer's must come in order. */
static int32_t order(substrates_context *context, void *memory, uint64_t bits) {
    struct order *state = memory;
    (void)context;
    int64_t producer = (int64_t)(bits >> 32), sequence = (int64_t)(bits & 0xffffffff);
    state->wrong += sequence != state->last[producer] + 1;
    state->last[producer] = sequence;
    state->count++;
    return 0;
}

static int32_t fails(substrates_context *context, void *memory, uint64_t bits) {
    struct hop *state = memory;
    (void)context;
    state->count++;
    return bits % 2 == 0 ? 7 : 0;
}

static int32_t sleeps(substrates_context *context, void *memory, uint64_t bits) {
    struct hop *state = memory;
    (void)context;
    struct timespec nap = {0, (long)bits};
    nanosleep(&nap, NULL);
    state->count++;
    atomic_fetch_add(&slept, 1);
    return 0;
}

#define ADDRESS(kernel) ((uint64_t)(uintptr_t)(kernel))
#define NEW(circuit, kernel, state, own) \
    alpha_pipe_new((circuit), ADDRESS(kernel), 0, (const char *)&(state), sizeof(state), (own), 0, 0)

static void wait_for(uint64_t circuit) {
    uint64_t waiter;
    CHECK(alpha_barrier(circuit, &waiter) == ALPHA_OK);
    if (waiter != 0) {
        while (alpha_wait(waiter, 100000000) != ALPHA_OK) {
        }
        alpha_waiter_free(waiter);
    }
}

/* -- scenarios */

struct producer {
    pthread_t thread;
    uint64_t pipe;
    int64_t number, count;
};

static void *produce(void *argument) {
    struct producer *producer = argument;
    for (int64_t sequence = 1; sequence <= producer->count; sequence++) {
        CHECK(alpha_emit_int64(producer->pipe, producer->number << 32 | sequence) == ALPHA_OK);
    }
    return NULL;
}

static void producers_keep_their_order(void) {
    enum { PRODUCERS = 4 };
    struct order zero = {0};
    uint64_t circuit = alpha_circuit_new(0, 0);
    uint64_t pipe = NEW(circuit, order, zero, 0);
    struct producer producers[PRODUCERS];
    for (int at = 0; at < PRODUCERS; at++) {
        producers[at] = (struct producer){.pipe = pipe, .number = at, .count = 2000 * scale};
        pthread_create(&producers[at].thread, NULL, produce, &producers[at]);
    }
    for (int at = 0; at < PRODUCERS; at++) {
        pthread_join(producers[at].thread, NULL);
    }
    wait_for(circuit);
    struct order *state = (struct order *)alpha_pipe_state(pipe);
    CHECK(state->wrong == 0);
    CHECK(state->count == PRODUCERS * 2000 * scale);
    alpha_pipe_drop(pipe, 0);
    alpha_circuit_drop(circuit);
}

static void chains_visit_every_circuit(void) {
    enum { CHAINS = 3, LENGTH = 300, BURST = 20 };
    uint64_t circuits[CHAINS][LENGTH], pipes[CHAINS][LENGTH];
    for (int chain = 0; chain < CHAINS; chain++) {
        for (int at = LENGTH - 1; at >= 0; at--) {
            struct relay start = {0, BURST - 1, 0, at + 1 < LENGTH ? pipes[chain][at + 1] : 0};
            circuits[chain][at] = alpha_circuit_new(0, 0);
            pipes[chain][at] = NEW(circuits[chain][at], relay, start, 1 << 2);
        }
    }
    for (int round = 1; round <= 3 * scale; round++) {
        for (int chain = 0; chain < CHAINS; chain++) {
            CHECK(alpha_emit_int64(pipes[chain][0], BURST - 1) == ALPHA_OK);
        }
        for (int chain = 0; chain < CHAINS; chain++) {
            for (int at = 0; at < LENGTH; at++) { /* a barrier after the circuit before it: the chain is done */
                wait_for(circuits[chain][at]);
            }
        }
        for (int chain = 0; chain < CHAINS; chain++) {
            for (int at = 0; at < LENGTH; at++) {
                CHECK(((struct relay *)alpha_pipe_state(pipes[chain][at]))->count == round * BURST);
            }
        }
    }
    for (int chain = 0; chain < CHAINS; chain++) {
        for (int at = 0; at < LENGTH; at++) {
            CHECK(alpha_circuit_close(circuits[chain][at]) == ALPHA_OK);
            alpha_pipe_drop(pipes[chain][at], 0);
            alpha_circuit_drop(circuits[chain][at]);
        }
    }
}

static void tokens_circulate_in_a_ring(void) {
    enum { LENGTH = 7, TOKENS = 5 };
    uint64_t circuits[LENGTH], pipes[LENGTH];
    struct hop zero = {0};
    int64_t hops = 3000 * scale, total = 0;
    for (int at = 0; at < LENGTH; at++) {
        circuits[at] = alpha_circuit_new(0, 0);
        pipes[at] = NEW(circuits[at], hop, zero, 0);
    }
    for (int at = 0; at < LENGTH; at++) {
        ((struct hop *)alpha_pipe_state(pipes[at]))->onward = pipes[(at + 1) % LENGTH];
    }
    atomic_store(&arrived, 0);
    for (int token = 0; token < TOKENS; token++) {
        CHECK(alpha_emit_int64(pipes[token], hops - 1) == ALPHA_OK);
    }
    for (struct timespec nap = {0, 200000}; atomic_load(&arrived) < TOKENS;) {
        nanosleep(&nap, NULL);
    }
    for (int at = 0; at < LENGTH; at++) {
        wait_for(circuits[at]);
        total += ((struct hop *)alpha_pipe_state(pipes[at]))->count;
    }
    CHECK(total == hops * TOKENS);
    for (int at = 0; at < LENGTH; at++) {
        alpha_pipe_drop(pipes[at], 0);
        alpha_circuit_drop(circuits[at]);
    }
}

enum { TOKEN = 3 };

struct post {
    int64_t count;
    uint64_t onward;
    int64_t sent, wrong, last[TOKEN + 1];
};

/* A letter is producer << 32 | sequence; each producer's must come in order. Those of producer TOKEN count down: for
 * each this emits onward one letter of producer 0 before it, or none, and the token. */
static int32_t post(substrates_context *context, void *memory, uint64_t bits) {
    struct post *state = memory;
    int64_t producer = (int64_t)(bits >> 32), sequence = (int64_t)(bits & 0xffffffff);
    state->count++;
    if (producer != TOKEN) {
        state->wrong += sequence != state->last[producer] + 1;
        state->last[producer] = sequence;
        return 0;
    }
    if (sequence == 0) {
        atomic_fetch_add(&arrived, 1);
        return 0;
    }
    if (sequence % 3 == 0) {
        int32_t fault = substrates_emit_int64(context, state->onward, ++state->sent);
        if (fault != 0) {
            return fault;
        }
    }
    return substrates_emit(context, state->onward, bits - 1);
}

enum { RING = 3 };

struct postman {
    pthread_t thread;
    const uint64_t *pipes;
    int64_t number, letters;
};

static void *deliver(void *argument) {
    struct postman *postman = argument;
    for (int64_t sequence = 1; sequence <= postman->letters; sequence++) {
        for (int at = 0; at < RING; at++) {
            CHECK(alpha_emit_int64(postman->pipes[at], postman->number << 32 | sequence) == ALPHA_OK);
        }
    }
    return NULL;
}

static void a_token_travels_while_others_emit_to_its_circuits(void) {
    uint64_t circuits[RING], pipes[RING];
    struct post zero = {0};
    int64_t hops = 30000 * scale, letters = 2000 * scale, total = 0;
    for (int at = 0; at < RING; at++) {
        circuits[at] = alpha_circuit_new(0, 0);
        pipes[at] = NEW(circuits[at], post, zero, 0);
    }
    for (int at = 0; at < RING; at++) {
        ((struct post *)alpha_pipe_state(pipes[at]))->onward = pipes[(at + 1) % RING];
    }
    atomic_store(&arrived, 0);
    CHECK(alpha_emit_int64(pipes[0], (int64_t)TOKEN << 32 | hops) == ALPHA_OK);
    struct postman postmen[TOKEN - 1];
    for (int at = 0; at < TOKEN - 1; at++) {
        postmen[at] = (struct postman){.pipes = pipes, .number = at + 1, .letters = letters};
        pthread_create(&postmen[at].thread, NULL, deliver, &postmen[at]);
    }
    for (int at = 0; at < TOKEN - 1; at++) {
        pthread_join(postmen[at].thread, NULL);
    }
    for (struct timespec nap = {0, 200000}; atomic_load(&arrived) == 0;) {
        nanosleep(&nap, NULL);
    }
    for (int at = 0; at < RING; at++) {
        wait_for(circuits[at]);
    }
    for (int at = 0; at < RING; at++) {
        struct post *state = (struct post *)alpha_pipe_state(pipes[at]);
        struct post *before = (struct post *)alpha_pipe_state(pipes[(at + RING - 1) % RING]);
        CHECK(state->wrong == 0);
        CHECK(state->last[0] == before->sent);
        total += state->count;
    }
    CHECK(total == hops + 1 + hops / 3 + RING * (TOKEN - 1) * letters);
    for (int at = 0; at < RING; at++) {
        alpha_pipe_drop(pipes[at], 0);
        alpha_circuit_drop(circuits[at]);
    }
}

/* Two circuits that a token travels between for ever. */
struct pair {
    uint64_t circuits[2], pipes[2];
};

static struct pair pair_new(substrates_kernel kernel) {
    struct pair pair;
    struct hop zero = {0};
    for (int at = 0; at < 2; at++) {
        pair.circuits[at] = alpha_circuit_new(0, 0);
        pair.pipes[at] = NEW(pair.circuits[at], kernel, zero, 0);
    }
    for (int at = 0; at < 2; at++) {
        ((struct hop *)alpha_pipe_state(pair.pipes[at]))->onward = pair.pipes[1 - at];
    }
    CHECK(alpha_emit_int64(pair.pipes[0], INT64_MAX) == ALPHA_OK);
    return pair;
}

static int64_t pair_count(const struct pair *pair, int at) {
    return ((struct hop *)alpha_pipe_state(pair->pipes[at]))->count;
}

static void pair_drop(const struct pair *pair) {
    for (int at = 0; at < 2; at++) {
        alpha_pipe_drop(pair->pipes[at], 0);
        alpha_circuit_drop(pair->circuits[at]);
    }
}

static void a_token_ends_at_a_circuit_that_is_closed(void) {
    for (int round = 0; round < 100 * scale; round++) {
        struct pair pair = pair_new(hop);
        struct timespec nap = {0, round % 4 * 20000L};
        nanosleep(&nap, NULL);
        CHECK(alpha_circuit_close(pair.circuits[1]) == ALPHA_OK);
        wait_for(pair.circuits[1]);
        wait_for(pair.circuits[0]);
        CHECK(pair_count(&pair, 0) == pair_count(&pair, 1) + 1);
        pair_drop(&pair);
    }
}

static _Atomic int64_t hops_made, hops_seen;

static int32_t counted_hop(substrates_context *context, void *memory, uint64_t bits) {
    atomic_fetch_add_explicit(&hops_made, 1, memory_order_relaxed);
    return hop(context, memory, bits);
}

static int32_t looks(substrates_context *context, void *memory, uint64_t bits) {
    (void)context;
    (void)memory;
    (void)bits;
    atomic_store(&hops_seen, atomic_load(&hops_made));
    return 0;
}

static void a_circuit_gets_its_turn_while_tokens_travel_for_ever(void) {
    enum { PAIRS = 48, TURNS = 20, MOST = 1000000 /* by time slices alone it would be ten million */ };
    struct pair pairs[PAIRS];
    struct hop zero = {0};
    uint64_t circuit = alpha_circuit_new(0, 0);
    uint64_t pipe = NEW(circuit, looks, zero, 0);
    int64_t total = 0;
    for (int at = 0; at < PAIRS; at++) {
        pairs[at] = pair_new(counted_hop);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t before = atomic_load(&hops_made);
        CHECK(alpha_emit_int64(pipe, 0) == ALPHA_OK);
        wait_for(circuit);
        total += atomic_load(&hops_seen) - before;
    }
    CHECK(total < MOST);
    for (int at = 0; at < PAIRS; at++) {
        CHECK(alpha_circuit_close(pairs[at].circuits[0]) == ALPHA_OK);
        wait_for(pairs[at].circuits[0]);
        wait_for(pairs[at].circuits[1]);
        CHECK(pair_count(&pairs[at], 1) > 0);
        pair_drop(&pairs[at]);
    }
    alpha_pipe_drop(pipe, 0);
    alpha_circuit_drop(circuit);
}

static void a_hand_over_is_a_visit(void) {
    alpha_facts before, after;
    alpha_read_facts(&before);
    struct pair pair = pair_new(counted_hop);
    int64_t from = atomic_load(&hops_made);
    while (atomic_load(&hops_made) < from + 10000) {
    }
    alpha_read_facts(&after);
    CHECK(after.visits - before.visits >= 10000);
    alpha_circuit_close(pair.circuits[0]);
    wait_for(pair.circuits[0]);
    wait_for(pair.circuits[1]);
    pair_drop(&pair);
}

static void a_tree_outgrows_the_window(void) {
    struct tree zero = {0};
    uint64_t circuit = alpha_circuit_new(0, 0);
    uint64_t pipe = NEW(circuit, tree, zero, 1 << 1);
    CHECK(alpha_emit_int64(pipe, 16) == ALPHA_OK);
    CHECK(alpha_emit_int64(pipe, 1) == ALPHA_OK);
    wait_for(circuit);
    CHECK(((struct tree *)alpha_pipe_state(pipe))->count == (1 << 16) - 1 + 1);
    alpha_pipe_drop(pipe, 0);
    alpha_circuit_drop(circuit);
}

static void *churn(void *argument) {
    (void)argument;
    for (int round = 0; round < 300 * scale; round++) {
        struct hop zero = {0};
        uint64_t first = alpha_circuit_new(0, 0), second = alpha_circuit_new(0, 0);
        uint64_t end = NEW(second, hop, zero, 0);
        struct hop link = {0, end};
        uint64_t start = NEW(first, hop, link, 0);
        for (int value = 0; value < 5; value++) {
            CHECK(alpha_emit_int64(start, 1) == ALPHA_OK);
        }
        if (round % 3 == 0) {
            wait_for(first);
            wait_for(second);
            CHECK(((struct hop *)alpha_pipe_state(end))->count == 5);
        }
        if (round % 2 == 0) {
            alpha_circuit_close(first);
        }
        if (round % 5 == 0) {
            alpha_circuit_close(second);
        }
        /* Dropped with values on their way: they must arrive or vanish, never hit memory that is gone. */
        alpha_pipe_drop(start, 0);
        alpha_pipe_drop(end, 0);
        alpha_circuit_drop(first);
        alpha_circuit_drop(second);
    }
    return NULL;
}

static void circuits_come_and_go_in_mid_flight(void) {
    pthread_t threads[3];
    for (int at = 0; at < 3; at++) {
        pthread_create(&threads[at], NULL, churn, NULL);
    }
    for (int at = 0; at < 3; at++) {
        pthread_join(threads[at], NULL);
    }
}

static _Atomic int emitting;

static void *flood(void *argument) {
    struct producer *producer = argument;
    while (atomic_load(&emitting)) {
        if (alpha_emit_int64(producer->pipe, 2) != ALPHA_OK) {
            break;
        }
        producer->count++;
    }
    return NULL;
}

/* One at a time, so that each finds the circuit idle. */
static void *trickle(void *argument) {
    struct producer *producer = argument;
    while (atomic_load(&emitting)) {
        CHECK(alpha_emit_int64(producer->pipe, 1) == ALPHA_OK);
        producer->count++;
        for (int spin = 0; spin < 200; spin++) {
            atomic_load(&emitting);
        }
    }
    return NULL;
}

/* Takes all that has come in for an adopted circuit: how many values. */
static int64_t tail_taken(uint64_t circuit, alpha_item *items) {
    int64_t taken = 0;
    for (int count; (count = alpha_left_transit(circuit, items, 64)) > 0;) {
        taken += count;
    }
    alpha_tail_mark(circuit);
    for (int count; (count = alpha_tail_take(circuit, items, 64)) > 0;) {
        taken += count;
    }
    return taken;
}

static void adoption_loses_nothing(void) {
    for (int round = 0; round < 20 * scale; round++) {
        struct relay zero = {0};
        uint64_t circuit = alpha_circuit_new(0, 0);
        uint64_t pipe = NEW(circuit, relay, zero, 1 << 2);
        struct producer producer = {.pipe = pipe};
        atomic_store(&emitting, 1);
        pthread_create(&producer.thread, NULL, flood, &producer);
        struct timespec nap = {0, 50000};
        nanosleep(&nap, NULL);
        CHECK(alpha_circuit_adopt(circuit) == ALPHA_OK);
        pthread_join(producer.thread, NULL);
        int64_t native = ((struct relay *)alpha_pipe_state(pipe))->count, mine = 0;
        alpha_item items[64];
        int count;
        while ((count = alpha_left_transit(circuit, items, 64)) > 0) {
            for (int at = 0; at < count; at++) {
                mine += substrates_int64(items[at].bits) + 1;
            }
        }
        uint64_t marked = alpha_tail_mark(circuit), taken = 0;
        while ((count = alpha_tail_take(circuit, items, 64)) > 0) {
            taken += (uint64_t)count;
            for (int at = 0; at < count; at++) {
                mine += substrates_int64(items[at].bits) + 1;
            }
        }
        CHECK(taken == marked);
        CHECK(alpha_tail_rest(circuit));
        CHECK(native + mine == producer.count * 3);
        CHECK(alpha_pipe_drop(pipe, 0) == ALPHA_OK);
        alpha_circuit_drop(circuit);
    }
}

/* Adopts a circuit that a token is handed over to again and again, from one that a thread emits to. */
static void adoption_of_where_a_token_goes_loses_nothing(void) {
    for (int round = 0; round < 20 * scale; round++) {
        struct hop zero = {0};
        uint64_t from = alpha_circuit_new(0, 0), to = alpha_circuit_new(0, 0);
        uint64_t end = NEW(to, hop, zero, 0);
        struct hop link = {0, end};
        uint64_t start = NEW(from, hop, link, 0);
        struct producer producer = {.pipe = start};
        atomic_store(&emitting, 1);
        pthread_create(&producer.thread, NULL, trickle, &producer);
        struct timespec nap = {0, 50000 + round % 7 * 10000L};
        nanosleep(&nap, NULL);
        CHECK(alpha_circuit_adopt(to) == ALPHA_OK);
        alpha_item items[64];
        int64_t taken = 0;
        for (int look = 0; look < 100; look++) { /* as Python does, which may find it claimed */
            taken += tail_taken(to, items);
            alpha_tail_rest(to);
        }
        atomic_store(&emitting, 0);
        pthread_join(producer.thread, NULL);
        wait_for(from);
        taken += tail_taken(to, items);
        CHECK(alpha_tail_rest(to));
        CHECK(((struct hop *)alpha_pipe_state(end))->count + taken == producer.count);
        CHECK(alpha_pipe_drop(end, 0) == ALPHA_OK);
        alpha_pipe_drop(start, 0);
        alpha_circuit_drop(to);
        alpha_circuit_drop(from);
    }
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void probes_note_their_turn(void) {
    struct hop zero = {0};
    for (int round = 0; round < 100 * scale; round++) {
        uint64_t circuit = alpha_circuit_new(0, 0), waiter;
        uint64_t pipe = NEW(circuit, sleeps, zero, 0);
        int64_t before = now_ns(), nap = round % 10 == 0 ? 1000000 : 0;
        CHECK(alpha_emit_int64(pipe, nap) == ALPHA_OK);
        CHECK(alpha_probe(circuit, &waiter) == ALPHA_OK);
        if (round % 2 == 0) {
            alpha_circuit_close(circuit); /* behind the probe: it has its turn all the same */
        }
        CHECK(waiter != 0);
        while (alpha_wait(waiter, 100000000) != ALPHA_OK) {
        }
        CHECK(alpha_turn_ns(waiter) >= before + nap);
        CHECK(alpha_turn_ns(waiter) <= now_ns());
        alpha_waiter_free(waiter);
        CHECK(((struct hop *)alpha_pipe_state(pipe))->count == 1);
        alpha_pipe_drop(pipe, 0);
        alpha_circuit_drop(circuit);
    }
}

static void faults_are_counted(void) {
    struct hop zero = {0};
    alpha_facts before, after;
    alpha_read_facts(&before);
    uint64_t circuit = alpha_circuit_new(3, 0);
    uint64_t pipe = alpha_pipe_new(circuit, ADDRESS(fails), 4, (const char *)&zero, sizeof zero, 0, 0, 0);
    for (int value = 0; value < 98; value++) {
        CHECK(alpha_emit_int64(pipe, value) == ALPHA_OK);
    }
    wait_for(circuit);
    struct hop link = {0, pipe}; /* the last one comes from another circuit, which is not the one that fails */
    uint64_t other = alpha_circuit_new(5, 0);
    uint64_t start = NEW(other, hop, link, 0);
    CHECK(alpha_emit_int64(start, 98 + 1) == ALPHA_OK);
    do { /* without a wait, for which the other circuit would have to go on */
        alpha_read_facts(&after);
    } while (after.faults - before.faults < 50);
    wait_for(circuit);
    CHECK(((struct hop *)alpha_pipe_state(pipe))->count == 99);
    CHECK(after.faults - before.faults == 50);
    alpha_event event;
    uint64_t reported = 0;
    while (alpha_event_take(&event)) {
        if (event.kind == ALPHA_EVENT_FAULT) {
            CHECK(event.code == 7 && event.pipe == pipe && event.circuit == circuit);
            CHECK(event.circuit_name == 3 && event.pipe_name == 4);
            reported += event.count;
        }
    }
    CHECK(reported == 50);
    alpha_pipe_drop(start, 0);
    alpha_circuit_drop(other);
    alpha_pipe_drop(pipe, 0);
    alpha_circuit_drop(circuit);
}

static void blocked_kernels_do_not_stop_others(void) {
    enum { BLOCKED = 6 };
    struct hop zero = {0};
    uint64_t circuits[BLOCKED], pipes[BLOCKED];
    for (int at = 0; at < BLOCKED; at++) {
        circuits[at] = alpha_circuit_new(0, 0);
        pipes[at] = NEW(circuits[at], sleeps, zero, 0);
        CHECK(alpha_emit_int64(pipes[at], 300000000) == ALPHA_OK);
    }
    uint64_t circuit = alpha_circuit_new(0, 0);
    uint64_t pipe = NEW(circuit, sleeps, zero, 0);
    CHECK(alpha_emit_int64(pipe, 0) == ALPHA_OK);
    wait_for(circuit);
    CHECK(atomic_load(&slept) <= BLOCKED); /* it came before all blocked ones ended: another worker ran it */
    for (int at = 0; at < BLOCKED; at++) {
        wait_for(circuits[at]);
        alpha_pipe_drop(pipes[at], 0);
        alpha_circuit_drop(circuits[at]);
    }
    alpha_pipe_drop(pipe, 0);
    alpha_circuit_drop(circuit);
}

static void large_states_come_and_go(void) {
    static char large[8000];
    struct hop zero = {0};
    uint64_t circuit = alpha_circuit_new(0, 0);
    for (int round = 0; round < 50 * scale; round++) {
        uint64_t first = alpha_pipe_new(circuit, ADDRESS(hop), 0, large, sizeof large, 0, 0, 0);
        CHECK(alpha_pipe_drop(first, 0) == ALPHA_OK);
        alpha_trim();
        uint64_t second = alpha_pipe_new(circuit, ADDRESS(hop), 0, "", 0, 0, 0, 0);
        CHECK(alpha_pipe_drop(second, 0) == ALPHA_OK);
        uint64_t third = NEW(circuit, hop, zero, 0);
        CHECK(alpha_pipe_drop(third, 0) == ALPHA_OK);
        alpha_trim();
    }
    alpha_circuit_drop(circuit);
}

struct party {
    pthread_t thread;
    uint64_t population, size, pipes;
    int64_t rounds;
    bool single;
};

static void wait_for_all(uint64_t population) {
    uint64_t waiter;
    CHECK(alpha_population_barrier(population, &waiter) == ALPHA_OK);
    if (waiter != 0) {
        while (alpha_wait(waiter, 100000000) != ALPHA_OK) {
        }
        alpha_waiter_free(waiter);
    }
}

static uint64_t pipes_of(uint64_t population, int32_t (*kernel)(substrates_context *, void *, uint64_t), uint64_t onward) {
    struct hop start = {0, onward};
    uint64_t pipes =
        alpha_pipes_new(population, ADDRESS(kernel), ALPHA_SAME_NAME, (const char *)&start, sizeof start, NULL, 0);
    CHECK(pipes != 0);
    return pipes;
}

static void drop_all(uint64_t pipes) {
    uint64_t number = alpha_pipes_number(pipes);
    alpha_pipes_drop((void *)(uintptr_t)pipes);
    alpha_event event;
    for (bool told = false; !told;) {
        while (alpha_event_take(&event)) {
            told |= event.kind == ALPHA_EVENT_DROPPED && event.pipe == number;
        }
    }
    alpha_pipes_free((void *)(uintptr_t)pipes);
}

static void drop_population(uint64_t population) {
    alpha_population_drop((void *)(uintptr_t)population);
}

/* Emits to some members, or all, and after each wait looks whether all of it is done. */
static void *emit_and_wait(void *argument) {
    struct party *party = argument;
    struct hop *states = (struct hop *)(void *)alpha_pipes_states(party->pipes);
    const uint64_t *handles = alpha_pipes_handles(party->pipes);
    int64_t *where = malloc(party->size * sizeof *where), *expected = calloc(party->size, sizeof *expected);
    uint64_t seed = party->pipes, zero = 0;
    for (int64_t round = 0; round < party->rounds; round++) {
        uint64_t chosen = 0;
        for (uint64_t index = 0; index < party->size; index++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            if (round % 4 == 0 || seed >> 62 == 0) {
                where[chosen++] = (int64_t)index;
                expected[index]++;
            }
        }
        if (party->single) {
            for (uint64_t at = 0; at < chosen; at++) {
                CHECK(alpha_emit_int64(handles[where[at]], 0) == ALPHA_OK);
            }
        } else {
            uint64_t done = 0;
            CHECK(alpha_pipes_emit(party->pipes, &zero, 1, round % 4 == 0 ? NULL : where, chosen, &done) == ALPHA_OK);
            CHECK(done == chosen);
        }
        wait_for_all(party->population);
        for (uint64_t index = 0; index < party->size; index++) {
            CHECK(states[index].count == expected[index]);
        }
    }
    free(where);
    free(expected);
    return NULL;
}

static void waits_for_populations_miss_nothing(void) {
    enum { PARTIES = 4 };
    const uint64_t sizes[] = {1, 3, 5000};
    for (int at = 0; at < 3; at++) {
        struct party parties[PARTIES];
        uint64_t population = alpha_population_new(0, sizes[at]);
        CHECK(population != 0);
        for (int each = 0; each < PARTIES; each++) {
            int64_t rounds = sizes[at] < 100 ? 1000 * scale : 4 * scale;
            uint64_t pipes = pipes_of(population, hop, 0);
            parties[each] = (struct party){
                .population = population, .size = sizes[at], .pipes = pipes, .rounds = rounds, .single = each % 2 == 1};
        }
        for (int each = 0; each < PARTIES; each++) {
            pthread_create(&parties[each].thread, NULL, emit_and_wait, &parties[each]);
        }
        for (int each = 0; each < PARTIES; each++) {
            pthread_join(parties[each].thread, NULL);
            drop_all(parties[each].pipes);
        }
        CHECK(alpha_population_close(population) == ALPHA_OK);
        drop_population(population);
    }
}

static void waits_one_behind_the_other_see_the_same(void) {
    uint64_t nap = 20000000, done = 0, population = alpha_population_new(0, 3), pipes = pipes_of(population, sleeps, 0);
    CHECK(alpha_pipes_emit(pipes, &nap, 1, NULL, 1, &done) == ALPHA_OK);
    uint64_t waiters[3];
    for (int at = 0; at < 3; at++) { /* the first one has looked; the others must not take that for idle */
        CHECK(alpha_population_barrier(population, &waiters[at]) == ALPHA_OK);
        CHECK(waiters[at] != 0);
    }
    for (int at = 2; at >= 0; at--) {
        while (alpha_wait(waiters[at], 100000000) != ALPHA_OK) {
        }
        CHECK(((struct hop *)(void *)alpha_pipes_states(pipes))->count == 1);
        alpha_waiter_free(waiters[at]);
    }
    drop_all(pipes);
    drop_population(population);
}

static void populations_dropped_in_full_flight_deliver(void) {
    enum { SIZE = 5000, VALUES = 3 };
    struct hop zero = {0};
    uint64_t one = 1, circuit = alpha_circuit_new(0, 0), end = NEW(circuit, hop, zero, 0);
    for (int round = 1; round <= 4 * scale; round++) {
        uint64_t population = alpha_population_new(0, SIZE), pipes = pipes_of(population, hop, end);
        for (int value = 0; value < VALUES; value++) {
            uint64_t done = 0;
            CHECK(alpha_pipes_emit(pipes, &one, 1, NULL, SIZE, &done) == ALPHA_OK && done == SIZE);
        }
        if (round % 2 == 0) {
            CHECK(alpha_population_close(population) == ALPHA_OK);
        }
        if (round % 3 == 0) { /* as the garbage collector may do it */
            drop_population(population);
            drop_all(pipes);
        } else {
            drop_all(pipes);
            drop_population(population);
        }
        wait_for(circuit);
        CHECK(((struct hop *)alpha_pipe_state(end))->count == (int64_t)round * SIZE * VALUES);
    }
    alpha_pipe_drop(end, 0);
    alpha_circuit_drop(circuit);
}

static void emissions_stop_at_adopted_members(void) {
    enum { SIZE = 300 };
    uint64_t zero = 0, population = alpha_population_new(0, SIZE), pipes = pipes_of(population, hop, 0);
    CHECK(alpha_population_index(population, alpha_population_circuit(population, 299)) == 299);
    CHECK(alpha_population_index(population, pipes) == -1);
    CHECK(alpha_pipes_index(pipes, alpha_pipes_handles(pipes)[299]) == 299);
    CHECK(alpha_pipes_index(pipes, alpha_pipes_handles(pipes)[299] + (UINT64_C(1) << 48)) == -1);
    for (uint64_t index = 0; index < SIZE; index += 100) {
        CHECK(alpha_circuit_adopt(alpha_population_circuit(population, index)) == ALPHA_OK);
    }
    uint64_t stops = 0;
    for (uint64_t done = 0; done < SIZE; done++, stops++) {
        int result = alpha_pipes_emit(pipes, &zero, 1, NULL, SIZE, &done);
        if (result == ALPHA_OK) {
            CHECK(done == SIZE);
            break;
        }
        CHECK(result == ALPHA_ADOPTED && done == stops * 100);
    }
    CHECK(stops == 3);
    wait_for_all(population);
    for (uint64_t index = 0; index < SIZE; index++) {
        CHECK(((struct hop *)(void *)alpha_pipes_states(pipes))[index].count == (index % 100 != 0));
    }
    uint64_t handles[SIZE];
    memcpy(handles, alpha_pipes_handles(pipes), sizeof handles);
    alpha_pipes_drop((void *)(uintptr_t)pipes);
    for (uint64_t index = 0; index < SIZE; index += 100) {
        uint64_t circuit = alpha_population_circuit(population, index);
        alpha_item item;
        CHECK(alpha_tail_mark(circuit) == 1);
        CHECK(alpha_tail_take(circuit, &item, 1) == 1 && item.pipe == 0);
        CHECK(alpha_run_command(circuit, item.bits) == handles[index]);
        CHECK(alpha_tail_rest(circuit));
    }
    alpha_pipes_free((void *)(uintptr_t)pipes);
    drop_population(population);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        scale = atoi(argv[1]);
    }
    CHECK(alpha_start(3) == ALPHA_OK);
    faults_are_counted();
    large_states_come_and_go();
    producers_keep_their_order();
    chains_visit_every_circuit();
    tokens_circulate_in_a_ring();
    a_token_travels_while_others_emit_to_its_circuits();
    a_token_ends_at_a_circuit_that_is_closed();
    a_circuit_gets_its_turn_while_tokens_travel_for_ever();
    a_hand_over_is_a_visit();
    a_tree_outgrows_the_window();
    circuits_come_and_go_in_mid_flight();
    adoption_loses_nothing();
    adoption_of_where_a_token_goes_loses_nothing();
    blocked_kernels_do_not_stop_others();
    probes_note_their_turn();
    emissions_stop_at_adopted_members();
    waits_one_behind_the_other_see_the_same();
    waits_for_populations_miss_nothing();
    populations_dropped_in_full_flight_deliver();
    alpha_facts facts;
    for (int tries = 0; tries < 5000; tries++) { /* dropped circuits end on their own */
        alpha_read_facts(&facts);
        if (facts.circuits == 0 && facts.pipes == 0) {
            break;
        }
        struct timespec nap = {0, 1000000};
        nanosleep(&nap, NULL);
    }
    CHECK(facts.circuits == 0);
    CHECK(facts.pipes == 0);
    alpha_stop(2000);
    alpha_read_facts(&facts);
    CHECK(facts.workers == 0);
    puts("stress: all exact");
    return 0;
}
