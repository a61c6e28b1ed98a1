//! Random bytes of the kernel, for secrets: SipHash keys, initial sequence numbers, identifiers.
//!
//! Not for the data path: one call costs a system call. Seed a generator of `tidegate-base` with it.

use std::io;

use crate::syscall::check_len;

/// The kernel had no random bytes: it is older than Linux 3.17, or a seccomp filter forbids getrandom(2).
#[derive(Debug, thiserror::Error)]
#[error(
    "could not read {len} random bytes with getrandom(2): {source}; allow that call in the seccomp filter"
)]
pub struct RandomError {
    /// How many bytes were wanted.
    pub len: usize,
    /// What the kernel said.
    pub source: io::Error,
}

/// Fills `bytes` from the kernel's generator; waits only in the first moments after boot.
///
/// Needs no capability. Source: getrandom(2).
pub fn fill(bytes: &mut [u8]) -> Result<(), RandomError> {
    let len = bytes.len();
    let mut rest = bytes;
    while !rest.is_empty() {
        // SAFETY: `rest` is valid for writes of its length.
        let got = check_len(unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) });
        match got {
            Ok(count) => rest = &mut rest[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(RandomError { len, source }),
        }
    }
    Ok(())
}

/// `N` random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut array = [0; N];
    fill(&mut array)?;
    Ok(array)
}

/// One random number, each value equally likely.
pub fn u64() -> Result<u64, RandomError> {
    Ok(u64::from_ne_bytes(bytes()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_keys_differ() {
        assert_ne!(super::bytes::<16>().unwrap(), super::bytes::<16>().unwrap());
    }

    #[test]
    fn nothing_asked_is_nothing_done() {
        super::fill(&mut []).unwrap();
    }
}
