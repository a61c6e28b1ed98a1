//! The smallest XDP program that feeds AF_XDP sockets, for tests: five instructions loaded by bpf(2).
//!
//! Not what Tidegate runs (`tidegate-bpf`): no tuple, no verdicts, everything that arrives goes to the socket
//! of its queue.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// linux/bpf.h.
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u64 = 17;
const BPF_PROG_TYPE_XDP: u64 = 6;
const BPF_XDP: u64 = 37;
const XDP_FLAGS_DRV_MODE: u64 = 1 << 2;

/// The program on one device, and the map from queue to socket; gone when dropped.
pub(super) struct Redirect {
    map: OwnedFd,
    _program: OwnedFd,
    _link: OwnedFd,
}

impl Redirect {
    /// Attaches to the device `ifindex` of the calling thread's network namespace, in driver mode.
    pub(super) fn attach(ifindex: u32) -> io::Result<Redirect> {
        // map type and key size, value size and entries: u32 each.
        let map = bpf(BPF_MAP_CREATE, &[BPF_MAP_TYPE_XSKMAP | 4 << 32, 4 | 8 << 32])?;
        let instructions = program(&map);
        let licence = c"Dual MIT/GPL";
        let load = [
            BPF_PROG_TYPE_XDP | (instructions.len() as u64) << 32,
            instructions.as_ptr() as u64,
            licence.as_ptr() as u64,
        ];
        let program = bpf(BPF_PROG_LOAD, &load)?;
        let link =
            [program.as_raw_fd() as u64 | u64::from(ifindex) << 32, BPF_XDP | XDP_FLAGS_DRV_MODE << 32];
        let link = bpf(BPF_LINK_CREATE, &link)?;
        Ok(Redirect { map, _program: program, _link: link })
    }

    /// Sends what arrives on `queue` to `socket`.
    pub(super) fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let update = [self.map.as_raw_fd() as u64, (&raw const queue) as u64, (&raw const value) as u64, 0];
        call(BPF_MAP_UPDATE_ELEM, &update).map(drop)
    }
}

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS);`
fn program(map: &OwnedFd) -> [u64; 6] {
    // opcode u8, destination and source registers u4 each, offset i16, immediate i32.
    let instruction = |opcode: u64, destination: u64, source: u64, offset: u64, immediate: u64| {
        opcode | destination << 8 | source << 12 | offset << 16 | immediate << 32
    };
    [
        instruction(0x61, 2, 1, 16, 0),                     // r2 = *(u32 *)(r1 + 16)
        instruction(0x18, 1, 1, 0, map.as_raw_fd() as u64), // r1 = map, two slots
        0,
        instruction(0xb7, 3, 0, 0, 2),  // r3 = XDP_PASS
        instruction(0x85, 0, 0, 0, 51), // call bpf_redirect_map
        instruction(0x95, 0, 0, 0, 0),  // exit
    ]
}

fn bpf(command: libc::c_long, attributes: &[u64]) -> io::Result<OwnedFd> {
    let fd = call(command, attributes)?;
    // SAFETY: the kernel has just opened `fd` for this process and nobody else knows the number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call(command: libc::c_long, attributes: &[u64]) -> io::Result<i32> {
    // SAFETY: the attributes are valid for reads of their size, and so is what they point to.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), size_of_val(attributes)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}
