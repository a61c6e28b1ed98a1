//! A loaded program, set up as the golden packets expect it.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use tidegate_base::Duration;
use tidegate_bpf::{LoadError, LoadOptions, Reason, Steering, Tuple, Verdict, XdpProgram};
use tidegate_packet::{ChunkAddr, Pool};
use tidegate_sys::event::{Interest, poll};
use tidegate_sys::mem::Mapping;
use tidegate_sys::xsk::{Umem, XskConfig, XskSocket};

use crate::reference::Registered;
use crate::veth::Veth;

/// The slot of the stack that has a device, in what is registered.
pub(crate) const DEVICE_SLOT: u32 = 3;
/// The slot of the stack that has a queue.
pub(crate) const SOCKET_SLOT: u32 = 5;

const CHUNK_COUNT: usize = 32;
const CHUNK_SIZE: usize = 2048;

/// Loads the program; `None`, said on standard error, where the process may not and need not.
pub(crate) fn load() -> Option<XdpProgram> {
    match XdpProgram::load(&LoadOptions::default()) {
        Ok(program) => Some(program),
        Err(LoadError::NotPermitted) if std::env::var_os("CI").is_none() => {
            eprintln!("not run: loading an XDP program needs root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What the golden packets take to be registered.
pub(crate) fn registered() -> Registered {
    let address = |text: &str| text.parse::<IpAddr>().expect("a literal address");
    let (device, slot_socket) =
        (Steering::Device { slot: DEVICE_SLOT }, Steering::SlotSocket { slot: SOCKET_SLOT });
    Registered::from([
        (Tuple::tcp(address("192.0.2.1"), 80), Steering::Socket),
        (Tuple::udp(address("192.0.2.1"), 53), Steering::Socket),
        (Tuple::tcp(address("2001:db8::1"), 80), Steering::Socket),
        (Tuple::udp(address("2001:db8::1"), 53), Steering::Socket),
        (Tuple::tcp(address("0.0.0.0"), 8080), Steering::Socket),
        (Tuple::tcp(address("192.0.2.9"), 8080), Steering::Host),
        (Tuple::udp(address("::"), 5353), Steering::Socket),
        (Tuple::tcp(address("192.0.2.1"), 9000), device),
        (Tuple::udp(address("2001:db8::1"), 9053), device),
        (Tuple::tcp(address("0.0.0.0"), 9100), device),
        (Tuple::udp(address("192.0.2.1"), 9053), slot_socket),
        (Tuple::tcp(address("2001:db8::1"), 9000), slot_socket),
        (Tuple::udp(address("::"), 9100), slot_socket),
    ])
}

/// Loads the program with [`registered`] in it.
pub(crate) fn load_registered() -> Option<XdpProgram> {
    let program = load()?;
    for (tuple, steering) in registered() {
        program.register(tuple, steering).expect("a new tuple can be registered");
    }
    Some(program)
}

/// Runs one frame and returns its verdict and the one reason that counted it.
pub(crate) fn run(program: &XdpProgram, frame: &[u8]) -> (Verdict, Reason) {
    let before = program.counters().expect("counters can be read");
    let run = program.test_run(frame, 1).expect("the kernel runs the frame");
    let counted = program.counters().expect("counters can be read").since(&before);
    let reasons: Vec<_> = counted.iter().filter(|(_, frames)| *frames > 0).collect();
    match reasons[..] {
        [(reason, 1)] => {
            let verdict = reason.verdict();
            assert_eq!(run.action, verdict.action(), "the action is that of its reason, {}", reason.name());
            (verdict, reason)
        }
        _ => panic!("one frame was counted as {reasons:?}"),
    }
}

/// A live AF_XDP socket on queue 0 of a device, with chunks to receive into.
pub(crate) struct Receiver {
    socket: XskSocket,
    pool: Pool,
    ifindex: u32,
}

impl Receiver {
    /// On the device `ifindex` of the calling thread's namespace.
    pub(crate) fn bind(ifindex: u32) -> Self {
        let memory = Mapping::anonymous(CHUNK_COUNT * CHUNK_SIZE).expect("memory for a few frames");
        let mut pool = Pool::new(Box::new(memory), CHUNK_SIZE).expect("whole chunks");
        let config = XskConfig { fill_size: 64, rx_size: 64, ..XskConfig::default() };
        let mut socket = XskSocket::bind(ifindex, 0, &Umem::of_pool(&pool), &config).expect("a free queue");
        for _ in 0..CHUNK_COUNT {
            let chunk = pool.alloc().and_then(|frame| pool.submit(frame)).expect("all chunks are free");
            assert!(socket.fill.push(chunk.0), "the ring has room for all chunks");
        }
        socket.fill.publish();
        Self { socket, pool, ifindex }
    }

    /// The device that it is on.
    pub(crate) fn ifindex(&self) -> u32 {
        self.ifindex
    }

    /// The next frame, if one comes in time; not more than there are chunks.
    pub(crate) fn receive(&mut self, timeout: Duration) -> Option<Vec<u8>> {
        let ready =
            poll(&[(self.socket.as_fd(), Interest::READ)], Some(timeout)).expect("a socket can be polled");
        if ready == 0 {
            return None;
        }
        let descriptor = self.socket.rx.pop()?;
        self.socket.rx.release();
        let frame = self.pool.receive(ChunkAddr(descriptor.addr), descriptor.len as usize)?;
        let data = frame.data().to_vec();
        self.pool.free(frame);
        Some(data)
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Runs `check` with a program that has [`registered`] in it, and a socket on queue 0 of some device, which is that of the
/// stacks too.
pub(crate) fn beside_socket(check: impl FnOnce(&XdpProgram, Receiver) + Send) {
    let (Some(veth), Some(program)) = (Veth::new(), load_registered()) else { return };
    veth.left.enter(|| {
        let receiver = Receiver::bind(veth.left.ifindex);
        program.set_xsk(0, &receiver).expect("queue 0 has a place");
        program.set_device(DEVICE_SLOT, receiver.ifindex()).expect("a slot has a place");
        program.set_slot_socket(SOCKET_SLOT, 0, &receiver).expect("a slot has a place");
        check(&program, receiver);
    });
}
