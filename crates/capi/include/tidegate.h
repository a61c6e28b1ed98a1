/* libtidegate: TCP in user space, by frames or by sockets. See tidegate(3). */

#ifndef TIDEGATE_H
#define TIDEGATE_H

/* Made from crates/capi by cbindgen; UPDATE=1 cargo test -p tidegate-capi --test header makes it anew. */

#include <poll.h>
#include <stdint.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 Nothing of note.
 */
#define TG_NOTHING 0

/*
 A connection was opened: by a peer, with a listener, or by tg_tcp_connect.
 */
#define TG_NEW_CONNECTION 1

/*
 Bytes arrived: tg_tcp_data has them.
 */
#define TG_NEW_DATA 2

/*
 There is room again for bytes that tg_tcp_output did not take.
 */
#define TG_NEW_ROOM 3

/*
 The peer will send no more; what is written is still sent.
 */
#define TG_PEER_CLOSED 4

/*
 The connection is over, or could not be opened; SO_ERROR says why. Close it.
 */
#define TG_CLOSED 5

/*
 A socket that is ready.
 */
struct tg_event {
  /*
   Which.
   */
  int socket;
  /*
   For what: POLLIN, POLLOUT, POLLERR, POLLHUP, POLLRDHUP.
   */
  short events;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Takes a received Ethernet frame of `len` bytes at the time `now_ns` (nanoseconds of a clock that never goes back). Returns
 what it came to, TG_NOTHING to TG_CLOSED, with the connection in `connection` (unless that is NULL); there may be more:
 tg_tcp_next. -1: EBADF, EFAULT, EINVAL, EMSGSIZE, ENOBUFS, EOPNOTSUPP.

 `frame` must be valid for reads of `len` bytes, `connection` for a write, or be NULL.
 */
int tg_tcp_input(int stack,
                 const void *frame,
                 size_t len,
                 uint64_t now_ns,
                 int *connection);

/*
 Takes a frame as tg_tcp_input does, and leaves what it came to for tg_wait and tg_poll. Returns 0, or -1.

 `frame` must be valid for reads of `len` bytes, or be NULL.
 */
int tg_frame_in(int stack, const void *frame, size_t len, uint64_t now_ns);

/*
 The next thing of note, as from tg_tcp_input, until that is TG_NOTHING.

 `connection` must be valid for a write, or be NULL.
 */
int tg_tcp_next(int stack, int *connection);

/*
 Listens at `addr`, with at most `backlog` connections waiting. Returns the listener, for tg_close, or -1.

 `addr` must be valid for reads of `len` bytes, or be NULL.
 */
int tg_tcp_listen(int stack, const struct sockaddr *addr, socklen_t len, int backlog);

/*
 Begins to open a connection to `addr`; TG_NEW_CONNECTION says that it is open. Returns it, or -1.

 `addr` must be valid for reads of `len` bytes, or be NULL.
 */
int tg_tcp_connect(int stack, const struct sockaddr *addr, socklen_t len);

/*
 Adds `len` bytes to what a connection sends; they are copied. Returns how many were taken, or -1 (EAGAIN, EPIPE, ...).

 `data` must be valid for reads of `len` bytes.
 */
ssize_t tg_tcp_output(int stack, int connection, const void *data, size_t len);

/*
 Copies up to `len` received bytes, which stay where they are. Returns how many, 0 at the end, or -1 (EAGAIN, ECONNRESET, ...).

 `data` must be valid for writes of `len` bytes.
 */
ssize_t tg_tcp_peek(int stack,
                    int connection,
                    void *data,
                    size_t len);

/*
 The received bytes where they are, `len` of them; good until the next call on this stack. NULL, with errno EAGAIN: none now;
 with errno 0: the end. tg_tcp_consume takes away what was used.

 `len` must be valid for a write. No other thread may use the stack while the bytes are used.
 */
const uint8_t *tg_tcp_data(int stack,
                           int connection,
                           size_t *len);

/*
 Takes the first `len` received bytes away: as many more may arrive. Returns 0, or -1 (EBADF).
 */
int tg_tcp_consume(int stack, int connection, size_t len);

/*
 Closes a connection or a listener: what was written is still sent. Returns 0, or -1 (EBADF).
 */
int tg_tcp_close(int stack, int connection);

/*
 Copies the next frame to send into `frame`, at the time of the last tg_tcp_input or tg_run. Returns its length, 0 if there
 is none, or -1: EMSGSIZE, with the frame kept, if `size` is too small.

 `frame` must be valid for writes of `size` bytes.
 */
ssize_t tg_frame_out(int stack,
                     void *frame,
                     size_t size);

/*
 One round: timers, and what was written. A stack on a port also receives and sends, and knows the time by itself. Returns
 0, or -1 (EBADF, EIO).
 */
int tg_run(int stack,
           uint64_t now_ns);

/*
 When tg_run is due even if no frame arrives, in nanoseconds of the caller's clock (of CLOCK_MONOTONIC for a stack on a
 port); 0: now; INT64_MAX: never. -1: EBADF.
 */
int64_t tg_deadline(int stack);

/*
 Records the link address of the neighbour, or of the gateway to the host, at `addr`, so that it is not asked for. Returns
 0, or -1 (EBADF, EFAULT, EINVAL).

 `addr` must be valid for reads of `len` bytes and `mac` of six, or be NULL.
 */
int tg_set_neighbour(int stack,
                     const struct sockaddr *addr,
                     socklen_t len,
                     const uint8_t *mac);

/*
 As tg_read, into `count` pieces.

 `pieces` must be valid for reads of `count` of them, and each piece for writes, none overlapping another.
 */
ssize_t tg_readv(int stack, int fd, const struct iovec *pieces, int count);

/*
 As tg_write, from `count` pieces.

 `pieces` must be valid for reads of `count` of them, and each piece for reads.
 */
ssize_t tg_writev(int stack, int fd, const struct iovec *pieces, int count);

/*
 As tg_recvfrom, with a message; there is no ancillary data.

 `message` must be valid for reads and writes, and what it points to as recvmsg(2) wants it, or be NULL.
 */
ssize_t tg_recvmsg(int stack, int fd, struct msghdr *message, int flags);

/*
 As tg_sendto, with a message; ancillary data is EINVAL.

 `message` must be valid for reads, and what it points to as sendmsg(2) wants it, or be NULL.
 */
ssize_t tg_sendmsg(int stack, int fd, const struct msghdr *message, int flags);

/*
 Reads an option into `value`, cut to the `*len` bytes there are; `*len` becomes how many were written. -1: EBADF, EFAULT,
 ENOPROTOOPT.

 `len` must be valid for reads and writes, and `value` for writes of as many bytes as it says.
 */
int tg_getsockopt(int stack,
                  int fd,
                  int level,
                  int name,
                  void *value,
                  socklen_t *len);

/*
 Sets an option. Lengths of buffers become the next that works. -1: EBADF, EFAULT, EINVAL, ENOPROTOOPT, ENOENT (no such
 congestion control).

 `value` must be valid for reads of `len` bytes.
 */
int tg_setsockopt(int stack, int fd, int level, int name, const void *value, socklen_t len);

/*
 Opens a socket: AF_INET or AF_INET6, SOCK_STREAM or SOCK_DGRAM (with or without SOCK_NONBLOCK and SOCK_CLOEXEC, which change
 nothing). Which addresses it can have, the stack says. -1: EBADF, EAFNOSUPPORT, EPROTONOSUPPORT, EMFILE.
 */
int tg_socket(int stack,
              int domain,
              int kind,
              int protocol);

/*
 Names the socket's own address and port. -1: EBADF, EFAULT, EINVAL, EADDRINUSE, EADDRNOTAVAIL.

 `addr` must be valid for reads of `len` bytes, or be NULL.
 */
int tg_bind(int stack, int fd, const struct sockaddr *addr, socklen_t len);

/*
 Accepts connections, of which at most `backlog` wait; more are not answered, and ask again. -1: EBADF, EINVAL, EADDRINUSE,
 EOPNOTSUPP, EDESTADDRREQ (it has no address).
 */
int tg_listen(int stack,
              int fd,
              int backlog);

/*
 The next connection that waits, its peer's address in `addr`. -1: EBADF, EINVAL, EAGAIN.

 `len` must be valid for reads and writes, and `addr` for writes of as many bytes as it says, or one of them be NULL.
 */
int tg_accept(int stack, int fd, struct sockaddr *addr, socklen_t *len);

/*
 Begins to open a connection; the socket becomes writable when it is open. For datagrams it names the peer. -1: EINPROGRESS
 (of a stream, always at first), EALREADY, EISCONN, ECONNREFUSED, ETIMEDOUT, EBADF, EFAULT, EINVAL, ...

 `addr` must be valid for reads of `len` bytes, or be NULL.
 */
int tg_connect(int stack,
               int fd,
               const struct sockaddr *addr,
               socklen_t len);

/*
 Gives a socket up; its number is not used again soon. What was written is still sent, unless something that arrived was not
 read or it lingers for no time: then the peer gets a reset. -1: EBADF.
 */
int tg_close(int stack,
             int fd);

/*
 Ends one direction or both: SHUT_RD, SHUT_WR, SHUT_RDWR. -1: EBADF, EINVAL, ENOTCONN.
 */
int tg_shutdown(int stack, int fd, int how);

/*
 The socket's own address. -1: EBADF.

 As for tg_accept.
 */
int tg_getsockname(int stack, int fd, struct sockaddr *addr, socklen_t *len);

/*
 The peer's address. -1: EBADF, ENOTCONN.

 As for tg_accept.
 */
int tg_getpeername(int stack, int fd, struct sockaddr *addr, socklen_t *len);

/*
 Reads up to `len` bytes. 0: the end. -1: EAGAIN, EBADF, ENOTCONN, ECONNRESET, ETIMEDOUT, EFAULT.

 `data` must be valid for writes of `len` bytes.
 */
ssize_t tg_read(int stack, int fd, void *data, size_t len);

/*
 Writes up to `len` bytes; what a round writes is sent together, by the next tg_run, tg_poll or tg_wait. -1: EAGAIN, EBADF,
 ENOTCONN, EPIPE, ECONNRESET, EFAULT.

 `data` must be valid for reads of `len` bytes.
 */
ssize_t tg_write(int stack,
                 int fd,
                 const void *data,
                 size_t len);

/*
 As tg_read. Flags: MSG_PEEK (of streams); MSG_DONTWAIT and MSG_NOSIGNAL change nothing; others are EOPNOTSUPP.

 `data` must be valid for writes of `len` bytes.
 */
ssize_t tg_recv(int stack, int fd, void *data, size_t len, int flags);

/*
 As tg_write, with flags as for tg_recv.

 `data` must be valid for reads of `len` bytes.
 */
ssize_t tg_send(int stack, int fd, const void *data, size_t len, int flags);

/*
 As tg_recv, with the sender's address: of a datagram, or the peer's.

 `data` must be valid for writes of `len` bytes; the others as for tg_accept.
 */
ssize_t tg_recvfrom(int stack, int fd, void *data, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len);

/*
 As tg_send, for a datagram to the address `addr`, or to the connected peer where that is NULL. -1 also: EDESTADDRREQ,
 EMSGSIZE.

 `data` must be valid for reads of `len` bytes and `addr` of `addr_len` bytes, or be NULL.
 */
ssize_t tg_sendto(int stack,
                  int fd,
                  const void *data,
                  size_t len,
                  int flags,
                  const struct sockaddr *addr,
                  socklen_t addr_len);

/*
 Bytes that may be read, and bytes that were written and are not acknowledged (SIOCINQ, SIOCOUTQ). -1: EBADF, ENOTCONN.

 `unread` and `unacknowledged` must be valid for a write, or be NULL.
 */
int tg_buffered(int stack, int fd, size_t *unread, size_t *unacknowledged);

/*
 A stack without a port: the caller brings frames (tg_tcp_input) and carries them away (tg_frame_out), and says what time it
 is. `addresses` are its own, with commas between them; `mac` is its six-byte link address; `mtu` the longest IP packet, 1280 to 3600 bytes.
 Returns the stack's number, or -1 (EFAULT, EINVAL, EMFILE).

 `addresses` must be a C string and `mac` have six bytes, or be NULL.
 */
int tg_stack_new(const char *addresses,
                 const uint8_t *mac,
                 size_t mtu);

/*
 Opens a stack on a port. `tap:NAME` makes a TAP device of that name (%d in it: the first free number), whose other end is
 the kernel's; `addresses` as for tg_stack_new. `dev:NAME` takes addresses and ports of the host's on a NIC of its, written
 as in 10.0.0.2:80,[fd77::2]:80, for TCP and UDP; all else stays the host's. Both need root. `mux:NAME` does the same by leave of
 `tidegate daemon --mux`, beside other stacks and as any user; `mux:NAME@PATH` where its socket is not the usual one,
 `mux:NAME/queue=N` for that queue of the NIC, which needs CAP_NET_RAW, and `mux:NAME/memif` for memory shared with the daemon
 instead of a veth. Returns the stack's number, or -1
 (EFAULT, EINVAL, EMFILE, EACCES, EAGAIN, EIO, ENOMEM): tg_open_error says why.

 Both must be C strings or NULL.
 */
int tg_open(const char *port,
            const char *addresses);

/*
 Why tg_open or tg_stack_new failed last on this thread, in words; never NULL. Good until they fail again.
 */
const char *tg_open_error(void);

/*
 Closes a stack with all its sockets; connections end without a word. Returns 0, or -1 (EBADF).
 */
int tg_stack_free(int stack);

/*
 The library's version, as in 0.1.0.
 */
const char *tg_version(void);

/*
 Waits until one of `count` sockets is ready for what its `events` ask, or `timeout_ms` milliseconds have passed (negative:
 for ever), and runs the stack meanwhile. Returns how many are ready, or -1: EBADF, EFAULT, EINVAL. A stack without a port
 does not wait.

 `sockets` must be valid for reads and writes of `count` entries.
 */
int tg_poll(int stack,
            struct pollfd *sockets,
            size_t count,
            int timeout_ms);

/*
 Waits until sockets are ready, or `timeout_ms` milliseconds have passed (negative: for ever), and runs the stack meanwhile.
 Fills up to `count` of `events` and returns how many, or -1: EBADF, EFAULT, EINVAL. A socket is named once for what came:
 accept, read or write until EAGAIN. A stack without a port does not wait.

 `events` must be valid for writes of `count` entries.
 */
int tg_wait(int stack,
            struct tg_event *events,
            int count,
            int timeout_ms);

/*
 A descriptor for poll, select or epoll, readable whenever tg_run has something to do; tg_wait with a timeout of 0 then tells
 which sockets are ready. It is the stack's: do not close it. -1: EBADF, EOPNOTSUPP (a stack without a port).
 */
int tg_fd(int stack);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDEGATE_H */
