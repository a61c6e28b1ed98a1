//! getsockopt and setsockopt.
//!
//! | level | name | |
//! |---|---|---|
//! | SOL_SOCKET | SO_ERROR, SO_TYPE, SO_ACCEPTCONN, SO_PROTOCOL | read only |
//! | | SO_KEEPALIVE, SO_LINGER, SO_SNDBUF, SO_RCVBUF | |
//! | | SO_REUSEADDR | changes nothing: a port is free as soon as its listener is closed |
//! | IPPROTO_TCP | TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT, TCP_CONGESTION | |
//! | | TCP_FASTOPEN | of a listener: on or off |
//! | | TCP_INFO, TCP_MAXSEG | read only |

use crate::abi::socklen_t;
use crate::border::{Errno, bytes, call, get};
use crate::frames::socket;
use crate::info;
use crate::protocols;
use crate::stacks::{Stack, with, with_host};
use std::ffi::{c_int, c_void};
use tidegate_base::Duration;
use tidegate_socket::{Error, Host, Options, SocketId};
use tidegate_stack::Egress;
use tidegate_sys::abi::{
    IPPROTO_TCP, IPPROTO_UDP, SO_ACCEPTCONN, SO_ERROR, SO_KEEPALIVE, SO_LINGER, SO_PROTOCOL, SO_RCVBUF,
    SO_REUSEADDR, SO_SNDBUF, SO_TYPE, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET, TCP_CONGESTION, TCP_FASTOPEN,
    TCP_INFO, TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_MAXSEG, TCP_NODELAY, TCP_USER_TIMEOUT,
};
use tidegate_sys::errno;

const UNKNOWN: Errno = Errno(errno::ENOPROTOOPT);
const INVALID: Errno = Errno(errno::EINVAL);

/// The longest name of a congestion control (TCP_CA_NAME_MAX).
const NAME_LEN: usize = 16;

/// A value as C has it.
enum Value {
    Int(c_int),
    /// `struct linger`: on or off, seconds.
    Linger(c_int, c_int),
    Name(&'static str),
    Info([u8; info::INFO_LEN]),
}

impl Value {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Int(value) => value.to_ne_bytes().into(),
            Self::Linger(on, seconds) => [on.to_ne_bytes(), seconds.to_ne_bytes()].concat(),
            Self::Name(name) => {
                let mut bytes = name.as_bytes().to_vec();
                bytes.resize(NAME_LEN, 0);
                bytes
            }
            Self::Info(bytes) => bytes.to_vec(),
        }
    }
}

fn seconds(time: Duration) -> c_int {
    c_int::try_from(time.as_millis() / 1000).unwrap_or(c_int::MAX)
}

fn positive(value: c_int) -> Result<u64, Errno> {
    u64::try_from(value).ok().filter(|value| *value > 0).ok_or(INVALID)
}

/// What a socket answers for one option.
fn read<E: Egress>(host: &mut Host<E>, id: SocketId, level: c_int, name: c_int) -> Result<Value, Errno> {
    let is_datagram = host.is_datagram(id)?;
    match (level, name) {
        (SOL_SOCKET, SO_ERROR) => {
            return Ok(Value::Int(host.take_error(id)?.map_or(0, Error::number)));
        }
        (SOL_SOCKET, SO_TYPE) => return Ok(Value::Int(if is_datagram { SOCK_DGRAM } else { SOCK_STREAM })),
        (SOL_SOCKET, SO_PROTOCOL) => {
            return Ok(Value::Int(if is_datagram { IPPROTO_UDP } else { IPPROTO_TCP }));
        }
        (SOL_SOCKET, SO_ACCEPTCONN) => return Ok(Value::Int(host.is_listener(id)?.into())),
        (SOL_SOCKET, SO_REUSEADDR) => return Ok(Value::Int(1)),
        (IPPROTO_TCP, _) if is_datagram => return Err(UNKNOWN),
        (IPPROTO_TCP, TCP_INFO) => {
            let is_listener = host.is_listener(id)?;
            let info = host.info(id).map_or_else(|_| info::of_none(is_listener), |info| info::of(&info));
            return Ok(Value::Info(info));
        }
        (IPPROTO_TCP, TCP_MAXSEG) => {
            // 536 is what TCP assumes of a peer that does not say (RFC 9293 section 3.7.1).
            return Ok(Value::Int(host.info(id).map_or(536, |info| info.mss as c_int)));
        }
        _ => {}
    }
    read_setting(host.options(id)?, level, name)
}

fn read_setting(options: &Options, level: c_int, name: c_int) -> Result<Value, Errno> {
    let pace = &options.keep_alive_pace;
    Ok(match (level, name) {
        (SOL_SOCKET, SO_KEEPALIVE) => Value::Int(options.keep_alive.into()),
        (SOL_SOCKET, SO_LINGER) => {
            Value::Linger(options.linger.is_some().into(), options.linger.map_or(0, seconds))
        }
        (SOL_SOCKET, SO_SNDBUF) => Value::Int(options.send_buffer_len as c_int),
        (SOL_SOCKET, SO_RCVBUF) => Value::Int(options.receive_buffer_len as c_int),
        (IPPROTO_TCP, TCP_NODELAY) => Value::Int(options.no_delay.into()),
        (IPPROTO_TCP, TCP_KEEPIDLE) => Value::Int(seconds(pace.idle)),
        (IPPROTO_TCP, TCP_KEEPINTVL) => Value::Int(seconds(pace.interval)),
        (IPPROTO_TCP, TCP_KEEPCNT) => Value::Int(pace.probe_count_max.into()),
        (IPPROTO_TCP, TCP_USER_TIMEOUT) => Value::Int(options.user_timeout.as_millis() as c_int),
        (IPPROTO_TCP, TCP_CONGESTION) => Value::Name(options.congestion.name),
        (IPPROTO_TCP, TCP_FASTOPEN) => Value::Int(options.option.is_some().into()),
        _ => return Err(UNKNOWN),
    })
}

fn int(value: &[u8]) -> Result<c_int, Errno> {
    value.first_chunk().map(|bytes| c_int::from_ne_bytes(*bytes)).ok_or(INVALID)
}

fn linger(value: &[u8]) -> Result<Option<Duration>, Errno> {
    let (on, after) = (int(value)?, int(value.get(4..).unwrap_or_default())?);
    let after = u64::try_from(after).map_err(|_| INVALID)?;
    Ok((on != 0).then(|| Duration::from_secs(after)))
}

fn change(options: &mut Options, level: c_int, name: c_int, value: &[u8]) -> Result<(), Errno> {
    let pace = &mut options.keep_alive_pace;
    match (level, name) {
        (SOL_SOCKET, SO_REUSEADDR) => drop(int(value)?),
        (SOL_SOCKET, SO_KEEPALIVE) => options.keep_alive = int(value)? != 0,
        (SOL_SOCKET, SO_LINGER) => options.linger = linger(value)?,
        (SOL_SOCKET, SO_SNDBUF) => options.send_buffer_len = positive(int(value)?)? as u32,
        (SOL_SOCKET, SO_RCVBUF) => options.receive_buffer_len = positive(int(value)?)? as u32,
        (IPPROTO_TCP, TCP_NODELAY) => options.no_delay = int(value)? != 0,
        (IPPROTO_TCP, TCP_KEEPIDLE) => pace.idle = Duration::from_secs(positive(int(value)?)?),
        (IPPROTO_TCP, TCP_KEEPINTVL) => pace.interval = Duration::from_secs(positive(int(value)?)?),
        (IPPROTO_TCP, TCP_KEEPCNT) => {
            pace.probe_count_max = u8::try_from(positive(int(value)?)?).map_err(|_| INVALID)?;
        }
        (IPPROTO_TCP, TCP_USER_TIMEOUT) => {
            options.user_timeout = Duration::from_millis(positive(int(value)?)?)
        }
        (IPPROTO_TCP, TCP_CONGESTION) => {
            let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
            protocols::set_congestion(options, std::str::from_utf8(name).map_err(|_| INVALID)?)?;
        }
        (IPPROTO_TCP, TCP_FASTOPEN) => {
            options.option = match int(value)? {
                0 => None,
                1.. => Some(protocols::fast_open()?),
                _ => return Err(INVALID),
            };
        }
        _ => return Err(UNKNOWN),
    }
    Ok(())
}

fn set(stack: &mut Stack, fd: c_int, level: c_int, name: c_int, value: &[u8]) -> Result<c_int, Errno> {
    let id = socket(fd)?;
    with_host!(stack, host => {
        let mut options = host.options(id).map_err(|error| if error == Error::NotSupported { UNKNOWN } else { error.into() })?.clone();
        if (level, name) == (IPPROTO_TCP, TCP_FASTOPEN) && host.info(id).is_ok() {
            // It is for handshakes, and this one has had its own.
            return Err(INVALID);
        }
        change(&mut options, level, name, value)?;
        host.set_options(id, options)?;
        Ok(0)
    })
}

/// Reads an option into `value`, cut to the `*len` bytes there are; `*len` becomes how many were written. -1: EBADF, EFAULT,
/// ENOPROTOOPT.
///
/// # Safety
/// `len` must be valid for reads and writes, and `value` for writes of as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_getsockopt(
    stack: c_int,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let room = unsafe { get(len) }? as usize;
        if value.is_null() {
            return Err(Errno(errno::EFAULT));
        }
        let answer =
            with(stack, |stack| with_host!(stack, host => read(host, socket(fd)?, level, name)))?.bytes();
        let count = answer.len().min(room);
        // SAFETY: `value` is not null and valid for writes of `room` bytes, and `answer` has `count`.
        unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), value.cast(), count) };
        // SAFETY: read above, and valid for a write.
        unsafe { len.write_unaligned(count as socklen_t) };
        Ok(0)
    })
}

/// Sets an option. Lengths of buffers become the next that works. -1: EBADF, EFAULT, EINVAL, ENOPROTOOPT, ENOENT (no such
/// congestion control).
///
/// # Safety
/// `value` must be valid for reads of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tg_setsockopt(
    stack: c_int,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise.
        let value = unsafe { bytes(value.cast(), len as usize) }?;
        with(stack, |stack| set(stack, fd, level, name, value))
    })
}
