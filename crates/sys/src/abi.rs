//! C's types and numbers for sockets, for an interface in C: what `sys/socket.h`, `netinet/in.h`, `netinet/tcp.h`, `poll.h` and
//! `sys/uio.h` declare. Nothing here calls anything.

pub use libc::{
    AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_TRUNC, POLLERR,
    POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP, SHUT_RD, SHUT_RDWR, SHUT_WR, SO_ACCEPTCONN, SO_ERROR,
    SO_KEEPALIVE, SO_LINGER, SO_PROTOCOL, SO_RCVBUF, SO_REUSEADDR, SO_SNDBUF, SO_TYPE, SOCK_CLOEXEC,
    SOCK_DGRAM, SOCK_NONBLOCK, SOCK_STREAM, SOL_SOCKET, TCP_CONGESTION, TCP_FASTOPEN, TCP_INFO, TCP_KEEPCNT,
    TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_MAXSEG, TCP_NODELAY, TCP_USER_TIMEOUT,
};
pub use libc::{iovec, msghdr, pollfd, sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
