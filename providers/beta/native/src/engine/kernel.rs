//! The kernel ABI of `substrates_kernel.h`, version 1, field by field.
//!
//! The header is the truth: `tests/test_layout.py` compiles it and compares what [`layout`] tells.

use std::ffi::c_void;
use std::mem::{align_of, offset_of, size_of};

/// `SUBSTRATES_KERNEL_ABI`.
pub const ABI: u32 = 1;
/// `SUBSTRATES_FAULT_MEMORY`: what `grow` returns when there is no memory.
pub const FAULT_MEMORY: i32 = 0x1000_0000;

/// `substrates_slot`: one emission of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The handle of the pipe that is emitted to; 0 is none.
    pub pipe: u64,
    /// The value.
    pub bits: u64,
}

/// `substrates_context`: the window that a kernel emits into.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// Where the next slot goes; advanced by the kernel.
    pub tail: *mut Slot,
    /// One past the last slot of the window.
    pub limit: *mut Slot,
    /// Makes room; returns 0 or a fault code.
    pub grow: unsafe extern "C" fn(*mut Context) -> i32,
}

/// `substrates_kernel`: what receives on a scalar lane.
pub type Kernel = unsafe extern "C" fn(*mut Context, *mut c_void, u64) -> i32;

/// Sizes, alignments, offsets and constants, each under its name in the header.
#[must_use]
pub fn layout() -> [(&'static str, usize); 13] {
    [
        ("SUBSTRATES_KERNEL_ABI", ABI as usize),
        ("SUBSTRATES_FAULT_MEMORY", FAULT_MEMORY as usize),
        ("sizeof(substrates_pipe)", size_of::<u64>()),
        ("sizeof(substrates_slot)", size_of::<Slot>()),
        ("alignof(substrates_slot)", align_of::<Slot>()),
        ("offsetof(substrates_slot, pipe)", offset_of!(Slot, pipe)),
        ("offsetof(substrates_slot, bits)", offset_of!(Slot, bits)),
        ("sizeof(substrates_context)", size_of::<Context>()),
        ("alignof(substrates_context)", align_of::<Context>()),
        ("offsetof(substrates_context, tail)", offset_of!(Context, tail)),
        ("offsetof(substrates_context, limit)", offset_of!(Context, limit)),
        ("offsetof(substrates_context, grow)", offset_of!(Context, grow)),
        ("sizeof(substrates_kernel)", size_of::<Kernel>()),
    ]
}
