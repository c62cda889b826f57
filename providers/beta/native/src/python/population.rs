//! The types `_engine.Population` and `_engine.Pipes`: what a population has in the engine.
//!
//! Pipes hold their population, so it is dropped behind them. A third type stands for their region alone, so that an
//! array over it keeps the memory and nothing else.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

use pyo3::ffi;

use super::circuit::{boolean, finish_wait, member};
use super::interpreter::{Object, attach, detach};
use super::pipe::{PIPES, discard, wrong};
use super::types::{end_of_methods, function, method, new_type};
use crate::engine::circuit::{Admitted, Making};
use crate::engine::events::Asked;
use crate::engine::is_forked;
use crate::engine::kernel::Kernel;
use crate::engine::population::{Chosen, Pipes, Population, Values};
use crate::engine::region::Region;
use crate::engine::scheduler::this_worker;

#[repr(C)]
struct PopulationObject {
    head: ffi::PyObject,
    native: *mut Population,
}

#[repr(C)]
struct PipesObject {
    head: ffi::PyObject,
    native: *mut Pipes,
    /// A `PopulationObject`, held.
    population: Object,
    /// A `RegionObject`, held.
    region: Object,
}

#[repr(C)]
struct RegionObject {
    head: ffi::PyObject,
    /// Referenced.
    native: *mut Region,
}

static POPULATION: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());
static PIPES_TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());
static REGION: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());

/// Members of populations that exist.
pub(crate) static MEMBERS: AtomicI64 = AtomicI64::new(0);

/// Below so many elements, giving the interpreter up costs more than it lets others do.
const DETACHED: usize = 256;

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Does something without the interpreter if it is much. What it makes must not need to be dropped: the interpreter
/// may end the thread when it comes back.
unsafe fn detached<R: Copy>(size: usize, act: impl FnOnce() -> R) -> R {
    if size < DETACHED {
        return act();
    }
    // SAFETY: the thread holds the interpreter.
    unsafe {
        let state = detach();
        let result = act();
        attach(state);
        result
    }
}

unsafe fn native<'a>(object: Object) -> &'a Population {
    // SAFETY: a method of this type, which has one as long as it lives.
    unsafe { &*(*object.cast::<PopulationObject>()).native }
}

/// `population(count, number)`: circuits with a name of this number.
pub(crate) unsafe extern "C-unwind" fn population(
    _module: Object,
    arguments: *const Object,
    count: ffi::Py_ssize_t,
) -> Object {
    // SAFETY: called by the interpreter with `count` arguments.
    unsafe {
        if count != 2 {
            return wrong(c"population(count, number)");
        }
        let size = ffi::PyLong_AsSize_t(*arguments);
        let number = ffi::PyLong_AsLong(*arguments.add(1));
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let object = ffi::PyType_GenericAlloc(POPULATION.load(Ordering::Relaxed), 0);
        if object.is_null() {
            return object;
        }
        let name = u32::try_from(number).unwrap_or(0);
        let made = detached(size, || Population::new(size, name).map(Box::into_raw));
        let Some(made) = made else {
            ffi::Py_DECREF(object);
            return ffi::PyErr_NoMemory();
        };
        (*object.cast::<PopulationObject>()).native = made;
        MEMBERS.fetch_add(signed(size), Ordering::Relaxed);
        object
    }
}

unsafe extern "C" fn population_dealloc(object: Object) {
    // SAFETY: nobody refers to it any more.
    unsafe {
        let native = (*object.cast::<PopulationObject>()).native;
        if !native.is_null() {
            MEMBERS.fetch_sub(signed((*native).count()), Ordering::Relaxed);
            drop(Box::from_raw(native));
        }
        free(object);
    }
}

unsafe fn free(object: Object) {
    // SAFETY: at the end of an object's life.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}

/// `circuit(index)`: the member's circuit, which stays a member's: the end of what this returns is not its own.
unsafe extern "C-unwind" fn circuit(object: Object, index: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        let population = native(object);
        let index = ffi::PyLong_AsSize_t(index);
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        if index >= population.count() {
            ffi::PyErr_SetNone(ffi::PyExc_IndexError);
            return null_mut();
        }
        member(population.circuit(index))
    }
}

unsafe extern "C-unwind" fn close(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        let population = native(object);
        if detached(population.count(), || population.close()) == Admitted::Memory {
            return ffi::PyErr_NoMemory();
        }
        none()
    }
}

unsafe fn none() -> Object {
    // SAFETY: None is there as long as the interpreter.
    unsafe {
        let none = ffi::Py_None();
        ffi::Py_INCREF(none);
        none
    }
}

/// `wait(timeout_ns)`: as that of a circuit, for all members.
unsafe extern "C-unwind" fn wait(object: Object, timeout_ns: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        let timeout_ns = ffi::PyLong_AsLongLong(timeout_ns);
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let population = native(object);
        let asked = {
            let state = detach();
            let asked = ManuallyDrop::new(population.barrier());
            attach(state);
            asked
        };
        match ManuallyDrop::into_inner(asked) {
            Asked::Waits(it) => finish_wait(ManuallyDrop::new(it), timeout_ns),
            Asked::Nothing => boolean(true),
            Asked::Memory => ffi::PyErr_NoMemory(),
        }
    }
}

/// `keep(object)`: keeps an object until all is done that members have accepted. False: nothing is, it is not kept.
unsafe extern "C-unwind" fn keep(object: Object, kept: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe {
        let population = native(object);
        ffi::Py_INCREF(kept);
        let taken = {
            let state = detach();
            let taken = population.keep(kept.cast());
            attach(state);
            taken
        };
        if !taken {
            ffi::Py_DECREF(kept);
        }
        boolean(taken)
    }
}

// -- pipes

/// `pipes(address, number, state, own)`: a pipe to a kernel for each member; `own` are the cells of the state that
/// get the pipe's own handle, 4 bytes each.
unsafe extern "C-unwind" fn pipes(
    object: Object,
    arguments: *const Object,
    count: ffi::Py_ssize_t,
) -> Object {
    // SAFETY: a method of this type, called with `count` arguments.
    unsafe {
        if count != 4
            || ffi::PyBytes_Check(*arguments.add(2)) == 0
            || ffi::PyBytes_Check(*arguments.add(3)) == 0
        {
            return wrong(c"pipes(address, number, state, own)");
        }
        let address = ffi::PyLong_AsSize_t(*arguments);
        let number = ffi::PyLong_AsLong(*arguments.add(1));
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        let state = bytes_of(*arguments.add(2));
        let cells = bytes_of(*arguments.add(3));
        if state.len() % 8 != 0 {
            return wrong(c"pipes: a state is of cells of 8 bytes");
        }
        let own = cells.as_ptr().cast::<u32>();
        let own = if own.is_aligned() {
            std::slice::from_raw_parts(own, cells.len() / 4)
        } else {
            return wrong(c"pipes: own is not aligned");
        };
        if own.iter().any(|cell| *cell as usize >= state.len() / 8) {
            return wrong(c"pipes: a cell beyond the state");
        }
        let made: *mut PipesObject = ffi::PyType_GenericAlloc(PIPES_TYPE.load(Ordering::Relaxed), 0).cast();
        let region: *mut RegionObject = ffi::PyType_GenericAlloc(REGION.load(Ordering::Relaxed), 0).cast();
        if made.is_null() || region.is_null() {
            ffi::Py_XDECREF(made.cast());
            ffi::Py_XDECREF(region.cast());
            return null_mut();
        }
        (*made).region = region.cast();
        ffi::Py_INCREF(object);
        (*made).population = object;
        let population = native(object);
        // SAFETY: the address of a function, as the kernel says; 0 is refused where kernels are made.
        let kernel: Option<Kernel> = std::mem::transmute::<usize, Option<Kernel>>(address);
        let making = Making {
            kernel: Some(kernel.unwrap_or(discard)),
            object: null_mut(),
            name: u32::try_from(number).unwrap_or(0),
            state,
            own: 0,
        };
        let made_native = detached(population.count(), || {
            Pipes::new(population, &making, own).map(|it| Box::into_raw(Box::new(it)))
        });
        let Some(made_native) = made_native else {
            ffi::Py_DECREF(made.cast());
            return ffi::PyErr_NoMemory();
        };
        (*made).native = made_native;
        (*(*made_native).region()).keep(1);
        (*region).native = (*made_native).region();
        PIPES.fetch_add(signed(population.count()), Ordering::Relaxed);
        made.cast()
    }
}

unsafe fn bytes_of<'a>(bytes: Object) -> &'a [u8] {
    // SAFETY: a bytes object, held by the caller's arguments.
    unsafe {
        let size = usize::try_from(ffi::PyBytes_Size(bytes)).unwrap_or(0);
        std::slice::from_raw_parts(ffi::PyBytes_AsString(bytes).cast::<u8>(), size)
    }
}

unsafe extern "C" fn pipes_dealloc(object: Object) {
    let pipes: *mut PipesObject = object.cast();
    // SAFETY: nobody refers to it any more.
    unsafe {
        if !(*pipes).native.is_null() {
            let population = native((*pipes).population);
            PIPES.fetch_sub(signed(population.count()), Ordering::Relaxed);
            let native = *Box::from_raw((*pipes).native);
            native.drop_of(population);
        }
        ffi::Py_XDECREF((*pipes).region);
        ffi::Py_XDECREF((*pipes).population);
        free(object);
    }
}

/// What a buffer holds, as elements of `T`; None: it is not.
unsafe fn elements<'a, T>(view: &ffi::Py_buffer) -> Option<&'a [T]> {
    let bytes = usize::try_from(view.len).ok()?;
    let first: *const T = view.buf.cast();
    if bytes == 0 {
        return Some(&[]);
    }
    if bytes % size_of::<T>() != 0 || !first.is_aligned() {
        return None;
    }
    // SAFETY: the view is held meanwhile; any bits make an element.
    Some(unsafe { std::slice::from_raw_parts(first, bytes / size_of::<T>()) })
}

/// `emit(values, where)`: contiguous arrays of 8 bytes an element; one value: for all. `where`: indices of members, or
/// None for all. Returns how many were admitted: all, unless memory runs out.
unsafe extern "C-unwind" fn emit(object: Object, arguments: *const Object, count: ffi::Py_ssize_t) -> Object {
    // SAFETY: a method of this type, called with `count` arguments.
    unsafe {
        if count != 2 {
            return wrong(c"emit(values, where)");
        }
        let mut values: ffi::Py_buffer = std::mem::zeroed();
        let mut chosen: ffi::Py_buffer = std::mem::zeroed();
        if ffi::PyObject_GetBuffer(*arguments, &raw mut values, ffi::PyBUF_SIMPLE) != 0 {
            return null_mut();
        }
        if *arguments.add(1) != ffi::Py_None()
            && ffi::PyObject_GetBuffer(*arguments.add(1), &raw mut chosen, ffi::PyBUF_SIMPLE) != 0
        {
            ffi::PyBuffer_Release(&raw mut values);
            return null_mut();
        }
        let result = emit_views(object.cast(), &values, &chosen);
        ffi::PyBuffer_Release(&raw mut chosen);
        ffi::PyBuffer_Release(&raw mut values);
        result
    }
}

/// `chosen` without an object: all.
unsafe fn emit_views(pipes: *mut PipesObject, values: &ffi::Py_buffer, chosen: &ffi::Py_buffer) -> Object {
    // SAFETY: as `emit`.
    unsafe {
        let population = native((*pipes).population);
        let (Some(given), Some(indices)) = (elements::<u64>(values), elements::<i64>(chosen)) else {
            return wrong(c"emit: elements of 8 bytes are required");
        };
        let (which, count) = if chosen.obj.is_null() {
            (Chosen::All, population.count())
        } else {
            (Chosen::These(indices), indices.len())
        };
        let what = if given.len() == 1 {
            Values::One(given[0])
        } else {
            Values::Each(given)
        };
        let members = 0..signed(population.count());
        if (given.len() != 1 && given.len() != count) || indices.iter().any(|it| !members.contains(it)) {
            return wrong(c"emit: as many values as indices of members are required");
        }
        let native = &*(*pipes).native;
        let done = detached(count, || native.emit(population, this_worker(), which, what));
        ffi::PyLong_FromSize_t(done)
    }
}

/// `place(handle)`: the index of the pipe with this handle; None: it is none of these.
unsafe extern "C-unwind" fn place(object: Object, handle: Object) -> Object {
    let pipes: *mut PipesObject = object.cast();
    // SAFETY: a method of this type.
    unsafe {
        let handle = ffi::PyLong_AsUnsignedLongLong(handle);
        if !ffi::PyErr_Occurred().is_null() {
            return null_mut();
        }
        match (*(*pipes).native).place(handle) {
            Some(index) => ffi::PyLong_FromSize_t(index),
            None => none(),
        }
    }
}

/// `keep(object)` of the population.
unsafe extern "C-unwind" fn pipes_keep(object: Object, kept: Object) -> Object {
    // SAFETY: a method of this type.
    unsafe { keep((*object.cast::<PipesObject>()).population, kept) }
}

// -- regions

/// The region as a view that holds it.
unsafe extern "C-unwind" fn memory(object: Object, _unused: Object) -> Object {
    // SAFETY: a method of `Pipes`, which hold their region.
    unsafe { ffi::PyMemoryView_FromObject((*object.cast::<PipesObject>()).region) }
}

unsafe extern "C" fn region_dealloc(object: Object) {
    // SAFETY: nobody refers to it any more.
    unsafe {
        let native = (*object.cast::<RegionObject>()).native;
        if !native.is_null() && !is_forked() {
            Region::release(native, 1);
        }
        free(object);
    }
}

unsafe extern "C" fn region_buffer(object: Object, view: *mut ffi::Py_buffer, flags: c_int) -> c_int {
    // SAFETY: the view holds the object, which holds the memory.
    unsafe {
        let region = (*object.cast::<RegionObject>()).native;
        let size = ffi::Py_ssize_t::try_from((*region).bytes()).unwrap_or(0);
        ffi::PyBuffer_FillInfo(view, object, (*region).base().cast(), size, 0, flags)
    }
}

// -- the types

/// Makes the type `Population`; null: an exception is set.
pub(crate) unsafe fn make_population() -> Object {
    let methods = Box::leak(Box::new([
        method(c"circuit", circuit, ffi::METH_O, c"Return a member's part in the engine."),
        method(c"close", close, ffi::METH_NOARGS, c"Queue each member's end behind all that it has accepted."),
        method(c"wait", wait, ffi::METH_O, c"Wait until all work that members accepted before is done, so many nanoseconds at most; -1: without limit. False: it is late."),
        method(c"keep", keep, ffi::METH_O, c"Keep an object until all work that members accepted before is done. False: all is, and it is not kept."),
        function(c"pipes", pipes, c"Make a pipe to a kernel for each member."),
        end_of_methods(),
    ]));
    // SAFETY: the tables live for ever.
    unsafe {
        new_type(
            c"substrates_beta._engine.Population",
            c"A population's circuits in the engine.",
            size_of::<PopulationObject>(),
            0,
            &[
                (ffi::Py_tp_dealloc, population_dealloc as *mut c_void),
                (ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
            ],
            &POPULATION,
        )
    }
}

/// Makes the type `Pipes`; null: an exception is set.
pub(crate) unsafe fn make_pipes() -> Object {
    let methods = Box::leak(Box::new([
        function(
            c"emit",
            emit,
            c"Admit one value for all, or one for each; return how many were admitted.",
        ),
        method(
            c"memory",
            memory,
            ffi::METH_NOARGS,
            c"Return the memory of states and handles, writable; it holds nothing else.",
        ),
        method(
            c"place",
            place,
            ffi::METH_O,
            c"Return the index of a handle; None if it is none of these.",
        ),
        method(c"keep", pipes_keep, ffi::METH_O, c"See `Population.keep`."),
        end_of_methods(),
    ]));
    // SAFETY: the tables live for ever.
    unsafe {
        new_type(
            c"substrates_beta._engine.Pipes",
            c"Pipes of a population in the engine, one for each member.",
            size_of::<PipesObject>(),
            0,
            &[
                (ffi::Py_tp_dealloc, pipes_dealloc as *mut c_void),
                (ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
            ],
            &PIPES_TYPE,
        )
    }
}

/// Makes the type `Region`; null: an exception is set.
pub(crate) unsafe fn make_region() -> Object {
    // SAFETY: the tables live for ever.
    unsafe {
        new_type(
            c"substrates_beta._engine.Region",
            c"The memory of pipes' states, a row for each member, and behind them their handles.",
            size_of::<RegionObject>(),
            0,
            &[
                (ffi::Py_tp_dealloc, region_dealloc as *mut c_void),
                (ffi::Py_bf_getbuffer, region_buffer as *mut c_void),
            ],
            &REGION,
        )
    }
}
