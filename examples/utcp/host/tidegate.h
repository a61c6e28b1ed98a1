/* The host's sockets under the names that http.c uses of tidegate.h: the same server on the host's TCP, to compare the two.
 *
 *     make http-host; ./http-host host any 9000 [page.html]
 *
 * A stack is an epoll descriptor here, and a socket its own. Events come by the edge, as tg_wait's do.
 */
#pragma once
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct tg_event {
    int socket;
    short events;
};

static inline int tg_open(const char *port, const char *addresses) {
    (void)port, (void)addresses;
    return epoll_create1(EPOLL_CLOEXEC);
}

static inline const char *tg_open_error(void) {
    return strerror(errno);
}

/* A port is free as soon as its listener is closed, as with Tidegate's. */
static inline int tg_socket(int stack, int domain, int kind, int protocol) {
    int fd = socket(domain, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol), on = 1;
    (void)stack;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd;
}

static inline int tg_setsockopt(int stack, int fd, int level, int name, const void *value, socklen_t len) {
    (void)stack;
    return setsockopt(fd, level, name, value, len);
}

static inline int tg_bind(int stack, int fd, const struct sockaddr *addr, socklen_t len) {
    (void)stack;
    return bind(fd, addr, len);
}

static inline int host_watch(int stack, int fd) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    return epoll_ctl(stack, EPOLL_CTL_ADD, fd, &event);
}

static inline int tg_listen(int stack, int fd, int backlog) {
    return listen(fd, backlog) || host_watch(stack, fd) ? -1 : 0;
}

static inline int tg_accept(int stack, int fd, struct sockaddr *addr, socklen_t *len) {
    int accepted = accept4(fd, addr, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0 || !host_watch(stack, accepted)) return accepted;
    close(accepted);
    return -1;
}

static inline ssize_t tg_read(int stack, int fd, void *data, size_t len) {
    (void)stack;
    return read(fd, data, len);
}

static inline ssize_t tg_write(int stack, int fd, const void *data, size_t len) {
    (void)stack;
    return send(fd, data, len, MSG_NOSIGNAL);
}

static inline int tg_close(int stack, int fd) {
    (void)stack;
    return close(fd);
}

static inline int tg_wait(int stack, struct tg_event *events, int count, int timeout_ms) {
    struct epoll_event ready[64];
    count = epoll_wait(stack, ready, count < 64 ? count : 64, timeout_ms);
    for (int i = 0; i < count; i++)
        events[i] = (struct tg_event){.socket = ready[i].data.fd, .events = (short)ready[i].events};
    return count;
}
