//! Socket addresses: C's `struct sockaddr` and ours.

use crate::abi::{AF_INET, AF_INET6, sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use crate::border::{Errno, get};
use std::mem::offset_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use tidegate_sys::errno;

/// An address that the caller named.
///
/// # Safety
/// Unless it is null, `addr` must be valid for reads of `len` bytes.
pub(crate) unsafe fn read(addr: *const sockaddr, len: socklen_t) -> Result<SocketAddr, Errno> {
    let len = len as usize;
    if addr.is_null() {
        return Err(Errno(errno::EFAULT));
    }
    if len < size_of::<sa_family_t>() {
        return Err(Errno(errno::EINVAL));
    }
    // SAFETY: not null, and as long as the family, which comes first.
    let family = i32::from(unsafe { get(addr.cast::<sa_family_t>()) }?);
    match family {
        AF_INET if len >= size_of::<sockaddr_in>() => {
            // SAFETY: as long as the structure, whose bit patterns are all valid.
            let v4 = unsafe { get(addr.cast::<sockaddr_in>()) }?;
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok(SocketAddr::new(ip.into(), u16::from_be(v4.sin_port)))
        }
        // The scope may be missing (RFC 2133 has none).
        AF_INET6 if len >= offset_of!(sockaddr_in6, sin6_scope_id) => {
            // SAFETY: as long as what is read of the structure, whose bit patterns are all valid.
            let (ip, port) = unsafe { read_v6(addr.cast()) }?;
            Ok(SocketAddr::new(Ipv6Addr::from(ip).into(), u16::from_be(port)))
        }
        AF_INET | AF_INET6 => Err(Errno(errno::EINVAL)),
        _ => Err(Errno(errno::EAFNOSUPPORT)),
    }
}

/// # Safety
/// `addr` must be valid for reads up to the scope.
unsafe fn read_v6(addr: *const u8) -> Result<([u8; 16], u16), Errno> {
    // SAFETY: within what the caller promises.
    let ip = unsafe { get(addr.add(offset_of!(sockaddr_in6, sin6_addr)).cast::<[u8; 16]>()) }?;
    // SAFETY: as above.
    let port = unsafe { get(addr.add(offset_of!(sockaddr_in6, sin6_port)).cast::<u16>()) }?;
    Ok((ip, port))
}

/// Writes an address where the caller wants it, cut to the room there is, and its whole length to `len`.
///
/// # Safety
/// Unless one of them is null, `len` must be valid for reads and writes, and `addr` for writes of as many bytes as it says.
pub(crate) unsafe fn write(from: SocketAddr, addr: *mut sockaddr, len: *mut socklen_t) -> Result<(), Errno> {
    if addr.is_null() || len.is_null() {
        return Ok(());
    }
    // SAFETY: not null; the caller promises the rest.
    let room = unsafe { get(len) }? as usize;
    let (bytes, whole) = emit(from);
    // SAFETY: `addr` is valid for writes of `room` bytes, and `bytes` has `whole`.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), addr.cast(), room.min(whole)) };
    // SAFETY: not null, valid for a write.
    unsafe { len.write_unaligned(whole as socklen_t) };
    Ok(())
}

/// The address as C has it, and how much of the bytes that is.
fn emit(from: SocketAddr) -> ([u8; size_of::<sockaddr_in6>()], usize) {
    let mut bytes = [0; size_of::<sockaddr_in6>()];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    let port = from.port().to_be_bytes();
    let len = match from {
        SocketAddr::V4(v4) => {
            put(0, &(AF_INET as sa_family_t).to_ne_bytes());
            put(offset_of!(sockaddr_in, sin_port), &port);
            put(offset_of!(sockaddr_in, sin_addr), &v4.ip().octets());
            size_of::<sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            put(0, &(AF_INET6 as sa_family_t).to_ne_bytes());
            put(offset_of!(sockaddr_in6, sin6_port), &port);
            put(offset_of!(sockaddr_in6, sin6_addr), &v6.ip().octets());
            size_of::<sockaddr_in6>()
        }
    };
    (bytes, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_went() {
        for text in ["10.77.0.2:80", "[fd77::2]:65535", "0.0.0.0:0"] {
            let address: SocketAddr = text.parse().unwrap();
            let (mut bytes, mut len) = ([0u8; 28], 28);
            // SAFETY: a buffer of 28 bytes, and its length.
            unsafe { write(address, bytes.as_mut_ptr().cast(), &mut len) }.unwrap();
            // SAFETY: the same buffer.
            assert_eq!(unsafe { read(bytes.as_ptr().cast(), len) }, Ok(address));
            // SAFETY: the same buffer, which is longer.
            assert_eq!(unsafe { read(bytes.as_ptr().cast(), 15) }, Err(Errno(errno::EINVAL)));
        }
        // SAFETY: null is looked at.
        assert_eq!(unsafe { read(std::ptr::null(), 16) }, Err(Errno(errno::EFAULT)));
    }
}
