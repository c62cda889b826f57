//! The queue and the park/wake protocol under loom, which tries all orders.
#![cfg(loom)]

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::sync::{Arc, Mutex};
use loom::thread;
use substrates_beta::engine::ingress::{BUSY, CLOSED, Found, IDLE, Ingress, Node};
use substrates_beta::engine::kernel::Slot;
use substrates_beta::engine::object::Place;
use substrates_beta::engine::parker::{Parked, Parker};
use substrates_beta::engine::parking::{Parking, Sleeper};
use substrates_beta::engine::touched::Touched;

fn node(bits: u64) -> *mut Node {
    Box::into_raw(Box::new(Node {
        next: null_mut(),
        slot: Slot { pipe: 1 << 48, bits },
    }))
}

/// Frees a list and returns its values.
fn values(mut list: *mut Node) -> Vec<u64> {
    let mut values = Vec::new();
    while !list.is_null() {
        // SAFETY: made by `node`, and taken by the caller.
        let taken = unsafe { Box::from_raw(list) };
        values.push(taken.slot.bits);
        list = taken.next;
    }
    values
}

/// Runs a circuit as a visit does: takes until it can rest.
fn run(ingress: &Ingress, got: &mut Vec<u64>) {
    loop {
        if ingress.seen() == BUSY && ingress.rest() {
            return;
        }
        got.extend(values(ingress.take()));
    }
}

#[test]
fn every_value_is_taken_once_and_in_the_order_of_its_emitter() {
    bounded().check(|| {
        let ingress = Arc::new(Ingress::new());
        let runs = Arc::new(AtomicU32::new(0)); // circuits made ready, one at a time
        let emitters: Vec<_> = [10, 20]
            .map(|first| {
                let (ingress, runs) = (Arc::clone(&ingress), Arc::clone(&runs));
                thread::spawn(move || {
                    for value in [first, first + 1] {
                        // SAFETY: the node is ours.
                        if unsafe { ingress.push(node(value)) } == Found::Idle {
                            runs.fetch_add(1, Ordering::Release);
                        }
                    }
                })
            })
            .into_iter()
            .collect();
        let mut got = Vec::new();
        let mut taken = 0;
        while runs.load(Ordering::Acquire) > taken {
            taken += 1;
            run(&ingress, &mut got);
        }
        for emitter in emitters {
            emitter.join().unwrap();
        }
        while runs.load(Ordering::Acquire) > taken {
            taken += 1;
            run(&ingress, &mut got);
        }
        assert_eq!(ingress.seen(), IDLE);
        for first in [10, 20] {
            let mine: Vec<_> = got.iter().copied().filter(|it| it / 10 == first / 10).collect();
            assert_eq!(mine, [first, first + 1]);
        }
    });
}

#[test]
fn one_emitter_alone_becomes_responsible() {
    loom::model(|| {
        let ingress = Arc::new(Ingress::new());
        let emitters = [1, 2].map(|value| {
            let ingress = Arc::clone(&ingress);
            // SAFETY: the node is ours.
            thread::spawn(move || unsafe { ingress.push(node(value)) } == Found::Idle)
        });
        let responsible = emitters
            .map(|it| it.join().unwrap())
            .iter()
            .filter(|it| **it)
            .count();
        assert_eq!(responsible, 1);
        let mut got = Vec::new();
        run(&ingress, &mut got);
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    });
}

#[test]
fn what_comes_before_the_end_is_taken_and_what_comes_after_is_refused() {
    loom::model(|| {
        let ingress = Arc::new(Ingress::new());
        assert!(ingress.begin());
        let emitter = {
            let ingress = Arc::clone(&ingress);
            thread::spawn(move || {
                let own = node(7);
                // SAFETY: the node is ours, and again if it was refused.
                let refused = unsafe { ingress.push(own) } == Found::Closed;
                if refused {
                    assert_eq!(values(own), [7]);
                }
                refused
            })
        };
        let left = values(ingress.close());
        let refused = emitter.join().unwrap();
        assert_eq!(left.is_empty(), refused);
        assert_eq!(ingress.seen(), CLOSED);
    });
}

/// A circuit: its ingress, and what it has got, which loom sees to it that one thread at a time touches.
struct Mailbox {
    ingress: Ingress,
    got: loom::cell::UnsafeCell<Vec<u64>>,
}

// SAFETY: `got` is the responsible thread's.
unsafe impl Sync for Mailbox {}
// SAFETY: as above.
unsafe impl Send for Mailbox {}

/// As an emission, the end of the circuit.
const END: u64 = 99;

impl Mailbox {
    fn new() -> Self {
        Self {
            ingress: Ingress::new(),
            got: loom::cell::UnsafeCell::new(Vec::new()),
        }
    }

    fn receive(&self, value: u64) {
        // SAFETY: the responsible thread's; loom reports it if there are two.
        self.got.with_mut(|got| unsafe { (*got).push(value) });
    }

    fn received(&self) -> Vec<u64> {
        // SAFETY: as above.
        self.got.with(|got| unsafe { (*got).clone() })
    }

    /// Runs it as a visit does, which the caller is responsible for.
    fn visit(&self) {
        loop {
            if self.ingress.seen() == BUSY && self.ingress.rest() {
                return;
            }
            let mut list = values(self.ingress.take()).into_iter();
            while let Some(value) = list.next() {
                if value == END {
                    values(self.ingress.close());
                    return;
                }
                self.receive(value);
            }
        }
    }

    /// Emits; runs it if nobody does. Whether it was taken.
    fn emit(&self, value: u64) -> bool {
        let own = node(value);
        // SAFETY: the node is ours, and again if it was refused.
        let found = unsafe { self.ingress.push(own) };
        match found {
            Found::Busy => {}
            Found::Idle => self.visit(),
            Found::Closed => {
                values(own);
            }
        }
        found != Found::Closed
    }

    /// What a worker does that runs this one and has nothing left but a value for another.
    fn hand_over(&self, other: &Self, value: u64) -> bool {
        if !other.ingress.begin() {
            let taken = other.emit(value);
            self.visit();
            return taken;
        }
        let rests = self.ingress.rest();
        other.receive(value);
        other.visit();
        if !rests {
            self.visit(); // it was put back
        }
        true
    }
}

fn bounded() -> loom::model::Builder {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3); // without a bound: hours
    orders
}

#[test]
fn a_value_that_is_handed_over_is_got_once_and_nothing_that_comes_in_is_lost() {
    bounded().check(|| {
        let mailboxes = Arc::new([Mailbox::new(), Mailbox::new()]);
        assert!(mailboxes[0].ingress.begin());
        let emitter = {
            let mailboxes = Arc::clone(&mailboxes);
            thread::spawn(move || {
                for value in [10, 11] {
                    mailboxes[0].emit(value);
                    mailboxes[1].emit(value);
                }
            })
        };
        mailboxes[0].hand_over(&mailboxes[1], 1);
        emitter.join().unwrap();
        let [from, to] = [0, 1].map(|it| mailboxes[it].received());
        assert_eq!(from, [10, 11]);
        assert_eq!(to.iter().filter(|it| **it == 1).count(), 1);
        let others: Vec<_> = to.into_iter().filter(|it| *it != 1).collect();
        assert_eq!(others, [10, 11]);
        assert!(mailboxes.iter().all(|it| it.ingress.seen() == IDLE));
    });
}

#[test]
fn two_that_hand_over_to_each_other_and_to_the_same_circuit_run_it_one_at_a_time() {
    bounded().check(|| {
        let mailboxes = Arc::new([Mailbox::new(), Mailbox::new(), Mailbox::new()]);
        assert!(mailboxes[0].ingress.begin());
        assert!(mailboxes[1].ingress.begin());
        let other = {
            let mailboxes = Arc::clone(&mailboxes);
            thread::spawn(move || {
                mailboxes[1].hand_over(&mailboxes[2], 2);
                assert!(mailboxes[1].emit(4));
            })
        };
        mailboxes[0].hand_over(&mailboxes[2], 1);
        assert!(mailboxes[1].emit(3));
        other.join().unwrap();
        for (mailbox, all) in [(1, [3, 4]), (2, [1, 2])] {
            let mut got = mailboxes[mailbox].received();
            got.sort_unstable();
            assert_eq!(got, all);
            assert_eq!(mailboxes[mailbox].ingress.seen(), IDLE);
        }
    });
}

#[test]
fn a_value_that_is_handed_over_to_a_circuit_that_ends_is_got_before_the_end_or_not_at_all() {
    bounded().check(|| {
        let mailboxes = Arc::new([Mailbox::new(), Mailbox::new()]);
        assert!(mailboxes[0].ingress.begin());
        let closer = {
            let mailboxes = Arc::clone(&mailboxes);
            thread::spawn(move || {
                if mailboxes[1].ingress.close_idle().is_err() {
                    mailboxes[1].emit(END);
                }
            })
        };
        let taken = mailboxes[0].hand_over(&mailboxes[1], 1);
        closer.join().unwrap();
        assert_eq!(mailboxes[1].ingress.seen(), CLOSED);
        let got = mailboxes[1].received();
        assert!(got.is_empty() || got == [1]);
        assert!(taken || got.is_empty());
        assert_eq!(mailboxes[0].ingress.seen(), IDLE);
    });
}

#[test]
fn a_permit_is_never_lost() {
    loom::model(|| {
        let parker = Arc::new(Parker::new());
        let said = Arc::new(AtomicBool::new(false));
        let other = {
            let (parker, said) = (Arc::clone(&parker), Arc::clone(&said));
            thread::spawn(move || {
                said.store(true, Ordering::Relaxed);
                parker.unpark();
            })
        };
        assert_eq!(parker.park(None), Parked::Woken);
        assert!(said.load(Ordering::Relaxed)); // what was written before is visible
        other.join().unwrap();
    });
}

/// One worker that parks and one thread that pushes, as in `parking`.
struct Workshop {
    parking: Parking,
    waits: AtomicU32, // the queue's size
    sleeper: std::cell::UnsafeCell<Sleeper>,
}

// SAFETY: the sleeper is used as `Parking` asks.
unsafe impl Sync for Workshop {}
// SAFETY: as above.
unsafe impl Send for Workshop {}

impl Workshop {
    fn new() -> Self {
        Self {
            parking: Parking::new(),
            waits: AtomicU32::new(0),
            sleeper: std::cell::UnsafeCell::new(Sleeper::new()),
        }
    }

    fn push(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        loom::sync::atomic::fence(Ordering::SeqCst);
        if self.parking.parked.load(Ordering::Relaxed) > 0
            && self.parking.searching.load(Ordering::Relaxed) == 0
        {
            self.parking.wake(|| {});
        }
    }

    /// Parks once; returns when there is work.
    fn park(&self) {
        let sleeper = self.sleeper.get();
        // SAFETY: this worker's sleeper, which lives as long as the workshop.
        unsafe {
            self.parking.search_end(sleeper);
            self.parking.enter(sleeper);
            if self.waits.load(Ordering::Relaxed) > 0 && self.parking.leave(sleeper) {
                return;
            }
            assert_eq!((*sleeper).parker.park(None), Parked::Woken);
        }
    }
}

#[test]
fn a_worker_that_parks_sees_what_is_pushed_or_is_woken() {
    loom::model(|| {
        let workshop = Arc::new(Workshop::new());
        let pusher = {
            let workshop = Arc::clone(&workshop);
            thread::spawn(move || workshop.push())
        };
        while workshop.waits.load(Ordering::Relaxed) == 0 {
            workshop.park(); // a wake-up that is lost leaves this here for ever, which loom reports
        }
        pusher.join().unwrap();
    });
}

#[test]
fn a_worker_that_searches_sees_what_is_pushed_meanwhile() {
    loom::model(|| {
        let workshop = Arc::new(Workshop::new());
        // SAFETY: this worker's.
        unsafe { workshop.parking.search_begin(workshop.sleeper.get()) };
        let pusher = {
            let workshop = Arc::clone(&workshop);
            thread::spawn(move || workshop.push())
        };
        if workshop.waits.load(Ordering::Relaxed) == 0 {
            workshop.park();
        }
        assert!(workshop.waits.load(Ordering::Relaxed) > 0);
        pusher.join().unwrap();
    });
}

#[test]
fn a_worker_leaves_or_is_taken_and_never_both() {
    loom::model(|| {
        let workshop = Arc::new(Workshop::new());
        let sleeper = workshop.sleeper.get();
        // SAFETY: this worker's.
        unsafe { workshop.parking.enter(sleeper) };
        let waker = {
            let workshop = Arc::clone(&workshop);
            thread::spawn(move || workshop.parking.wake(|| {}))
        };
        // SAFETY: this worker's.
        let left = unsafe { workshop.parking.leave(sleeper) };
        if !left {
            // SAFETY: this worker's.
            assert_eq!(unsafe { (*sleeper).parker.park(None) }, Parked::Woken);
        }
        assert_ne!(waker.join().unwrap(), left);
        assert_eq!(workshop.parking.parked.load(Ordering::Relaxed), 0);
    });
}

/// An object with a count of references, and memory that must be there when it is looked at.
struct Object {
    references: AtomicU32,
    memory: UnsafeCell<bool>,
}

#[test]
fn object_does_not_go_while_it_is_looked_at() {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let object = Arc::new(Object {
            references: AtomicU32::new(0), // its last reference has just gone
            memory: UnsafeCell::new(true),
        });
        let place = Arc::new(Place::new());
        place.set(Arc::as_ptr(&object) as *mut _);
        let lookers: Vec<_> = (0..1)
            .map(|_| {
                let (place, object) = (Arc::clone(&place), Arc::clone(&object));
                thread::spawn(move || {
                    place.look(|it| {
                        if !it.is_null() {
                            // SAFETY: loom tells of a write at the same time.
                            assert!(object.memory.with(|there| unsafe { *there }));
                            assert_eq!(object.references.load(Ordering::Relaxed), 0);
                        }
                    });
                })
            })
            .collect();
        place.set(null_mut());
        // SAFETY: as above.
        object.memory.with_mut(|there| unsafe { *there = false });
        for looker in lookers {
            looker.join().unwrap();
        }
    });
}

/// Emits to one circuit, and runs it if it was idle.
fn emit_to(ingress: &Ingress, touched: &Touched, bits: u64, runs: &AtomicU32) {
    // SAFETY: the node is ours.
    if unsafe { ingress.push(node(bits)) } == Found::Idle {
        touched.note();
        runs.fetch_add(1, Ordering::Release);
    } else {
        touched.note();
    }
}

/// Whether a wait finds the circuit busy; as `Population::barrier`.
fn finds_busy(ingress: &Ingress, touched: &Touched, looking: &Mutex<()>) -> bool {
    let mut found = false;
    let looks = looking.lock().unwrap();
    touched.look(|| {
        let seen = ingress.seen_in_order();
        found = seen != IDLE && seen != CLOSED;
        found
    });
    drop(looks);
    found
}

/// Nobody runs the circuit, so whoever waits after an emission of its own must find it busy.
#[test]
fn a_wait_finds_what_was_admitted_before_it() {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3); // without a bound: hours
    orders.check(|| {
        let shared = Arc::new((Ingress::new(), Touched::new(), Mutex::new(()), AtomicU32::new(0)));
        shared.1.note(); // left from what was done long ago
        let threads = [1, 2].map(|bits| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (ingress, touched, looking, runs) = &*shared;
                emit_to(ingress, touched, bits, runs);
                assert!(finds_busy(ingress, touched, looking), "emitter {bits} waits");
            })
        });
        let (ingress, touched, looking, runs) = &*shared;
        // One more waiter, which has emitted nothing and takes the flag away from the others.
        finds_busy(ingress, touched, looking);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(finds_busy(ingress, touched, looking), "whoever comes later waits");
        assert_eq!(runs.load(Ordering::Acquire), 1);
        assert_eq!(values(ingress.take()).len(), 2);
    });
}

/// A circuit that is run meanwhile: what a wait does not find busy is done.
#[test]
fn what_a_wait_does_not_find_busy_is_done() {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(|| {
        let shared = Arc::new((
            Ingress::new(),
            Touched::new(),
            Mutex::new(()),
            AtomicU32::new(0),
            AtomicU32::new(0),
        ));
        let emitter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (ingress, touched, looking, runs, done) = &*shared;
                emit_to(ingress, touched, 1, runs);
                if !finds_busy(ingress, touched, looking) {
                    assert_eq!(done.load(Ordering::Relaxed), 1);
                }
            })
        };
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (ingress, touched, looking, _, _) = &*shared;
                finds_busy(ingress, touched, looking);
            })
        };
        let (ingress, touched, looking, runs, done) = &*shared;
        while runs.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let got = values(ingress.take());
        done.fetch_add(u32::try_from(got.len()).unwrap(), Ordering::Relaxed);
        assert!(ingress.rest());
        emitter.join().unwrap();
        waiter.join().unwrap();
        assert!(!finds_busy(ingress, touched, looking));
    });
}
