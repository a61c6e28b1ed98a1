//! Asking for memory before it is needed, so that several misses pass at once instead of one by one.

/// Starts to bring the cache line at the beginning of `place` near; changes nothing and never faults. Nothing
/// happens where the processor has no such instruction.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which x86_64 always has, and it touches no memory that
        // the program can see: any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
