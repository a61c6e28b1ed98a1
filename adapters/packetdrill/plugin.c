/* libtidegate under packetdrill:
 *
 *     packetdrill --so_filename=./tidegate-packetdrill.so [--so_flags=ADDRESS,...] SCRIPT
 *
 * packetdrill's packets are the stack's wire; a link header is put before each and taken off again. The stack never blocks, so
 * a call on a socket without O_NONBLOCK is tried again here until it goes on. Every call lets the stack send, so that packets
 * carry the time at which they were caused; usleep keeps its timers. epoll, pipe and splice are not there (ENOSYS).
 */
#include "interface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <tidegate.h>

enum { LINK_LEN = 14, FRAME_LEN_MAX = 2048, BLOCKING_COUNT_MAX = 4096 };

/* Where packetdrill's scripts have the machine under test, unless flags say otherwise. */
static const char default_addresses[] = "192.168.0.1,fd3d:fa7b:d17d::1";
static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const long long patience_us = 10000000;

/* A packet that the stack sent, oldest first. */
struct sent {
    struct sent *next;
    long long time_us;
    size_t len;
    uint8_t packet[FRAME_LEN_MAX];
};

struct plugin {
    int stack;
    pthread_mutex_t lock;
    struct sent *first, **last;
    /* Sockets that are to block. */
    int blocking[BLOCKING_COUNT_MAX];
    size_t blocking_count;
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long long wall_us(void) {
    struct timeval t;
    gettimeofday(&t, NULL);
    return (long long)t.tv_sec * 1000000 + t.tv_usec;
}

/* Has the stack send what it wants to send now, and keeps that for netdev_receive. */
static void pump(struct plugin *p) {
    uint8_t frame[FRAME_LEN_MAX];
    ssize_t len;
    int number = errno;
    pthread_mutex_lock(&p->lock);
    tg_run(p->stack, now_ns());
    while ((len = tg_frame_out(p->stack, frame, sizeof frame)) > LINK_LEN) {
        struct sent *sent = calloc(1, sizeof *sent);
        int is_ip = (frame[12] == 0x08 && frame[13] == 0x00) || (frame[12] == 0x86 && frame[13] == 0xdd);
        if (!sent || !is_ip) { free(sent); continue; }
        sent->time_us = wall_us();
        sent->len = (size_t)len - LINK_LEN;
        memcpy(sent->packet, frame + LINK_LEN, sent->len);
        *p->last = sent;
        p->last = &sent->next;
    }
    pthread_mutex_unlock(&p->lock);
    errno = number;
}

static void nap(void) {
    struct timespec t = {0, 100000};
    nanosleep(&t, NULL);
}

static size_t *find_blocking(struct plugin *p, int fd, size_t *at) {
    for (*at = 0; *at < p->blocking_count; ++*at)
        if (p->blocking[*at] == fd) return at;
    return NULL;
}

static int is_blocking(struct plugin *p, int fd) {
    size_t at;
    pthread_mutex_lock(&p->lock);
    int found = find_blocking(p, fd, &at) != NULL;
    pthread_mutex_unlock(&p->lock);
    return found;
}

static void set_blocking(struct plugin *p, int fd, int on) {
    size_t at;
    pthread_mutex_lock(&p->lock);
    if (find_blocking(p, fd, &at)) {
        if (!on) p->blocking[at] = p->blocking[--p->blocking_count];
    } else if (on && p->blocking_count < BLOCKING_COUNT_MAX) {
        p->blocking[p->blocking_count++] = fd;
    }
    pthread_mutex_unlock(&p->lock);
}

/* Tries a call until it goes on, if its socket blocks. */
#define UNTIL_DONE(type, fd, flags, call)                                                              \
    do {                                                                                               \
        struct plugin *p = userdata;                                                                   \
        type result;                                                                                   \
        while (errno = 0, result = (call), pump(p),                                                    \
               result < 0 && errno == EAGAIN && is_blocking(p, fd) && !((flags) & MSG_DONTWAIT)) nap(); \
        return result;                                                                                 \
    } while (0)

static int pd_socket(void *userdata, int domain, int kind, int protocol) {
    struct plugin *p = userdata;
    int fd = tg_socket(p->stack, domain, kind, protocol);
    if (fd >= 0) set_blocking(p, fd, !(kind & SOCK_NONBLOCK));
    return fd;
}

static int pd_bind(void *userdata, int fd, const struct sockaddr *addr, socklen_t len) {
    return tg_bind(((struct plugin *)userdata)->stack, fd, addr, len);
}

static int pd_listen(void *userdata, int fd, int backlog) {
    return tg_listen(((struct plugin *)userdata)->stack, fd, backlog);
}

static int accept_now(struct plugin *p, int fd, struct sockaddr *addr, socklen_t *len) {
    int accepted = tg_accept(p->stack, fd, addr, len);
    if (accepted >= 0) set_blocking(p, accepted, 1);
    return accepted;
}

static int pd_accept(void *userdata, int fd, struct sockaddr *addr, socklen_t *len) {
    UNTIL_DONE(int, fd, 0, accept_now(p, fd, addr, len));
}

static int pd_connect(void *userdata, int fd, const struct sockaddr *addr, socklen_t len) {
    struct plugin *p = userdata;
    int result, error = 0;
    socklen_t error_len = sizeof error;
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    tg_set_neighbour(p->stack, addr, len, peer_mac);
    result = tg_connect(p->stack, fd, addr, len);
    pump(p);
    if (result == 0 || errno != EINPROGRESS || !is_blocking(p, fd)) return result;
    while (tg_poll(p->stack, &polled, 1, 0) == 0) pump(p), nap();
    if (tg_getsockopt(p->stack, fd, SOL_SOCKET, SO_ERROR, &error, &error_len)) return -1;
    return error ? (errno = error, -1) : 0;
}

static ssize_t pd_read(void *userdata, int fd, void *data, size_t len) {
    UNTIL_DONE(ssize_t, fd, 0, tg_read(p->stack, fd, data, len));
}

static ssize_t pd_readv(void *userdata, int fd, const struct iovec *pieces, int count) {
    UNTIL_DONE(ssize_t, fd, 0, tg_readv(p->stack, fd, pieces, count));
}

static ssize_t pd_recv(void *userdata, int fd, void *data, size_t len, int flags) {
    UNTIL_DONE(ssize_t, fd, flags, tg_recv(p->stack, fd, data, len, flags));
}

static ssize_t pd_recvfrom(void *userdata, int fd, void *data, size_t len, int flags, struct sockaddr *addr,
                           socklen_t *addr_len) {
    UNTIL_DONE(ssize_t, fd, flags, tg_recvfrom(p->stack, fd, data, len, flags, addr, addr_len));
}

static ssize_t pd_recvmsg(void *userdata, int fd, struct msghdr *message, int flags) {
    UNTIL_DONE(ssize_t, fd, flags, tg_recvmsg(p->stack, fd, message, flags));
}

static ssize_t pd_write(void *userdata, int fd, const void *data, size_t len) {
    UNTIL_DONE(ssize_t, fd, 0, tg_write(p->stack, fd, data, len));
}

static ssize_t pd_writev(void *userdata, int fd, const struct iovec *pieces, int count) {
    UNTIL_DONE(ssize_t, fd, 0, tg_writev(p->stack, fd, pieces, count));
}

static ssize_t pd_send(void *userdata, int fd, const void *data, size_t len, int flags) {
    UNTIL_DONE(ssize_t, fd, flags, tg_send(p->stack, fd, data, len, flags));
}

static ssize_t pd_sendto(void *userdata, int fd, const void *data, size_t len, int flags, const struct sockaddr *addr,
                         socklen_t addr_len) {
    if (addr) tg_set_neighbour(((struct plugin *)userdata)->stack, addr, addr_len, peer_mac);
    UNTIL_DONE(ssize_t, fd, flags, tg_sendto(p->stack, fd, data, len, flags, addr, addr_len));
}

static ssize_t pd_sendmsg(void *userdata, int fd, const struct msghdr *message, int flags) {
    if (message && message->msg_name)
        tg_set_neighbour(((struct plugin *)userdata)->stack, message->msg_name, message->msg_namelen, peer_mac);
    UNTIL_DONE(ssize_t, fd, flags, tg_sendmsg(p->stack, fd, message, flags));
}

static int pd_fcntl(void *userdata, int fd, int command, ...) {
    struct plugin *p = userdata;
    va_list rest;
    va_start(rest, command);
    int value = command == F_SETFL ? va_arg(rest, int) : 0;
    va_end(rest);
    switch (command) {
    case F_GETFL: return O_RDWR | (is_blocking(p, fd) ? 0 : O_NONBLOCK);
    case F_SETFL: return set_blocking(p, fd, !(value & O_NONBLOCK)), 0;
    default: return errno = EINVAL, -1;
    }
}

static int pd_ioctl(void *userdata, int fd, unsigned long request, ...) {
    struct plugin *p = userdata;
    size_t unread, unacknowledged;
    va_list rest;
    va_start(rest, request);
    int *value = va_arg(rest, int *);
    va_end(rest);
    if (request == FIONBIO) return set_blocking(p, fd, !*value), 0;
    if (request != SIOCINQ && request != SIOCOUTQ) return errno = EINVAL, -1;
    if (tg_buffered(p->stack, fd, &unread, &unacknowledged)) return -1;
    *value = (int)(request == SIOCINQ ? unread : unacknowledged);
    return 0;
}

static int pd_close(void *userdata, int fd) {
    struct plugin *p = userdata;
    int result = tg_close(p->stack, fd);
    pump(p);
    set_blocking(p, fd, 0);
    return result;
}

static int pd_shutdown(void *userdata, int fd, int how) {
    struct plugin *p = userdata;
    int result = tg_shutdown(p->stack, fd, how);
    pump(p);
    return result;
}

static int pd_getsockopt(void *userdata, int fd, int level, int name, void *value, socklen_t *len) {
    return tg_getsockopt(((struct plugin *)userdata)->stack, fd, level, name, value, len);
}

static int pd_setsockopt(void *userdata, int fd, int level, int name, const void *value, socklen_t len) {
    struct plugin *p = userdata;
    int result = tg_setsockopt(p->stack, fd, level, name, value, len);
    pump(p);
    return result;
}

static int pd_poll(void *userdata, struct pollfd *sockets, nfds_t count, int timeout_ms) {
    struct plugin *p = userdata;
    long long until = wall_us() + timeout_ms * 1000LL;
    int ready;
    while ((ready = tg_poll(p->stack, sockets, count, 0)) == 0 && (timeout_ms < 0 || wall_us() < until)) pump(p), nap();
    return ready;
}

static int pd_netdev_send(void *userdata, const void *packet, size_t len) {
    struct plugin *p = userdata;
    uint8_t frame[FRAME_LEN_MAX];
    int is_v6 = len > 0 && *(const uint8_t *)packet >> 4 == 6;
    if (len + LINK_LEN > sizeof frame) return errno = EMSGSIZE, -1;
    memcpy(frame, our_mac, 6);
    memcpy(frame + 6, peer_mac, 6);
    frame[12] = is_v6 ? 0x86 : 0x08;
    frame[13] = is_v6 ? 0xdd : 0x00;
    memcpy(frame + LINK_LEN, packet, len);
    int result = tg_frame_in(p->stack, frame, LINK_LEN + len, now_ns());
    pump(p);
    return result;
}

static int pd_netdev_receive(void *userdata, void *packet, size_t *len, long long *time_us) {
    struct plugin *p = userdata;
    struct sent *sent = NULL;
    for (long long until = wall_us() + patience_us; !sent && wall_us() < until;) {
        pump(p);
        pthread_mutex_lock(&p->lock);
        if ((sent = p->first) && !(p->first = sent->next)) p->last = &p->first;
        pthread_mutex_unlock(&p->lock);
        if (!sent) nap();
    }
    if (!sent) return *len = 0, errno = ETIMEDOUT, -1;
    if (*len > sent->len) *len = sent->len;
    memcpy(packet, sent->packet, *len);
    *time_us = sent->time_us;
    free(sent);
    return 0;
}

static int pd_usleep(void *userdata, useconds_t us) {
    for (long long until = wall_us() + us; wall_us() < until; nap()) pump(userdata);
    return 0;
}

static int pd_gettimeofday(void *userdata, struct timeval *time, struct timezone *zone) {
    (void)userdata, (void)zone;
    return gettimeofday(time, NULL);
}

static int no_epoll_create(void *u, int size) { return (void)u, (void)size, errno = ENOSYS, -1; }
static int no_epoll_ctl(void *u, int set, int what, int fd, struct epoll_event *event) {
    return (void)u, (void)set, (void)what, (void)fd, (void)event, errno = ENOSYS, -1;
}
static int no_epoll_wait(void *u, int set, struct epoll_event *events, int count, int timeout) {
    return (void)u, (void)set, (void)events, (void)count, (void)timeout, errno = ENOSYS, -1;
}
static int no_pipe(void *u, int fds[2]) { return (void)u, (void)fds, errno = ENOSYS, -1; }
static int no_splice(void *u, int in, loff_t *at, int out, loff_t *to, size_t len, unsigned int flags) {
    return (void)u, (void)in, (void)at, (void)out, (void)to, (void)len, (void)flags, errno = ENOSYS, -1;
}

static void pd_free(void *userdata) {
    struct plugin *p = userdata;
    if (!p) return;
    tg_stack_free(p->stack);
    for (struct sent *sent = p->first, *next; sent; sent = next) next = sent->next, free(sent);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

__attribute__((visibility("default"))) void packetdrill_interface_init(const char *flags,
                                                                       struct packetdrill_interface *interface) {
    struct plugin *p = calloc(1, sizeof *p);
    if (!p) abort();
    p->last = &p->first;
    pthread_mutex_init(&p->lock, NULL);
    p->stack = tg_stack_new(flags && *flags ? flags : default_addresses, our_mac, 1500);
    if (p->stack < 0) abort();
    tg_run(p->stack, now_ns());
    *interface = (struct packetdrill_interface){
        .userdata = p, .free = pd_free, .socket = pd_socket, .bind = pd_bind, .listen = pd_listen,
        .accept = pd_accept, .connect = pd_connect, .read = pd_read, .readv = pd_readv, .recv = pd_recv,
        .recvfrom = pd_recvfrom, .recvmsg = pd_recvmsg, .write = pd_write, .writev = pd_writev,
        .send = pd_send, .sendto = pd_sendto, .sendmsg = pd_sendmsg, .fcntl = pd_fcntl, .ioctl = pd_ioctl,
        .close = pd_close, .shutdown = pd_shutdown, .getsockopt = pd_getsockopt, .setsockopt = pd_setsockopt,
        .poll = pd_poll, .netdev_send = pd_netdev_send, .netdev_receive = pd_netdev_receive,
        .usleep = pd_usleep, .gettimeofday = pd_gettimeofday, .epoll_create = no_epoll_create,
        .epoll_ctl = no_epoll_ctl, .epoll_wait = no_epoll_wait, .pipe = no_pipe, .splice = no_splice,
    };
}
