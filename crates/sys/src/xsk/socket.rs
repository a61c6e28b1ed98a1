//! One AF_XDP socket: made, bound to a queue, and its four rings.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::config::{BusyPoll, DriverMode, XskConfig};
use super::mapped::{self, MappedRing};
use super::ring::{Consumer, Producer};
use super::umem::{Inherited, Umem};
use crate::syscall::{check, check_len, option, set_option, socket};

/// An AF_XDP socket could not be made.
#[derive(Debug, thiserror::Error)]
#[error("could not {attempted} for queue {queue} of interface {ifindex} (AF_XDP): {source}; {}", self.hint())]
pub struct XskError {
    /// The step that failed.
    pub attempted: &'static str,
    /// The device.
    pub ifindex: u32,
    /// Its queue.
    pub queue: u32,
    /// What the kernel said.
    pub source: io::Error,
}

impl XskError {
    fn hint(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EPERM) => "run as root or with CAP_NET_RAW",
            Some(libc::EBUSY) => "another AF_XDP program has this queue: stop it or choose another queue",
            Some(libc::EOPNOTSUPP) => "this driver has no zero-copy: use copy mode",
            Some(libc::EINVAL) => "the device must be up, have that queue, and ring sizes be powers of two",
            Some(libc::ENODEV) => "no such device in this network namespace",
            Some(libc::ENOBUFS | libc::ENOMEM) => {
                "raise the locked-memory limit (ulimit -l) or use fewer frames"
            }
            Some(libc::EAFNOSUPPORT) => "this kernel is built without CONFIG_XDP_SOCKETS",
            _ => "see networking/af_xdp.rst",
        }
    }
}

/// Where a frame lies in the UMEM: `struct xdp_desc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    /// Bytes from the start of the UMEM to the frame's first byte.
    pub addr: u64,
    /// Bytes of the frame.
    pub len: u32,
    /// Flags; zero for a frame in one piece.
    pub options: u32,
}

/// What a wake-up came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The kernel has taken what it was shown, or is about to.
    Done,
    /// The kernel took a part (copy mode has a limit a call) or had no room: wake it again.
    TryAgain,
    /// The device is down or gone.
    DeviceGone,
}

/// What the kernel could not deliver or send: `struct xdp_statistics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XskStatistics {
    /// Frames lost because the fill ring was empty (in copy mode), or because they are larger than a chunk.
    pub rx_dropped: u64,
    /// Fill entries that named no chunk of the UMEM.
    pub rx_invalid_descriptors: u64,
    /// Transmit entries that named no frame inside a chunk of the UMEM.
    pub tx_invalid_descriptors: u64,
    /// Frames lost because the receive ring was full.
    pub rx_ring_full: u64,
    /// How often the kernel (in copy mode, for each frame that it drops) or the driver found the fill ring empty.
    pub fill_ring_empty: u64,
    /// How often the kernel looked for something to send and found nothing.
    pub tx_ring_empty: u64,
}

/// An AF_XDP socket bound to one queue of one device. Closing it (dropping) ends the binding; frames that
/// the XDP program would redirect to it then go where the program's default says.
#[derive(Debug)]
pub struct XskSocket {
    /// Frames received.
    pub rx: Consumer<MappedRing<Descriptor>>,
    /// Frames to send.
    pub tx: Producer<MappedRing<Descriptor>>,
    /// Free chunks for the kernel to receive into.
    pub fill: Producer<MappedRing<u64>>,
    /// Chunks whose frames were sent.
    pub completion: Consumer<MappedRing<u64>>,
    socket: Arc<OwnedFd>,
    umem: Umem,
    mode: DriverMode,
    /// Without it the kernel says on no ring whether it must be woken: it always must be, for sending.
    need_wakeup: bool,
    busy_poll: bool,
    syscall_count: u64,
}

impl XskSocket {
    /// A socket on `queue` of the device `ifindex` of the calling thread's network namespace, exchanging
    /// frames through `umem`. With [`BindMode::Auto`], [`mode`](Self::mode) tells what it came to.
    ///
    /// Needs CAP_NET_RAW; and CAP_IPC_LOCK or a sufficient RLIMIT_MEMLOCK for the UMEM, and CAP_NET_ADMIN
    /// for busy polling. Source: networking/af_xdp.rst.
    pub fn bind(ifindex: u32, queue: u32, umem: &Umem, config: &XskConfig) -> Result<XskSocket, XskError> {
        checked(ifindex, queue, config, || Self::bind_to(ifindex, queue, umem, config))
    }

    /// A socket of the calling thread's network namespace that has no memory and no queue yet: what may be done with it, by
    /// whoever has it, goes no further than that namespace.
    ///
    /// Needs CAP_NET_RAW. Source: networking/af_xdp.rst.
    pub fn open() -> io::Result<OwnedFd> {
        socket(libc::AF_XDP, libc::SOCK_RAW, 0)
    }

    /// The same as [`bind`](Self::bind) with a socket that [`open`](Self::open) made, perhaps in another process and another
    /// namespace, which then is where `ifindex` is.
    ///
    /// Needs no capability but for what the UMEM and busy polling need. Source: networking/af_xdp.rst.
    pub fn bind_opened(
        opened: OwnedFd,
        ifindex: u32,
        queue: u32,
        umem: &Umem,
        config: &XskConfig,
    ) -> Result<XskSocket, XskError> {
        checked(ifindex, queue, config, || {
            let bound = Unbound::of(opened, config)?.register(ifindex, queue, umem, config)?;
            bound.map_rings(ifindex, umem, config)
        })
    }

    fn bind_to(ifindex: u32, queue: u32, umem: &Umem, config: &XskConfig) -> Result<XskSocket, Failure> {
        let holder = umem.holder(ifindex, config);
        let shared = holder.and_then(|holder| Unbound::new(config).ok()?.share(ifindex, queue, &holder).ok());
        let bound = match shared {
            Some(bound) => bound,
            None => Unbound::new(config)?.register(ifindex, queue, umem, config)?,
        };
        bound.map_rings(ifindex, umem, config)
    }

    /// Tells the kernel to send what was published on [`tx`](Self::tx); without a system call where the
    /// kernel says that it looks by itself.
    ///
    /// In copy mode the call does the sending. Source: af_xdp.rst, "XDP_USE_NEED_WAKEUP bind flag".
    #[inline]
    pub fn wake_tx(&mut self) -> Wake {
        let asked = !self.need_wakeup || self.busy_poll || self.tx.memory().needs_wakeup();
        if asked { self.kick_tx() } else { Wake::Done }
    }

    fn kick_tx(&mut self) -> Wake {
        self.syscall_count += 1;
        let fd = self.socket.as_raw_fd();
        // SAFETY: an empty message and no address: nothing is read from this process.
        let sent = unsafe { libc::sendto(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
        wake(check_len(sent))
    }

    /// Tells the kernel that [`fill`](Self::fill) has chunks again, if it asks to be told.
    #[inline]
    pub fn wake_rx(&mut self) -> Wake {
        if self.fill.memory().needs_wakeup() { self.kick_rx() } else { Wake::Done }
    }

    /// With busy polling, has the driver look for received frames, as [`wake_tx`](Self::wake_tx) does too where it asks
    /// the kernel. Otherwise nothing: frames come by themselves.
    #[inline]
    pub fn poll_rx(&mut self) -> Wake {
        if self.busy_poll { self.kick_rx() } else { Wake::Done }
    }

    /// Whether the driver looks for received frames only when it is asked to.
    pub fn is_busy_polled(&self) -> bool {
        self.busy_poll
    }

    fn kick_rx(&mut self) -> Wake {
        self.syscall_count += 1;
        let fd = self.socket.as_raw_fd();
        let (nowhere, nobody) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: an empty buffer and no address: nothing is written to this process.
        let received =
            unsafe { libc::recvfrom(fd, nowhere, 0, libc::MSG_DONTWAIT, nobody, std::ptr::null_mut()) };
        wake(check_len(received))
    }

    /// Whether frames are copied by the kernel.
    pub fn mode(&self) -> DriverMode {
        self.mode
    }

    /// The memory that frames lie in.
    pub fn umem(&self) -> &Umem {
        &self.umem
    }

    /// System calls made for this socket since it was bound.
    pub fn syscall_count(&self) -> u64 {
        self.syscall_count
    }

    /// What the kernel counted for this socket. One system call, not counted.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        // SAFETY: a structure of integers, valid whatever the kernel writes; old kernels fill a part.
        let counted: libc::xdp_statistics =
            unsafe { option(self.socket.as_fd(), libc::SOL_XDP, libc::XDP_STATISTICS) }?;
        Ok(XskStatistics {
            rx_dropped: counted.rx_dropped,
            rx_invalid_descriptors: counted.rx_invalid_descs,
            tx_invalid_descriptors: counted.tx_invalid_descs,
            rx_ring_full: counted.rx_ring_full,
            fill_ring_empty: counted.rx_fill_ring_empty_descs,
            tx_ring_empty: counted.tx_ring_empty_descs,
        })
    }
}

impl AsFd for XskSocket {
    /// What an XSKMAP takes, and what poll(2) waits on: readable when [`rx`](XskSocket::rx) has frames.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The errors of xsk_sendmsg and xsk_recvmsg that mean "later" (net/xdp/xsk.c) are no failures.
fn wake(result: io::Result<usize>) -> Wake {
    match result.map_err(|error| error.raw_os_error()) {
        Ok(_) => Wake::Done,
        Err(Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV | libc::EBADF)) => Wake::DeviceGone,
        Err(_) => Wake::TryAgain,
    }
}

/// The step of making a socket that failed, still without the queue's name.
struct Failure {
    attempted: &'static str,
    source: io::Error,
}

fn failed(attempted: &'static str) -> impl Fn(io::Error) -> Failure {
    move |source| Failure { attempted, source }
}

/// Makes a socket by `make` if the rings' sizes are some that the kernel takes; its failure gets the queue's name.
fn checked(
    ifindex: u32,
    queue: u32,
    config: &XskConfig,
    make: impl FnOnce() -> Result<XskSocket, Failure>,
) -> Result<XskSocket, XskError> {
    let refused = config.refused_ring().map(|attempted| {
        let source = io::Error::from_raw_os_error(libc::EINVAL);
        Failure { attempted, source }
    });
    let made = refused.map_or_else(make, Err);
    made.map_err(|Failure { attempted, source }| XskError { attempted, ifindex, queue, source })
}

/// linux/if_xdp.h.
const XDP_MAX_TX_SKB_BUDGET: i32 = 9;

/// A socket whose rings have their sizes.
struct Unbound(OwnedFd);

impl Unbound {
    fn new(config: &XskConfig) -> Result<Unbound, Failure> {
        Self::of(XskSocket::open().map_err(failed("open a socket"))?, config)
    }

    fn of(fd: OwnedFd, config: &XskConfig) -> Result<Unbound, Failure> {
        let rings = [
            (mapped::RX, config.rx_size),
            (mapped::TX, config.tx_size),
            (mapped::FILL, config.fill_size),
            (mapped::COMPLETION, config.completion_size),
        ];
        for (ring, size) in rings {
            set_option(fd.as_fd(), libc::SOL_XDP, ring.size_option, &size)
                .map_err(failed("size the rings"))?;
        }
        // Linux 6.17: one call sends a full ring instead of 32 frames. Older kernels need more calls.
        let _ = set_option(fd.as_fd(), libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &config.tx_size);
        if let Some(busy_poll) = config.busy_poll {
            set_busy_poll(fd.as_fd(), busy_poll).map_err(failed("set busy polling"))?;
        }
        Ok(Unbound(fd))
    }

    /// Binds with the UMEM that `holder` has registered. The kernel takes no mode flags here: the new
    /// socket has those of the first one.
    fn share(self, ifindex: u32, queue: u32, holder: &OwnedFd) -> Result<Bound, Failure> {
        self.bind(ifindex, queue, libc::XDP_SHARED_UMEM, holder.as_raw_fd().unsigned_abs())
    }

    /// Registers the UMEM anew and binds in the mode wanted.
    fn register(self, ifindex: u32, queue: u32, umem: &Umem, config: &XskConfig) -> Result<Bound, Failure> {
        umem.register(self.0.as_fd()).map_err(failed("register memory"))?;
        let need_wakeup = if config.need_wakeup { libc::XDP_USE_NEED_WAKEUP } else { 0 };
        self.bind(ifindex, queue, config.mode.flags() | need_wakeup, 0)
    }

    fn bind(self, ifindex: u32, queue: u32, flags: u16, shared_umem_fd: u32) -> Result<Bound, Failure> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: ifindex,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: shared_umem_fd,
        };
        let len = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        let bind = || {
            // SAFETY: `address` is valid for reads of `len` bytes for the length of the call.
            check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) })
        };
        while_busy(bind).map_err(failed("bind a socket"))?;
        Ok(Bound(Arc::new(self.0)))
    }
}

/// The kernel gives a queue free some time after its socket was closed (a work item, net/xdp/xsk_buff_pool.c,
/// xp_put_pool), so a process that restarts finds it busy: try for a moment.
fn while_busy(mut attempt: impl FnMut() -> io::Result<i32>) -> io::Result<i32> {
    for _ in 0..BUSY_RETRY_COUNT {
        match attempt() {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(BUSY_RETRY_WAIT),
            done => return done,
        }
    }
    attempt()
}

const BUSY_RETRY_COUNT: u32 = 1000;
const BUSY_RETRY_WAIT: std::time::Duration = std::time::Duration::from_millis(3);

/// Prefer busy polling, for how long, and with which budget (networking/napi.rst, "Busy polling").
fn set_busy_poll(fd: BorrowedFd<'_>, wanted: BusyPoll) -> io::Result<()> {
    let options = [
        (libc::SO_PREFER_BUSY_POLL, 1),
        (libc::SO_BUSY_POLL, wanted.poll_us),
        (libc::SO_BUSY_POLL_BUDGET, wanted.budget),
    ];
    options.into_iter().try_for_each(|(name, value)| set_option(fd, libc::SOL_SOCKET, name, &value))
}

/// A socket that only lacks the mapping of its rings.
struct Bound(Arc<OwnedFd>);

impl Bound {
    fn map_rings(self, ifindex: u32, umem: &Umem, config: &XskConfig) -> Result<XskSocket, Failure> {
        let mode = self.mode().map_err(failed("ask for the mode"))?;
        umem.add_holder(&self.0, Inherited { ifindex, mode, need_wakeup: config.need_wakeup });
        // SAFETY: a structure of integers, valid whatever the kernel writes.
        let offsets: libc::xdp_mmap_offsets =
            unsafe { option(self.0.as_fd(), libc::SOL_XDP, libc::XDP_MMAP_OFFSETS) }
                .map_err(failed("ask for the rings' layout"))?;
        let rings = self.0.as_fd();
        let rx = MappedRing::map(rings, mapped::RX, &offsets.rx, config.rx_size);
        let tx = MappedRing::map(rings, mapped::TX, &offsets.tx, config.tx_size);
        let fill = MappedRing::map(rings, mapped::FILL, &offsets.fr, config.fill_size);
        let completion = MappedRing::map(rings, mapped::COMPLETION, &offsets.cr, config.completion_size);
        let failure = failed("map the rings");
        Ok(XskSocket {
            rx: Consumer::new(rx.map_err(&failure)?),
            tx: Producer::new(tx.map_err(&failure)?),
            fill: Producer::new(fill.map_err(&failure)?),
            completion: Consumer::new(completion.map_err(&failure)?),
            socket: self.0,
            umem: umem.clone(),
            mode,
            need_wakeup: config.need_wakeup,
            busy_poll: config.busy_poll.is_some(),
            syscall_count: 0,
        })
    }

    fn mode(&self) -> io::Result<DriverMode> {
        // SAFETY: a structure of one integer, valid whatever the kernel writes.
        let options: libc::xdp_options = unsafe { option(self.0.as_fd(), libc::SOL_XDP, libc::XDP_OPTIONS) }?;
        let zero_copy = options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok(if zero_copy { DriverMode::ZeroCopy } else { DriverMode::Copy })
    }
}
