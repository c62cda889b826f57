//! The type `_engine.Pipe`: what all pipes of beta are made of, and its `emit`.
//!
//! A Python class derives from it and from `substrates_base.Pipe`. It is written against the C API, because its
//! `emit` is what programs spend their time in: a method of one argument, with nothing between the interpreter
//! and this code.
//!
//! Who holds whom: a pipe holds its circuit's Python object, its receptor or its kernel, and the pipes that its
//! state refers to; the garbage collector sees all these. A value on its way holds the pipe, unless a kernel has
//! emitted it: then the pipe is kept by whoever holds it, and when nobody does any more, by its own finalizer,
//! until its circuit has done what it had accepted by then.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};

use pyo3::ffi;

use super::circuit::native_of;
use super::interpreter::{CALLABLES, Object, cache, call_none, call_one};
use super::types::{end_of_methods, method, new_type};
use crate::engine::circuit::{
    Admitted, Circuit, Making, admit, circuit_host, circuit_keep, circuit_release, keep, pipe_drop, pipe_new,
    pipe_of, pipe_state,
};
use crate::engine::is_forked;
use crate::engine::kernel::{Kernel, Slot};
use crate::engine::scheduler::this_worker;
use crate::engine::worker::push;

/// What a pipe takes, and what receives.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Receptor = 0,
    ReceptorInt64 = 1,
    ReceptorFloat64 = 2,
    KernelInt64 = 3,
    KernelFloat64 = 4,
}

/// A pipe.
#[repr(C)]
pub(crate) struct PipeObject {
    head: ffi::PyObject,
    circuit: Object,
    name: Object,
    subject: Object,
    weak: Object,
    /// What receives; of a kernel's pipe the `Kernel`, for reports.
    pub(crate) receptor: Object,
    /// Keeps the pipes alive that the state refers to.
    targets: Object,
    /// Referenced.
    native: *mut Circuit,
    /// 0: it has none, so no kernel emits to it.
    handle: AtomicU64,
    /// The number of its name.
    number: u32,
    pub(crate) kind: Kind,
    /// Its pipe in the engine ends with a population's, and not with this.
    is_member: bool,
    /// Bytes of its state.
    size: u64,
}

impl PipeObject {
    /// Its circuit's Python object; borrowed.
    pub(crate) fn circuit(&self) -> Object {
        self.circuit
    }
}

/// How many there are.
pub(crate) static PIPES: AtomicI64 = AtomicI64::new(0);
static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());

/// The type `_engine.Pipe`.
pub(crate) fn pipe_type() -> *mut ffi::PyTypeObject {
    TYPE.load(Ordering::Relaxed)
}

unsafe fn none() -> Object {
    // SAFETY: None is there as long as the interpreter.
    unsafe {
        let none = ffi::Py_None();
        ffi::Py_INCREF(none);
        none
    }
}

#[cold]
#[inline(never)]
unsafe fn refuse_absent() -> Object {
    // SAFETY: the thread holds the interpreter.
    unsafe { call_one(CALLABLES.admit[0].load(Ordering::Acquire), ffi::Py_None()) }
}

#[cold]
#[inline(never)]
pub(crate) unsafe fn refuse_forked() -> Object {
    // SAFETY: the thread holds the interpreter.
    unsafe { call_none(CALLABLES.check_process.load(Ordering::Acquire)) }
}

/// Admits a slot that owns what it refers to.
#[inline(always)]
unsafe fn give(pipe: *mut PipeObject, slot: Slot) -> Admitted {
    // SAFETY: the pipe holds its circuit.
    unsafe {
        let worker = this_worker();
        let circuit = (*pipe).native;
        if !worker.is_null() && (*worker).running() == circuit {
            if push(worker, slot) {
                Admitted::Yes
            } else {
                Admitted::Memory
            }
        } else {
            admit(worker, cache(), circuit, slot)
        }
    }
}

unsafe extern "C-unwind" fn emit(object: Object, value: Object) -> Object {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: a method of this type; the thread holds the interpreter.
    unsafe {
        if (*pipe).kind != Kind::Receptor {
            return emit_scalar(pipe, value);
        }
        if value == ffi::Py_None() {
            return refuse_absent();
        }
        if is_forked() {
            return refuse_forked();
        }
        ffi::Py_INCREF(value);
        ffi::Py_INCREF(object);
        let admitted = give(
            pipe,
            Slot {
                pipe: object as u64,
                bits: value as u64,
            },
        );
        if admitted != Admitted::Yes {
            return not_admitted(object, value, admitted);
        }
        none()
    }
}

#[cold]
#[inline(never)]
unsafe fn not_admitted(object: Object, value: Object, admitted: Admitted) -> Object {
    // SAFETY: the references are the slot's, which nobody took.
    unsafe {
        ffi::Py_DECREF(value);
        ffi::Py_DECREF(object);
        if admitted == Admitted::Memory {
            ffi::PyErr_NoMemory()
        } else {
            none()
        }
    }
}

unsafe fn emit_scalar(pipe: *mut PipeObject, value: Object) -> Object {
    // SAFETY: as `emit`.
    unsafe {
        let kind = (*pipe).kind;
        let is_float = matches!(kind, Kind::ReceptorFloat64 | Kind::KernelFloat64);
        // Exact numbers need no conversion; the lane's own does the others, and says what is wrong.
        let mut overflow: c_int = 0;
        let mut number: i64 = 0;
        let mut owned = null_mut();
        let mut exact = value;
        let plain = if is_float {
            ffi::PyFloat_CheckExact(value) != 0
        } else {
            ffi::PyLong_CheckExact(value) != 0 && {
                number = ffi::PyLong_AsLongLongAndOverflow(value, &raw mut overflow);
                overflow == 0
            }
        };
        if !plain {
            owned = call_one(
                CALLABLES.admit[1 + usize::from(is_float)].load(Ordering::Acquire),
                value,
            );
            if owned.is_null() {
                return owned;
            }
            exact = owned;
            if !is_float {
                number = ffi::PyLong_AsLongLongAndOverflow(owned, &raw mut overflow);
            }
        }
        if is_forked() {
            ffi::Py_XDECREF(owned);
            return refuse_forked();
        }
        if matches!(kind, Kind::KernelInt64 | Kind::KernelFloat64) {
            let bits = if is_float {
                ffi::PyFloat_AS_DOUBLE(exact).to_bits()
            } else {
                u64::from_ne_bytes(number.to_ne_bytes())
            };
            ffi::Py_XDECREF(owned);
            let handle = (*pipe).handle.load(Ordering::Relaxed);
            return match give(pipe, Slot { pipe: handle, bits }) {
                Admitted::Memory => ffi::PyErr_NoMemory(),
                _ => none(),
            };
        }
        if owned.is_null() {
            ffi::Py_INCREF(value);
        }
        let object: Object = pipe.cast();
        ffi::Py_INCREF(object);
        match give(
            pipe,
            Slot {
                pipe: object as u64,
                bits: exact as u64,
            },
        ) {
            Admitted::Yes => none(),
            other => not_admitted(object, exact, other),
        }
    }
}

/// Runs the pipe's receptor as a job: without a value.
unsafe extern "C-unwind" fn submit(object: Object, _unused: Object) -> Object {
    // SAFETY: as `emit`.
    unsafe {
        if is_forked() {
            return refuse_forked();
        }
        ffi::Py_INCREF(object);
        match give(
            object.cast(),
            Slot {
                pipe: object as u64,
                bits: 0,
            },
        ) {
            Admitted::Yes => none(),
            other => {
                ffi::Py_DECREF(object);
                if other == Admitted::Memory {
                    ffi::PyErr_NoMemory()
                } else {
                    none()
                }
            }
        }
    }
}

/// The handle, made on first use for a pipe that a Python callable receives from.
unsafe extern "C-unwind" fn handle(object: Object, _unused: Object) -> Object {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: as `emit`.
    unsafe {
        let mut handle = (*pipe).handle.load(Ordering::Acquire);
        if handle == 0 && matches!((*pipe).kind, Kind::ReceptorInt64 | Kind::ReceptorFloat64) {
            let making = Making {
                kernel: None,
                object: object.cast(),
                name: (*pipe).number,
                state: &[],
                own: 0,
            };
            handle = pipe_new((*pipe).native, &making);
            if handle == 0 {
                return ffi::PyErr_NoMemory();
            }
            let first = (*pipe)
                .handle
                .compare_exchange(0, handle, Ordering::AcqRel, Ordering::Acquire);
            if let Err(other) = first {
                pipe_drop(cache(), handle);
                handle = other;
            }
        }
        ffi::PyLong_FromUnsignedLongLong(handle)
    }
}

/// The state's memory, as a view that holds the pipe.
unsafe extern "C-unwind" fn memory(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe { ffi::PyMemoryView_FromObject(object) }
}

unsafe extern "C" fn traverse(object: Object, visit: ffi::visitproc, argument: *mut c_void) -> c_int {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: called by the garbage collector.
    unsafe {
        let held = [
            ffi::Py_TYPE(object).cast(),
            (*pipe).circuit,
            (*pipe).name,
            (*pipe).subject,
            (*pipe).receptor,
            (*pipe).targets,
        ];
        for each in held {
            if !each.is_null() {
                let result = visit(each, argument);
                if result != 0 {
                    return result;
                }
            }
        }
    }
    0
}

unsafe fn let_go(place: *mut Object) {
    // SAFETY: a field of ours; empty before what it held may look at it.
    unsafe {
        let held = place.replace(null_mut());
        ffi::Py_XDECREF(held);
    }
}

unsafe extern "C" fn clear(object: Object) -> c_int {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: called by the garbage collector, or at the end. The circuit stays until the end: others in the same
    // garbage may still ask for it, and what breaks a cycle are the others.
    unsafe {
        let_go(&raw mut (*pipe).receptor);
        let_go(&raw mut (*pipe).targets);
        let_go(&raw mut (*pipe).subject);
    }
    0
}

/// What kernels have emitted to this pipe, or will emit from it, is still delivered: it lives until then.
unsafe extern "C" fn finalize(object: Object) {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: called once, when nobody refers to it any more.
    unsafe {
        let handle = (*pipe).handle.load(Ordering::Relaxed);
        if (*pipe).is_member {
            if !is_forked() {
                // Here, since the population's pipes are still there, which this holds.
                (*pipe_of(handle)).object.lose(object.cast());
            }
            return;
        }
        let has_receptor = matches!((*pipe).kind, Kind::ReceptorInt64 | Kind::ReceptorFloat64);
        if handle != 0 && (has_receptor || !(*pipe).targets.is_null()) {
            ffi::Py_INCREF(object);
            if !keep(cache(), (*pipe).native, object.cast()) {
                // Not by Py_DECREF, which would end it here.
                unresurrect(object);
            }
        }
    }
}

/// Takes back a reference that a finalizer has taken.
unsafe fn unresurrect(object: Object) {
    // SAFETY: another reference is there while a finalizer runs.
    unsafe { ffi::Py_DECREF(object) }
}

unsafe extern "C" fn dealloc(object: Object) {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: nobody refers to it any more.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.cast());
        if !(*pipe).weak.is_null() {
            ffi::PyObject_ClearWeakRefs(object);
        }
        let native = (*pipe).native;
        if !native.is_null() && !is_forked() {
            let handle = (*pipe).handle.swap(0, Ordering::Relaxed);
            if handle != 0 && !(*pipe).is_member {
                pipe_drop(cache(), handle);
            }
            circuit_release(native);
        }
        if !(*pipe).is_member {
            PIPES.fetch_sub(1, Ordering::Relaxed);
        }
        clear(object);
        let_go(&raw mut (*pipe).name);
        let_go(&raw mut (*pipe).circuit);
        let kind = ffi::Py_TYPE(object);
        ffi::PyObject_GC_Del(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}

/// The state's memory, writable.
unsafe extern "C" fn buffer(object: Object, view: *mut ffi::Py_buffer, flags: c_int) -> c_int {
    let pipe: *mut PipeObject = object.cast();
    // SAFETY: the view holds the pipe, which holds its state.
    unsafe {
        if !matches!((*pipe).kind, Kind::KernelInt64 | Kind::KernelFloat64) {
            ffi::PyErr_SetString(
                ffi::PyExc_BufferError,
                c"a pipe without a kernel has no state".as_ptr(),
            );
            (*view).obj = null_mut();
            return -1;
        }
        let state = pipe_state((*pipe).handle.load(Ordering::Relaxed));
        let size = ffi::Py_ssize_t::try_from((*pipe).size).unwrap_or(0);
        ffi::PyBuffer_FillInfo(view, object, state.cast(), size, 0, flags)
    }
}

// -- making

unsafe fn pipe_alloc(kind: Object, circuit: Object, native: *mut Circuit, name: Object) -> *mut PipeObject {
    // SAFETY: a class of ours, of which all is zero at first.
    unsafe {
        let pipe: *mut PipeObject = ffi::PyType_GenericAlloc(kind.cast(), 0).cast();
        if !pipe.is_null() {
            #[cfg(Py_GIL_DISABLED)]
            ffi::PyUnstable_EnableTryIncRef(pipe.cast());
            PIPES.fetch_add(1, Ordering::Relaxed);
            ffi::Py_INCREF(circuit);
            (*pipe).circuit = circuit;
            ffi::Py_INCREF(name);
            (*pipe).name = name;
            circuit_keep(native);
            (*pipe).native = native;
        }
        pipe
    }
}

pub(crate) unsafe fn wrong(what: &std::ffi::CStr) -> Object {
    // SAFETY: the thread holds the interpreter.
    unsafe {
        ffi::PyErr_SetString(ffi::PyExc_TypeError, what.as_ptr());
    }
    null_mut()
}

unsafe fn is_class(kind: Object) -> bool {
    // SAFETY: an object.
    unsafe { ffi::PyType_Check(kind) != 0 && ffi::PyType_IsSubtype(kind.cast(), pipe_type()) != 0 }
}

/// `receptor_pipe(class, circuit, native, name, number, receive, kind)`.
pub(crate) unsafe extern "C-unwind" fn receptor_pipe(
    _module: Object,
    arguments: *const Object,
    count: ffi::Py_ssize_t,
) -> Object {
    // SAFETY: called by the interpreter with `count` arguments.
    unsafe {
        if count != 7 || !is_class(*arguments) {
            return wrong(c"receptor_pipe(class, circuit, native, name, number, receive, kind)");
        }
        let Some(native) = native_of(*arguments.add(2)) else {
            return wrong(c"receptor_pipe: native is no circuit");
        };
        let number = ffi::PyLong_AsLong(*arguments.add(4));
        let kind = ffi::PyLong_AsLong(*arguments.add(6));
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        circuit_host(native);
        let pipe = pipe_alloc(*arguments, *arguments.add(1), native, *arguments.add(3));
        if !pipe.is_null() {
            let receive = *arguments.add(5);
            ffi::Py_INCREF(receive);
            (*pipe).receptor = receive;
            (*pipe).number = u32::try_from(number).unwrap_or(0);
            (*pipe).kind = match kind {
                1 => Kind::ReceptorInt64,
                2 => Kind::ReceptorFloat64,
                _ => Kind::Receptor,
            };
        }
        pipe.cast()
    }
}

/// `kernel_pipe(class, circuit, native, name, number, kernel, address, state, own, targets, cell, target, kind)`.
pub(crate) unsafe extern "C-unwind" fn kernel_pipe(
    _module: Object,
    arguments: *const Object,
    count: ffi::Py_ssize_t,
) -> Object {
    // SAFETY: called by the interpreter with `count` arguments.
    unsafe {
        if count != 13 || !is_class(*arguments) || ffi::PyBytes_Check(*arguments.add(7)) == 0 {
            return wrong(
                c"kernel_pipe(class, circuit, native, name, number, kernel, address, state, own, targets, cell, target, kind)",
            );
        }
        let Some(native) = native_of(*arguments.add(2)) else {
            return wrong(c"kernel_pipe: native is no circuit");
        };
        let number = ffi::PyLong_AsLong(*arguments.add(4));
        let address = ffi::PyLong_AsUnsignedLongLong(*arguments.add(6));
        let own = ffi::PyLong_AsUnsignedLongLong(*arguments.add(8));
        let cell = ffi::PyLong_AsLong(*arguments.add(10));
        let target = ffi::PyLong_AsUnsignedLongLong(*arguments.add(11));
        let kind = ffi::PyLong_AsLong(*arguments.add(12));
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let state = *arguments.add(7);
        let size = usize::try_from(ffi::PyBytes_Size(state)).unwrap_or(0);
        let bytes = std::slice::from_raw_parts(ffi::PyBytes_AsString(state).cast::<u8>(), size);
        // SAFETY: the address of a function, as the kernel says; 0 is refused where kernels are made.
        let kernel: Option<Kernel> = std::mem::transmute::<usize, Option<Kernel>>(address as usize);
        let making = Making {
            kernel: Some(kernel.unwrap_or(discard)),
            object: null_mut(),
            name: u32::try_from(number).unwrap_or(0),
            state: bytes,
            own,
        };
        let pipe = pipe_alloc(*arguments, *arguments.add(1), native, *arguments.add(3));
        if pipe.is_null() {
            return null_mut();
        }
        (*pipe).kind = if kind == 4 {
            Kind::KernelFloat64
        } else {
            Kind::KernelInt64
        };
        (*pipe).number = making.name;
        (*pipe).size = size as u64;
        for (place, held) in [
            (&raw mut (*pipe).receptor, *arguments.add(5)),
            (&raw mut (*pipe).targets, *arguments.add(9)),
        ] {
            if held != ffi::Py_None() {
                ffi::Py_INCREF(held);
                *place = held;
            }
        }
        let handle = pipe_new(native, &making);
        if handle == 0 {
            ffi::Py_DECREF(pipe.cast());
            return ffi::PyErr_NoMemory();
        }
        (*pipe_of(handle)).object.set(pipe.cast());
        (*pipe).handle.store(handle, Ordering::Release);
        if target != 0 {
            let cells: *mut u64 = pipe_state(handle).cast();
            if let Ok(cell) = usize::try_from(cell) {
                if cell < size / 8 {
                    cells.add(cell).write_unaligned(target);
                }
            }
        }
        pipe.cast()
    }
}

/// `member_pipe(class, circuit, native, name, number, kernel, handle, size, kind)`: an object for a member's pipe,
/// which lives as long as the population's pipes, and they as long as the caller sees to it.
pub(crate) unsafe extern "C-unwind" fn member_pipe(
    _module: Object,
    arguments: *const Object,
    count: ffi::Py_ssize_t,
) -> Object {
    // SAFETY: called by the interpreter with `count` arguments.
    unsafe {
        if count != 9 || !is_class(*arguments) {
            return wrong(c"member_pipe(class, circuit, native, name, number, kernel, handle, size, kind)");
        }
        let Some(native) = native_of(*arguments.add(2)) else {
            return wrong(c"member_pipe: native is no circuit");
        };
        let number = ffi::PyLong_AsLong(*arguments.add(4));
        let handle = ffi::PyLong_AsUnsignedLongLong(*arguments.add(6));
        let size = ffi::PyLong_AsUnsignedLongLong(*arguments.add(7));
        let kind = ffi::PyLong_AsLong(*arguments.add(8));
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let pipe = pipe_alloc(*arguments, *arguments.add(1), native, *arguments.add(3));
        if pipe.is_null() {
            return null_mut();
        }
        PIPES.fetch_sub(1, Ordering::Relaxed); // the population's count it
        (*pipe).is_member = true;
        (*pipe).kind = if kind == 4 {
            Kind::KernelFloat64
        } else {
            Kind::KernelInt64
        };
        (*pipe).number = u32::try_from(number).unwrap_or(0);
        (*pipe).size = size;
        let kernel = *arguments.add(5);
        ffi::Py_INCREF(kernel);
        (*pipe).receptor = kernel;
        (*pipe_of(handle)).object.set(pipe.cast());
        (*pipe).handle.store(handle, Ordering::Release);
        pipe.cast()
    }
}

/// A kernel of the engine's own: ignores.
pub(crate) unsafe extern "C" fn discard(
    _context: *mut crate::engine::kernel::Context,
    _state: *mut c_void,
    _bits: u64,
) -> i32 {
    0
}

/// A kernel of the engine's own: emits to the handles in the state, of which the first cell tells the number.
pub(crate) unsafe extern "C" fn fan_out(
    context: *mut crate::engine::kernel::Context,
    state: *mut c_void,
    bits: u64,
) -> i32 {
    let cells: *const u64 = state.cast();
    // SAFETY: the state is as made by `forwarding_pipe`.
    unsafe {
        for index in 1..=*cells {
            if (*context).tail == (*context).limit {
                let fault = ((*context).grow)(context);
                if fault != 0 {
                    return fault;
                }
            }
            let slot = (*context).tail;
            (*slot).pipe = *cells.add(usize::try_from(index).unwrap_or(0));
            (*slot).bits = bits;
            (*context).tail = slot.add(1);
        }
    }
    0
}

// -- the type

const fn member(name: &'static std::ffi::CStr, kind: c_int, offset: usize, flags: c_int) -> ffi::PyMemberDef {
    ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: kind,
        offset: offset as ffi::Py_ssize_t,
        flags,
        doc: std::ptr::null(),
    }
}

const OBJECT: c_int = 6; // T_OBJECT: None where nothing is held

/// Makes the type; null: an exception is set.
pub(crate) unsafe fn make_type() -> Object {
    let members = Box::leak(Box::new([
        member(c"_circuit", OBJECT, offset_of!(PipeObject, circuit), 0),
        member(c"_name", OBJECT, offset_of!(PipeObject, name), 0),
        member(c"_subject", OBJECT, offset_of!(PipeObject, subject), 0),
        member(
            c"_receive",
            OBJECT,
            offset_of!(PipeObject, receptor),
            ffi::Py_READONLY,
        ),
        member(c"_targets", OBJECT, offset_of!(PipeObject, targets), 0),
        member(
            c"__weaklistoffset__",
            ffi::Py_T_PYSSIZET,
            offset_of!(PipeObject, weak),
            ffi::Py_READONLY,
        ),
        ffi::PyMemberDef::default(),
    ]));
    let methods = Box::leak(Box::new([
        method(c"emit", emit, ffi::METH_O, c"See `substrates.Pipe.emit`."),
        method(
            c"_submit",
            submit,
            ffi::METH_NOARGS,
            c"Have the receptor called without a value, in its turn.",
        ),
        method(
            c"_handle",
            handle,
            ffi::METH_NOARGS,
            c"Return the handle by which kernels emit to this pipe.",
        ),
        method(
            c"_memory",
            memory,
            ffi::METH_NOARGS,
            c"Return the memory of the kernel's state, writable.",
        ),
        end_of_methods(),
    ]));
    // SAFETY: the tables live for ever.
    unsafe {
        new_type(
            c"substrates_beta._engine.Pipe",
            c"What all pipes of beta are made of.",
            size_of::<PipeObject>(),
            ffi::Py_TPFLAGS_BASETYPE | ffi::Py_TPFLAGS_HAVE_GC,
            &[
                (ffi::Py_tp_members, members.as_mut_ptr().cast()),
                (ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
                (ffi::Py_tp_dealloc, dealloc as *mut c_void),
                (ffi::Py_tp_traverse, traverse as *mut c_void),
                (ffi::Py_tp_clear, clear as *mut c_void),
                (ffi::Py_tp_finalize, finalize as *mut c_void),
                (ffi::Py_bf_getbuffer, buffer as *mut c_void),
            ],
            &TYPE,
        )
    }
}
