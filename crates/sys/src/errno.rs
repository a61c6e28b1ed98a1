//! The kernel's error numbers by name, and the calling thread's `errno`, for an interface in C.

pub use libc::{
    EACCES, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN, EALREADY, EBADF, ECONNABORTED, ECONNREFUSED,
    ECONNRESET, EDESTADDRREQ, EFAULT, EHOSTUNREACH, EINPROGRESS, EINVAL, EIO, EISCONN, EMFILE, EMSGSIZE,
    ENOBUFS, ENOENT, ENOMEM, ENOPROTOOPT, ENOTCONN, EOPNOTSUPP, EPIPE, EPROTONOSUPPORT, ETIMEDOUT,
};

/// Sets the calling thread's `errno`. Source: errno(3).
pub fn set(number: i32) {
    // SAFETY: takes no pointers; what it returns is valid for as long as this thread lives.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the thread's own integer, which nobody else uses while this thread is here.
    unsafe { place.write(number) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_set_is_the_last_error() {
        super::set(super::ENOTCONN);
        assert_eq!(std::io::Error::last_os_error().kind(), std::io::ErrorKind::NotConnected);
    }
}
