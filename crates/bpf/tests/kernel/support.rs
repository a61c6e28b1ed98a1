//! A loaded program, set up as the golden packets expect it.

use std::io;
use std::net::IpAddr;
use std::os::fd::{FromRawFd, OwnedFd};

use tidegate_bpf::{LoadError, LoadOptions, Reason, Tuple, Verdict, XdpProgram};

use crate::reference::Registered;

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
    Registered::from([
        (Tuple::tcp(address("192.0.2.1"), 80), Verdict::Socket),
        (Tuple::udp(address("192.0.2.1"), 53), Verdict::Socket),
        (Tuple::tcp(address("2001:db8::1"), 80), Verdict::Socket),
        (Tuple::udp(address("2001:db8::1"), 53), Verdict::Socket),
        (Tuple::tcp(address("0.0.0.0"), 8080), Verdict::Socket),
        (Tuple::tcp(address("192.0.2.9"), 8080), Verdict::Pass),
        (Tuple::udp(address("::"), 5353), Verdict::Socket),
    ])
}

/// Loads the program with [`registered`] in it.
pub(crate) fn load_registered() -> Option<XdpProgram> {
    let program = load()?;
    for (tuple, verdict) in registered() {
        program.register(tuple, verdict).expect("a new tuple can be registered");
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
            assert_eq!(run.verdict, reason.verdict(), "the verdict is that of its reason, {}", reason.name());
            (run.verdict, reason)
        }
        _ => panic!("one frame was counted as {reasons:?}"),
    }
}

/// An AF_XDP socket that is bound to nothing, but has a place in a map.
pub(crate) fn xdp_socket() -> OwnedFd {
    const AF_XDP: i32 = 44;
    const SOCK_RAW: i32 = 3;
    unsafe extern "C" {
        safe fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
    }
    let fd = socket(AF_XDP, SOCK_RAW, 0);
    assert!(fd >= 0, "no AF_XDP socket: {}", io::Error::last_os_error());
    // SAFETY: the kernel just returned this descriptor, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
