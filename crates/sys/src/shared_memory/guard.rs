//! Ranges of memory whose pages a peer may take away, and what happens to one that touches such a page.
//!
//! ```text
//!   access --> no page there --> SIGBUS --> on_bus_error: which range?
//!                                             one of SLOTS: zeros are mapped over all of it, it is marked, the access goes on
//!                                             none:         whoever handled the signal before does as it always did
//! ```
//! A process has one handler a signal, so this is the one thing in this crate that is global (docs/adr/0010). It is installed
//! when the first range is guarded and stays.
//!
//! Invariants:
//! 1. A slot's range lies inside a mapping of its guard's owner, who ends the guard before that mapping.
//! 2. The handler does nothing but load and store atomics and make system calls that signal-safety(7) or their nature (no
//!    memory of libc's) allows there.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Ranges that can be guarded at a time: those of a hundred devices with some regions each.
const SLOT_COUNT: usize = 1024;
/// The base of a slot that is being filled: no address of a mapping.
const RESERVED: usize = 1;

struct Slot {
    /// Zero: free.
    base: AtomicUsize,
    len: AtomicUsize,
    is_gone: AtomicBool,
}

static SLOTS: [Slot; SLOT_COUNT] =
    [const { Slot { base: AtomicUsize::new(0), len: AtomicUsize::new(0), is_gone: AtomicBool::new(false) } };
        SLOT_COUNT];

/// What handled the signal before, or why it could not be taken over.
static BEFORE: OnceLock<Result<libc::sigaction, i32>> = OnceLock::new();

/// A range that is guarded for as long as this lives.
#[derive(Debug)]
pub(super) struct Guard(&'static Slot);

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (base, len) = (self.base.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        f.debug_struct("Slot")
            .field("base", &base)
            .field("len", &len)
            .field("is_gone", &self.is_gone)
            .finish()
    }
}

impl Guard {
    /// Guards `len` bytes at `base`.
    ///
    /// # Safety
    /// The bytes must be one mapping or a part of it that begins and ends with a page of it, which stays mapped, by the
    /// caller alone, for as long as the guard lives; and it must not matter to anybody that, once a page of it is gone, all
    /// of it turns into zeros that nobody shares.
    pub(super) unsafe fn new(base: NonNull<u8>, len: usize) -> io::Result<Guard> {
        install()?;
        let reserve = |slot: &&Slot| {
            slot.base.compare_exchange(0, RESERVED, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let slot = SLOTS.iter().find(reserve).ok_or(io::ErrorKind::QuotaExceeded)?;
        slot.len.store(len, Ordering::Relaxed);
        slot.is_gone.store(false, Ordering::Relaxed);
        slot.base.store(base.as_ptr() as usize, Ordering::Release);
        Ok(Guard(slot))
    }

    /// Whether a page was missing when somebody touched it. Since then there are zeros.
    #[inline]
    pub(super) fn is_gone(&self) -> bool {
        self.0.is_gone.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.base.store(0, Ordering::Release);
    }
}

/// Takes the signal over, once.
fn install() -> io::Result<()> {
    let installed = BEFORE.get_or_init(|| {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a null action changes nothing; `before` is valid for writes of one.
        if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), before.as_mut_ptr()) } < 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
        }
        // SAFETY: all-zero bytes are a valid sigaction, and the kernel has written over them.
        Ok(unsafe { before.assume_init() })
    });
    installed.as_ref().map_err(|errno| io::Error::from_raw_os_error(*errno))?;
    static HANDLER: OnceLock<i32> = OnceLock::new();
    // Only now, so that the handler always finds what was before.
    let errno = HANDLER.get_or_init(|| {
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
        // SAFETY: all-zero bytes are a valid sigaction: no flags, nothing blocked.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: `action` names a handler of the kind that SA_SIGINFO says, which keeps to invariant 2.
        match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) } {
            0 => 0,
            _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
        }
    });
    if *errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(*errno)) }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid siginfo; `si_addr` may be read for SIGBUS, and means something
    // where the kernel raised it, which a positive code says.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code > 0 && SLOTS.iter().any(|slot| slot.mend(address)) {
        return;
    }
    if let Some(Ok(before)) = BEFORE.get() {
        // SAFETY: `before` is what the kernel said was installed. From here on the signal does what it did before us: an
        // access that failed is made again and fails again.
        unsafe { libc::sigaction(signal, &raw const *before, std::ptr::null_mut()) };
    }
    if code <= 0 {
        // SAFETY: takes no pointers. A signal that somebody sent does not come again by itself.
        unsafe { libc::raise(signal) };
    }
}

impl Slot {
    /// Puts zeros in place of the range, if `address` is in it.
    fn mend(&self, address: usize) -> bool {
        let base = self.base.load(Ordering::Acquire);
        let len = self.len.load(Ordering::Relaxed);
        // A slot that changes between the loads is not the one of a range that somebody is just touching.
        let is_stable = self.base.load(Ordering::Acquire) == base;
        if base <= RESERVED || !is_stable || address.wrapping_sub(base) >= len {
            return false;
        }
        self.is_gone.store(true, Ordering::Release);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: errno is this thread's, and its address is valid for as long as the thread runs.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above: what the interrupted code sees of it stays as it was.
        let kept = unsafe { *errno };
        // SAFETY: the range is a mapping of the guard's owner (invariant 1), who has agreed to lose what is there
        // (`Guard::new`). It is live: the code that was interrupted is accessing it.
        let mapped = unsafe { libc::mmap(base as *mut libc::c_void, len, access, flags, -1, 0) };
        // SAFETY: as for the load.
        unsafe { *errno = kept };
        mapped != libc::MAP_FAILED
    }
}
