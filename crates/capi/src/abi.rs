//! C's types and numbers, under the names that the header uses.

pub(crate) use tidegate_sys::abi::{
    AF_INET, AF_INET6, iovec, msghdr, pollfd, sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, socklen_t,
};

#[expect(non_camel_case_types, reason = "C's name")]
pub(crate) type ssize_t = isize;
