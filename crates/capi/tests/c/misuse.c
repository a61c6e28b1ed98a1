/* Calls as they should not be, and two stacks that talk to each other by frames. Run under valgrind. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <tidegate.h>

#define FAILS(call, number) (errno = 0, assert((call) == -1), assert(errno == (number)))

static const uint8_t macs[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
static uint64_t now = 1000000;

/* Protocols that are chosen by their names. */
static void choices(int stack, int fd) {
    char name[16];
    socklen_t len = sizeof name;
    int value = 5, datagrams = tg_socket(stack, AF_INET, SOCK_DGRAM, 0);
    assert(!tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_CONGESTION, "bbr", 3));
    assert(!tg_getsockopt(stack, fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) && !strcmp(name, "bbr"));
    assert(!tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_FASTOPEN, &value, sizeof value));
    len = sizeof value;
    assert(!tg_getsockopt(stack, fd, IPPROTO_TCP, TCP_FASTOPEN, &value, &len) && value == 1);
    value = -1;
    FAILS(tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_FASTOPEN, &value, sizeof value), EINVAL);
    FAILS(tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_FASTOPEN, &value, 2), EINVAL);
    FAILS(tg_setsockopt(stack, datagrams, IPPROTO_TCP, TCP_FASTOPEN, &value, sizeof value), ENOPROTOOPT);
    assert(!tg_close(stack, datagrams));
}

static void misuse(int stack) {
    char data[8];
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    int fd = tg_socket(stack, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP), value = 1;
    struct iovec piece = {NULL, 8};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    assert(fd > 0);
    FAILS(tg_socket(stack + 1000, AF_INET, SOCK_STREAM, 0), EBADF);
    FAILS(tg_socket(stack, AF_UNIX, SOCK_STREAM, 0), EAFNOSUPPORT);
    FAILS(tg_socket(stack, AF_INET, SOCK_RAW, 0), EPROTONOSUPPORT);
    FAILS(tg_bind(stack, fd, NULL, len), EFAULT);
    FAILS(tg_bind(stack, fd, (struct sockaddr *)&at, 3), EINVAL);
    FAILS(tg_read(stack, fd, data, sizeof data), ENOTCONN);
    FAILS(tg_write(stack, fd, NULL, 8), EFAULT);
    FAILS(tg_read(stack, fd, data, SIZE_MAX), EINVAL);
    FAILS(tg_recv(stack, fd, data, sizeof data, MSG_OOB), EOPNOTSUPP);
    FAILS(tg_readv(stack, fd, NULL, 2), EFAULT);
    FAILS(tg_readv(stack, fd, &piece, -1), EINVAL);
    FAILS(tg_sendmsg(stack, fd, &message, 0), EFAULT);
    FAILS(tg_recvmsg(stack, fd, NULL, 0), EFAULT);
    FAILS(tg_shutdown(stack, fd, 9), EINVAL);
    FAILS(tg_accept(stack, fd, NULL, NULL), EINVAL);
    FAILS(tg_getsockopt(stack, fd, SOL_SOCKET, SO_ERROR, NULL, &len), EFAULT);
    FAILS(tg_getsockopt(stack, fd, SOL_SOCKET, SO_ERROR, &value, NULL), EFAULT);
    FAILS(tg_getsockopt(stack, fd, SOL_SOCKET, 9999, &value, &len), ENOPROTOOPT);
    FAILS(tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_NODELAY, &value, 2), EINVAL);
    FAILS(tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_CONGESTION, "fastest", 7), ENOENT);
    choices(stack, fd);
    FAILS(tg_poll(stack, NULL, 3, 0), EFAULT);
    FAILS(tg_wait(stack, NULL, 3, 0), EFAULT);
    FAILS(tg_fd(stack), EOPNOTSUPP);
    FAILS(tg_tcp_input(stack, NULL, 60, now, NULL), EFAULT);
    assert(tg_tcp_input(stack, "junk", 4, now, NULL) == TG_NOTHING);
    assert(tg_close(stack, fd) == 0);
    FAILS(tg_close(stack, fd), EBADF);
    FAILS(tg_write(stack, fd, data, 1), EBADF);
    FAILS(tg_close(stack, 3), EBADF);
    FAILS(tg_close(stack, INT_MIN), EBADF);
    FAILS(tg_open("eth0", "10.0.0.1"), EINVAL);
    assert(strstr(tg_open_error(), "tap:NAME"));
    FAILS(tg_open("dev:none", "10.0.0.1"), EINVAL);
    assert(strstr(tg_open_error(), "10.0.0.1"));
    FAILS(tg_open("dev:none", "0.0.0.0:80"), EINVAL);
    assert(strstr(tg_open_error(), "addresses"));
    FAILS(tg_open("mux:none/rank=1", "10.0.0.1:80"), EINVAL);
    assert(strstr(tg_open_error(), "queue=N"));
    FAILS(tg_open("dev:none", "10.0.0.1:80"), EACCES);
    assert(strstr(tg_open_error(), "none"));
    FAILS(tg_stack_new("10.0.0.1,nonsense", macs[0], 1500), EINVAL);
    assert(strstr(tg_open_error(), "nonsense"));
}

/* Carries what one stack sends to the other. */
static int carry(int from, int to, int *connection) {
    static uint8_t frame[2048];
    ssize_t len;
    int status = TG_NOTHING, got;
    while ((len = tg_frame_out(from, frame, sizeof frame)) > 0) {
        got = tg_tcp_input(to, frame, (size_t)len, now, connection);
        for (; got > TG_NOTHING; got = tg_tcp_next(to, connection)) {
            status = got;
            if (got == TG_NEW_CONNECTION || got == TG_NEW_DATA) return got;
        }
    }
    return status;
}

static void options(int stack, int fd) {
    struct linger linger = {1, 30};
    struct tcp_info info;
    char name[16];
    int value = 1;
    socklen_t len = sizeof value;
    assert(!tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value));
    FAILS(tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_FASTOPEN, &value, sizeof value), EINVAL);
    value = 0;
    assert(!tg_getsockopt(stack, fd, IPPROTO_TCP, TCP_NODELAY, &value, &len) && value == 1 && len == sizeof value);
    assert(!tg_setsockopt(stack, fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    linger.l_linger = 0, len = sizeof linger;
    assert(!tg_getsockopt(stack, fd, SOL_SOCKET, SO_LINGER, &linger, &len) && linger.l_linger == 30);
    linger.l_onoff = 0;
    assert(!tg_setsockopt(stack, fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    len = sizeof name;
    assert(!tg_setsockopt(stack, fd, IPPROTO_TCP, TCP_CONGESTION, "newreno", 7));
    assert(!tg_getsockopt(stack, fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) && !strcmp(name, "newreno"));
    memset(&info, 0xff, sizeof info);
    len = sizeof info;
    assert(!tg_getsockopt(stack, fd, IPPROTO_TCP, TCP_INFO, &info, &len) && len == sizeof info);
    assert(info.tcpi_state == TCP_ESTABLISHED && info.tcpi_snd_mss == 1448 && info.tcpi_unacked == 0);
    assert(info.tcpi_options == (TCPI_OPT_TIMESTAMPS | TCPI_OPT_SACK | TCPI_OPT_WSCALE | 8));
    assert(info.tcpi_snd_cwnd == 10 && info.tcpi_rto >= 200000 && info.tcpi_total_retrans == 0);
    len = sizeof value;
    assert(!tg_getsockopt(stack, fd, SOL_SOCKET, SO_TYPE, &value, &len) && value == SOCK_STREAM);
    value = 1;
    len = sizeof value;
    assert(!tg_getsockopt(stack, fd, SOL_SOCKET, SO_ERROR, &value, &len) && value == 0);
}

static void talk(int client, int server) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(80)}, peer;
    socklen_t len = sizeof peer;
    int listener, mine, theirs = -1, other;
    char one[4], two[64];
    struct iovec pieces[2] = {{one, 4}, {two, sizeof two}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    struct pollfd polled = {.events = POLLIN};
    size_t unread, unacknowledged, count;
    const uint8_t *data;
    listener = tg_tcp_listen(server, (struct sockaddr *)&at, sizeof at, 4);
    assert(listener > 0);
    inet_pton(AF_INET, "10.0.0.2", &at.sin_addr);
    mine = tg_tcp_connect(client, (struct sockaddr *)&at, sizeof at);
    assert(mine > 0);
    for (int i = 0; i < 6; i++) {
        now += 1000000;
        if (carry(client, server, &other) == TG_NEW_CONNECTION) theirs = other;
        carry(server, client, &other);
    }
    assert(theirs > 0);
    assert(!tg_getpeername(server, theirs, (struct sockaddr *)&peer, &len) && len == sizeof peer);
    assert(peer.sin_family == AF_INET && peer.sin_addr.s_addr == inet_addr("10.0.0.1"));
    options(client, mine);
    FAILS(tg_read(server, theirs, one, 4), EAGAIN);

    struct iovec words[2] = {{"hello ", 6}, {"world", 5}};
    assert(tg_writev(client, mine, words, 2) == 11);
    assert(carry(client, server, &other) == TG_NEW_DATA && other == theirs);
    polled.fd = theirs;
    assert(tg_poll(server, &polled, 1, 1000) == 1 && polled.revents == POLLIN);
    assert(!tg_buffered(server, theirs, &unread, NULL) && unread == 11);
    assert(!tg_buffered(client, mine, NULL, &unacknowledged) && unacknowledged == 11);
    assert(tg_recv(server, theirs, two, 5, MSG_PEEK) == 5 && !memcmp(two, "hello", 5));
    data = tg_tcp_data(server, theirs, &count);
    assert(data && count == 11 && !memcmp(data, "hello world", 11));
    assert(tg_recvmsg(server, theirs, &message, 0) == 11 && !memcmp(one, "hell", 4) && !memcmp(two, "o world", 7));
    FAILS(tg_recvmsg(server, theirs, &message, 0), EAGAIN);
    assert(tg_send(server, theirs, "answer", 6, MSG_NOSIGNAL) == 6);
    assert(!tg_shutdown(server, theirs, SHUT_WR));
    FAILS(tg_send(server, theirs, "more", 4, 0), EPIPE);
    now += 1000000;
    carry(server, client, &other);
    assert(tg_read(client, mine, two, sizeof two) == 6 && !memcmp(two, "answer", 6));
    assert(tg_read(client, mine, two, sizeof two) == 0);
    errno = EINVAL;
    assert(!tg_tcp_data(client, mine, &count) && errno == 0);
    assert(!tg_tcp_close(client, mine));
    carry(client, server, &other);
    assert(tg_read(server, theirs, two, sizeof two) == 0);
    assert(!tg_tcp_close(server, theirs) && !tg_tcp_close(server, listener));
    carry(server, client, &other);
    assert(tg_deadline(client) > 0);
}

int main(void) {
    int client = tg_stack_new("10.0.0.1,fd00::1", macs[0], 1500), server = tg_stack_new("10.0.0.2", macs[1], 1500);
    assert(client > 0 && server > 0);
    assert(tg_version()[0] == '0');
    misuse(client);
    talk(client, server);
    assert(tg_stack_free(client) == 0 && tg_stack_free(server) == 0);
    FAILS(tg_stack_free(client), EBADF);
    FAILS(tg_run(client, now), EBADF);
    return 0;
}
