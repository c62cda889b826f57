//! The type `_engine.Circuit`: a circuit's part in the engine, held by its Python object.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use pyo3::ffi;

use super::interpreter::{Object, attach, cache, detach};
use super::pipe::refuse_forked;
use super::types::{end_of_methods, method, new_type};
use crate::engine::circuit::{
    Admitted, Circuit, circuit_close, circuit_drop, circuit_keep, circuit_new, circuit_release,
};
use crate::engine::events::{Asked, Barrier, Waited, barrier};
use crate::engine::is_forked;
use crate::engine::parker::clock_now_ns;
use crate::engine::scheduler::{Blocking, about_to_block, this_worker};

#[repr(C)]
struct CircuitObject {
    head: ffi::PyObject,
    /// Referenced.
    native: *mut Circuit,
    /// It ends with its population, and not with this.
    is_member: bool,
}

static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());

/// The longest stay in the engine while waiting, so that signals are handled whichever thread they reach.
const PATIENCE_NS: i64 = 100_000_000;

/// The circuit of an `_engine.Circuit`.
#[inline]
pub(crate) unsafe fn native_of(object: Object) -> Option<*mut Circuit> {
    // SAFETY: an object; of this type, if its type says so.
    unsafe {
        if ffi::Py_TYPE(object) == TYPE.load(Ordering::Relaxed) {
            Some((*object.cast::<CircuitObject>()).native)
        } else {
            None
        }
    }
}

unsafe fn own(object: Object) -> *mut Circuit {
    // SAFETY: a method of this type.
    unsafe { (*object.cast::<CircuitObject>()).native }
}

/// `circuit(number)`: a circuit with a name of this number.
pub(crate) unsafe extern "C-unwind" fn circuit(_module: Object, number: Object) -> Object {
    // SAFETY: called by the interpreter.
    unsafe {
        let number = ffi::PyLong_AsLong(number);
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let native = circuit_new(u32::try_from(number).unwrap_or(0));
        if native.is_null() {
            return ffi::PyErr_NoMemory();
        }
        let object = ffi::PyType_GenericAlloc(TYPE.load(Ordering::Relaxed), 0);
        if object.is_null() {
            circuit_drop(cache(), native);
        } else {
            (*object.cast::<CircuitObject>()).native = native;
        }
        object
    }
}

/// A member of a population.
///
/// # Safety
/// `native` is referenced.
pub(crate) unsafe fn member(native: *mut Circuit) -> Object {
    // SAFETY: as promised.
    unsafe {
        let object: *mut CircuitObject = ffi::PyType_GenericAlloc(TYPE.load(Ordering::Relaxed), 0).cast();
        if !object.is_null() {
            circuit_keep(native);
            (*object).native = native;
            (*object).is_member = true;
        }
        object.cast()
    }
}

unsafe extern "C" fn dealloc(object: Object) {
    // SAFETY: nobody refers to it any more.
    unsafe {
        if !(*object.cast::<CircuitObject>()).is_member {
            circuit_drop(cache(), own(object));
        } else if !is_forked() {
            circuit_release(own(object));
        }
        let kind = ffi::Py_TYPE(object);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}

unsafe extern "C-unwind" fn close(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        if circuit_close(cache(), own(object)) == Admitted::Memory {
            return ffi::PyErr_NoMemory();
        }
        ffi::Py_INCREF(ffi::Py_None());
        ffi::Py_None()
    }
}

pub(crate) unsafe fn boolean(it: bool) -> Object {
    // SAFETY: the two are there as long as the interpreter.
    unsafe {
        let it = if it { ffi::Py_True() } else { ffi::Py_False() };
        ffi::Py_INCREF(it);
        it
    }
}

unsafe extern "C-unwind" fn inside(object: Object, _unused: Object) -> Object {
    let worker = this_worker();
    // SAFETY: a method of this type; the worker is the calling thread's.
    unsafe { boolean(!worker.is_null() && (*worker).running() == own(object)) }
}

/// Says whether the time was taken for the value from outside that is being delivered.
unsafe extern "C-unwind" fn timed(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type, in the circuit's context.
    unsafe { boolean((*own(object)).timed()) }
}

/// Notes that it was.
unsafe extern "C-unwind" fn note_time(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type, in the circuit's context.
    unsafe {
        (*own(object)).note_time();
        ffi::Py_INCREF(ffi::Py_None());
        ffi::Py_None()
    }
}

/// Says whether it takes nothing more.
unsafe extern "C-unwind" fn is_closing(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe { boolean((*own(object)).is_closing()) }
}

unsafe extern "C-unwind" fn has_ended(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe { boolean((*own(object)).has_ended()) }
}

enum Reached {
    Yes,
    Late,
    Raised,
}

/// Waits without the interpreter; nothing that is dropped lives while it comes back (see `interpreter`).
unsafe fn wait_for(barrier: &Barrier, timeout_ns: i64) -> Reached {
    // SAFETY: the thread holds the interpreter.
    unsafe {
        let deadline = if timeout_ns < 0 {
            i64::MAX
        } else {
            clock_now_ns().saturating_add(timeout_ns)
        };
        loop {
            let left = deadline.saturating_sub(clock_now_ns()).clamp(0, PATIENCE_NS);
            let detached = detach();
            let waited = barrier.wait(Duration::from_nanos(u64::try_from(left).unwrap_or(0)));
            attach(detached);
            if waited == Waited::Done {
                return Reached::Yes;
            }
            if ffi::PyErr_CheckSignals() != 0 {
                return Reached::Raised;
            }
            if is_forked() && refuse_forked().is_null() {
                return Reached::Raised; // by a signal handler
            }
            if clock_now_ns() >= deadline {
                return Reached::Late;
            }
        }
    }
}

/// `barrier(timeout_ns)`: waits until all is done that was accepted; negative: without limit. False: it is late.
unsafe extern "C-unwind" fn wait(object: Object, timeout_ns: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        let timeout_ns = ffi::PyLong_AsLongLong(timeout_ns);
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let on_its_way = match barrier(cache(), own(object), false) {
            Asked::Waits(it) => std::mem::ManuallyDrop::new(it),
            Asked::Nothing => return boolean(true),
            Asked::Memory => return ffi::PyErr_NoMemory(),
        };
        finish_wait(on_its_way, timeout_ns)
    }
}

/// Waits at a barrier that is on its way, and tells whether its turn came in time.
pub(crate) unsafe fn finish_wait(on_its_way: std::mem::ManuallyDrop<Barrier>, timeout_ns: i64) -> Object {
    // SAFETY: the thread holds the interpreter.
    unsafe {
        let blocking = std::mem::ManuallyDrop::new(about_to_block());
        let reached = wait_for(&on_its_way, timeout_ns);
        finish(on_its_way, blocking);
        match reached {
            Reached::Yes => boolean(true),
            Reached::Late => boolean(false),
            Reached::Raised => null_mut(),
        }
    }
}

fn finish(barrier: std::mem::ManuallyDrop<Barrier>, blocking: std::mem::ManuallyDrop<Blocking>) {
    drop(std::mem::ManuallyDrop::into_inner(barrier));
    drop(std::mem::ManuallyDrop::into_inner(blocking));
}

/// `probe()`: when a probe had its place in the order and when its turn came; None: the circuit has ended.
unsafe extern "C-unwind" fn probe(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        let on_its_way = match barrier(cache(), own(object), true) {
            Asked::Waits(it) => std::mem::ManuallyDrop::new(it),
            Asked::Nothing => {
                ffi::Py_INCREF(ffi::Py_None());
                return ffi::Py_None();
            }
            Asked::Memory => return ffi::PyErr_NoMemory(),
        };
        let enqueued_ns = clock_now_ns();
        let blocking = std::mem::ManuallyDrop::new(about_to_block());
        let reached = wait_for(&on_its_way, -1);
        let turn_ns = on_its_way.turn_ns();
        finish(on_its_way, blocking);
        if matches!(reached, Reached::Raised) {
            return null_mut();
        }
        if turn_ns == 0 {
            ffi::Py_INCREF(ffi::Py_None());
            return ffi::Py_None();
        }
        let pair = ffi::PyTuple_New(2);
        let first = ffi::PyLong_FromLongLong(enqueued_ns);
        let second = ffi::PyLong_FromLongLong(turn_ns.max(enqueued_ns));
        if pair.is_null() || first.is_null() || second.is_null() {
            return null_mut();
        }
        ffi::PyTuple_SetItem(pair, 0, first);
        ffi::PyTuple_SetItem(pair, 1, second);
        pair
    }
}

/// Makes the type; null: an exception is set.
pub(crate) unsafe fn make_type() -> Object {
    let methods = Box::leak(Box::new([
        method(c"close", close, ffi::METH_NOARGS, c"Queue the end behind all accepted work."),
        method(c"inside", inside, ffi::METH_NOARGS, c"Tell whether the calling thread runs this circuit."),
        method(c"timed", timed, ffi::METH_NOARGS, c"Tell whether the time was noted for the value from outside that is being delivered."),
        method(c"note_time", note_time, ffi::METH_NOARGS, c"Note that the time was taken."),
        method(c"is_closing", is_closing, ffi::METH_NOARGS, c"Tell whether it takes nothing more."),
        method(c"has_ended", has_ended, ffi::METH_NOARGS, c"Tell whether its end has come."),
        method(c"wait", wait, ffi::METH_O, c"Wait until all work accepted before is done, so many nanoseconds at most; -1: without limit. False: it is late."),
        method(c"probe", probe, ffi::METH_NOARGS, c"Return when a probe had its place and when its turn came; None once the circuit has ended."),
        end_of_methods(),
    ]));
    // SAFETY: the tables live for ever.
    unsafe {
        new_type(
            c"substrates_beta._engine.Circuit",
            c"A circuit's part in the engine.",
            size_of::<CircuitObject>(),
            0,
            &[
                (ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
                (ffi::Py_tp_dealloc, dealloc as *mut c_void),
            ],
            &TYPE,
        )
    }
}
