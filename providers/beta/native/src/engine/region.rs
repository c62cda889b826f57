//! Memory for the states of a population's pipes: one block for all.
//!
//! ```text
//! rows     a state for each member
//! handles  a handle for each member
//! ```
//!
//! It is mapped, so it is zeroed and costs nothing before it is used. Whoever looks into it has a reference, and each
//! pipe whose state stands in it: a drop that waits behind what was accepted keeps the memory.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::memory::account_states;

/// See the module.
#[derive(Debug)]
pub struct Region {
    references: AtomicUsize,
    base: *mut u8,
    count: usize,
    /// Bytes of a state, a multiple of 8.
    row: usize,
}

const HANDLE: usize = size_of::<u64>();

impl Region {
    /// A block for `count` states of `row` bytes, with one reference; null: out of memory.
    #[must_use]
    pub fn new(count: usize, row: usize) -> *mut Self {
        debug_assert!(row % HANDLE == 0);
        let Some(bytes) = count.checked_mul(row + HANDLE) else {
            return null_mut();
        };
        // SAFETY: a fresh mapping.
        let base = unsafe {
            libc::mmap(
                null_mut(),
                bytes.max(1),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return null_mut();
        }
        account_states(i64::try_from(bytes).unwrap_or(0));
        Box::into_raw(Box::new(Self {
            references: AtomicUsize::new(1),
            base: base.cast(),
            count,
            row,
        }))
    }

    /// Takes references.
    pub fn keep(&self, references: usize) {
        self.references.fetch_add(references, Ordering::Relaxed);
    }

    /// Lets go of references; the last one unmaps.
    ///
    /// # Safety
    /// They are the caller's.
    pub unsafe fn release(region: *mut Self, references: usize) {
        // SAFETY: as promised; the last one has seen what all others did.
        unsafe {
            if references > 0 && (*region).references.fetch_sub(references, Ordering::AcqRel) == references {
                libc::munmap((*region).base.cast(), (*region).bytes().max(1));
                account_states(-i64::try_from((*region).bytes()).unwrap_or(0));
                drop(Box::from_raw(region));
            }
        }
    }

    /// How large it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.count * (self.row + HANDLE)
    }

    /// Where it is.
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Where a state is.
    #[inline]
    #[must_use]
    pub fn row(&self, index: usize) -> *mut u8 {
        debug_assert!(index < self.count);
        self.base.wrapping_add(index * self.row)
    }

    /// Where the handles are.
    #[inline]
    #[must_use]
    pub fn handles(&self) -> *mut u64 {
        self.base.wrapping_add(self.count * self.row).cast()
    }
}
