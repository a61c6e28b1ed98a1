//! Stacks by number: each behind a lock of its own, found by a number that is not used again.

use crate::border::{Errno, call, text};
use crate::frames::{MTU_MAX, Outbox};
use crate::lease;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use tidegate_base::{HashKey, Instant};
use tidegate_socket::{Host, OpenError, Runtime, RuntimeConfig};
use tidegate_stack::{Interface, Limits, Ownership, Secrets, TcpConfig};
use tidegate_sys::{errno, random};
use tidegate_wire::MacAddr;

/// What carries a stack's frames.
pub(crate) enum Engine {
    /// The caller, who also says what time it is.
    Frames(Box<Host<Outbox>>),
    /// A port.
    Running(Box<Runtime>),
}

/// One stack.
pub(crate) struct Stack {
    pub(crate) engine: Engine,
    /// A thread sleeps until there is something to do.
    pub(crate) sleeper_count: usize,
}

/// Does something to the sockets of a stack, whatever carries its frames.
macro_rules! with_host {
    ($stack:expr, $host:ident => $body:expr) => {
        match &mut $stack.engine {
            $crate::stacks::Engine::Frames($host) => $body,
            $crate::stacks::Engine::Running(runtime) => {
                let $host = &mut ***runtime;
                $body
            }
        }
    };
}
pub(crate) use with_host;

/// A stack and what is known of it without its lock.
pub(crate) struct Shared {
    pub(crate) stack: Mutex<Stack>,
    /// What to wait on.
    pub(crate) fd: Option<OwnedFd>,
}

#[derive(Default)]
struct Table {
    last: c_int,
    stacks: HashMap<c_int, Arc<Shared>>,
}

fn table() -> &'static RwLock<Table> {
    static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();
    TABLE.get_or_init(RwLock::default)
}

/// The stack of that number.
pub(crate) fn find(number: c_int) -> Result<Arc<Shared>, Errno> {
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    table.stacks.get(&number).cloned().ok_or(Errno(errno::EBADF))
}

/// Does something to a stack. One in which something panicked answers EIO from then on.
pub(crate) fn with<T>(number: c_int, work: impl FnOnce(&mut Stack) -> Result<T, Errno>) -> Result<T, Errno> {
    let shared = find(number)?;
    let mut stack = shared.stack.lock().map_err(|_| Errno(errno::EIO))?;
    let outcome = work(&mut stack);
    stack.settle();
    outcome
}

impl Stack {
    /// Has whoever waits for this stack look at what was done meanwhile.
    fn settle(&mut self) {
        if let Engine::Running(runtime) = &mut self.engine {
            if self.sleeper_count > 0 { runtime.wake() } else { runtime.settle() }
        }
    }
}

fn add(engine: Engine, fd: Option<OwnedFd>) -> Result<c_int, Errno> {
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    let number = table.last.checked_add(1).ok_or(Errno(errno::EMFILE))?;
    table.last = number;
    let stack = Mutex::new(Stack { engine, sleeper_count: 0 });
    table.stacks.insert(number, Arc::new(Shared { stack, fd }));
    Ok(number)
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Remembers why a stack could not be opened.
pub(crate) fn explain(number: i32, why: impl std::fmt::Display) -> Errno {
    let text = CString::new(why.to_string()).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
    Errno(number)
}

fn addresses(list: &str) -> Result<Vec<IpAddr>, Errno> {
    let parse = |text: &str| {
        text.trim().parse().map_err(|_| {
            explain(errno::EINVAL, format!("`{text}` is no address: write them as in 10.0.0.2,fd77::2"))
        })
    };
    list.split(',').map(parse).collect()
}

fn places(list: &str) -> Result<Vec<SocketAddr>, Errno> {
    let parse = |text: &str| {
        text.trim().parse().map_err(|_| {
            let why = format!("`{text}` is no address and port: write them as in 10.0.0.2:80,[fd77::2]:80");
            explain(errno::EINVAL, why)
        })
    };
    list.split(',').map(parse).collect()
}

/// A stack without a port: the caller brings frames (tg_tcp_input) and carries them away (tg_frame_out), and says what time it
/// is. `addresses` are its own, with commas between them; `mac` is its six-byte link address; `mtu` the longest IP packet, 1280 to 3600 bytes.
/// Returns the stack's number, or -1 (EFAULT, EINVAL, EMFILE).
///
/// # Safety
/// `addresses` must be a C string and `mac` have six bytes, or be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_stack_new(addresses: *const c_char, mac: *const u8, mtu: usize) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let list = unsafe { text(addresses) }?;
        // SAFETY: the caller's promise.
        let mac: [u8; 6] = unsafe { crate::border::get(mac.cast()) }?;
        if mac[0] & 1 != 0 || !(1280..=MTU_MAX).contains(&mtu) {
            return Err(Errno(errno::EINVAL));
        }
        let interface = Interface::new(MacAddr(mac), self::addresses(list)?, mtu, Ownership::Address);
        let secret = || random::bytes().map(HashKey::new).map_err(|error| explain(errno::EIO, error));
        let flow = random::u64().map_err(|error| explain(errno::EIO, error))?;
        let secrets = Secrets { isn: secret()?, cookie: secret()?, flow };
        let outbox = Outbox::new().map_err(|error| explain(errno::ENOMEM, error))?;
        let (config, limits) = (TcpConfig::default(), Limits::default());
        let host = Host::new(Instant::ZERO, interface, config, limits, &secrets, outbox);
        add(Engine::Frames(Box::new(host)), None)
    })
}

/// Opens a stack on a port. `tap:NAME` makes a TAP device of that name (%d in it: the first free number), whose other end is
/// the kernel's; `addresses` as for tg_stack_new. `dev:NAME` takes addresses and ports of the host's on a NIC of its, written
/// as in 10.0.0.2:80,[fd77::2]:80, for TCP and UDP; all else stays the host's. Both need root. `mux:NAME` does the same by leave of
/// `tidegate daemon --mux`, beside other stacks and as any user; `mux:NAME@PATH` where its socket is not the usual one,
/// `mux:NAME/queue=N` for that queue of the NIC, which needs CAP_NET_RAW, and `mux:NAME/memif` for memory shared with the daemon
/// instead of a veth. Returns the stack's number, or -1
/// (EFAULT, EINVAL, EMFILE, EACCES, EAGAIN, EIO, ENOMEM): tg_open_error says why.
///
/// # Safety
/// Both must be C strings or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_open(port: *const c_char, addresses: *const c_char) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let (port, list) = unsafe { (text(port)?, text(addresses)?) };
        let config = RuntimeConfig::default();
        let opened = match port.split_once(':') {
            Some(("tap", name)) => Runtime::on_tap(name, self::addresses(list)?, config),
            Some(("dev", name)) => Runtime::on_device(name, &places(list)?, config),
            Some(("mux", place)) => {
                let (path, wanted) = lease::parse(place)?;
                Runtime::on_mux(path, &wanted, &places(list)?, config)
            }
            _ => {
                let why = format!("`{port}` is no port: write tap:NAME, dev:NAME or mux:NAME");
                return Err(explain(errno::EINVAL, why));
            }
        };
        let runtime = opened.map_err(unopened)?;
        let fd = runtime.descriptor().map_err(|error| explain(errno::EMFILE, error))?;
        add(Engine::Running(Box::new(runtime)), Some(fd))
    })
}

fn unopened(error: OpenError) -> Errno {
    let number = match error {
        OpenError::Places(_) => errno::EINVAL,
        OpenError::Pool(_) => errno::ENOMEM,
        OpenError::Descriptor(_) => errno::EMFILE,
        OpenError::Keeper(_) => errno::EAGAIN,
        OpenError::Random(_) => errno::EIO,
        _ => errno::EACCES,
    };
    explain(number, error)
}

/// Why tg_open or tg_stack_new failed last on this thread, in words; never NULL. Good until they fail again.
#[unsafe(no_mangle)]
pub extern "C" fn tg_open_error() -> *const c_char {
    call(|| Ok(LAST_ERROR.with(|last| last.borrow().as_ptr())))
}

/// Closes a stack with all its sockets; connections end without a word. Returns 0, or -1 (EBADF).
#[unsafe(no_mangle)]
pub extern "C" fn tg_stack_free(stack: c_int) -> c_int {
    call(|| {
        let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
        let gone = table.stacks.remove(&stack);
        drop(table);
        gone.map(|_| 0).ok_or(Errno(errno::EBADF))
    })
}

/// The library's version, as in 0.1.0.
#[unsafe(no_mangle)]
pub extern "C" fn tg_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
