/* Drives the plug-in as packetdrill would: the calls and packets of some scripts, sequence numbers relative.
 *
 *     ./scripts ./tidegate-packetdrill.so [SCRIPT]
 */
#include "interface.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, MSS = 1000, PEER_PORT = 40000, PORT = 8080 };

#define CHECK(it)                                                                                  \
    do                                                                                             \
        if (!(it)) fprintf(stderr, "%s:%d: %s (errno %d)\n", script, __LINE__, #it, errno), exit(1); \
    while (0)

static const char *script = "";
static struct packetdrill_interface pd;
static uint32_t our_isn;
static uint16_t peer_port = PEER_PORT;

struct packet {
    struct iphdr ip;
    struct tcphdr tcp;
    uint8_t rest[2000];
};

/* What the stack sent, sequence numbers relative. */
struct segment {
    int flags, window;
    uint32_t seq, ack;
    size_t len;
    struct packet raw;
};

static uint16_t fold(uint32_t sum) {
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static uint32_t add(uint32_t sum, const void *data, size_t len) {
    const uint8_t *bytes = data;
    for (size_t at = 0; at < len; at++) sum += at % 2 ? bytes[at] : (uint32_t)bytes[at] << 8;
    return sum;
}

/* A segment of the peer's: `seq` and `ack` relative, options already padded. */
static void inject(int flags, uint32_t seq, uint32_t ack, int window, size_t len, const void *options, size_t options_len) {
    struct packet p = {0};
    size_t tcp_len = sizeof p.tcp + options_len + len, total = sizeof p.ip + tcp_len;
    p.ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP};
    p.ip.tot_len = htons((uint16_t)total);
    p.ip.saddr = inet_addr("192.0.2.1"), p.ip.daddr = inet_addr("192.168.0.1");
    p.ip.check = htons(fold(add(0, &p.ip, sizeof p.ip)));
    p.tcp.source = htons(peer_port), p.tcp.dest = htons(PORT);
    p.tcp.seq = htonl(seq), p.tcp.ack_seq = htonl(flags & ACK ? our_isn + ack : 0);
    p.tcp.doff = (uint16_t)(5 + options_len / 4) & 15, p.tcp.window = htons((uint16_t)window);
    p.tcp.fin = !!(flags & FIN), p.tcp.syn = !!(flags & SYN), p.tcp.rst = !!(flags & RST);
    p.tcp.psh = !!(flags & PSH), p.tcp.ack = !!(flags & ACK);
    if (options_len) memcpy(p.rest, options, options_len);
    memset(p.rest + options_len, 'd', len);
    uint32_t sum = add(IPPROTO_TCP + (uint32_t)tcp_len, &p.ip.saddr, 8);
    p.tcp.check = htons(fold(add(sum, &p.tcp, tcp_len)));
    CHECK(pd.netdev_send(pd.userdata, &p, total) == 0);
}

static struct segment next_segment(void) {
    struct segment s = {0};
    size_t len = sizeof s.raw;
    long long at;
    CHECK(pd.netdev_receive(pd.userdata, &s.raw, &len, &at) == 0 && at > 0);
    CHECK(s.raw.ip.protocol == IPPROTO_TCP && len == ntohs(s.raw.ip.tot_len) && s.raw.tcp.dest == htons(peer_port));
    uint32_t sum = add(IPPROTO_TCP + (uint32_t)(len - sizeof s.raw.ip), &s.raw.ip.saddr, 8);
    CHECK(fold(add(sum, &s.raw.tcp, len - sizeof s.raw.ip)) == 0);
    s.flags = s.raw.tcp.fin * FIN | s.raw.tcp.syn * SYN | s.raw.tcp.rst * RST | s.raw.tcp.psh * PSH | s.raw.tcp.ack * ACK;
    if (s.flags & SYN) our_isn = ntohl(s.raw.tcp.seq);
    s.seq = ntohl(s.raw.tcp.seq) - our_isn, s.ack = ntohl(s.raw.tcp.ack_seq), s.window = ntohs(s.raw.tcp.window);
    s.len = len - sizeof s.raw.ip - s.raw.tcp.doff * 4u;
    return s;
}

#define EXPECT(want, seq_, ack_, len_)                                                                     \
    do {                                                                                                   \
        struct segment got = next_segment();                                                               \
        if ((got.flags & ~PSH) != (want) || got.seq != (seq_) || got.ack != (ack_) || got.len != (len_))   \
            fprintf(stderr, "%s:%d: flags %d seq %u ack %u len %zu, not %d %u %u %zu\n", script, __LINE__, \
                    got.flags, got.seq, got.ack, got.len, (want), (uint32_t)(seq_), (uint32_t)(ack_),      \
                    (size_t)(len_)), exit(1);                                                              \
    } while (0)

static void settle(int ms) { pd.usleep(pd.userdata, (useconds_t)ms * 1000); }

static const uint8_t syn_options[] = {2, 4, MSS >> 8, MSS & 255, 1, 1, 4, 2};

static int open_listener(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int on = 1, fd = pd.socket(pd.userdata, AF_INET, SOCK_STREAM, IPPROTO_TCP);
    CHECK(fd >= 0);
    CHECK(!pd.setsockopt(pd.userdata, fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    CHECK(!pd.bind(pd.userdata, fd, (struct sockaddr *)&at, sizeof at) && !pd.listen(pd.userdata, fd, 1));
    return fd;
}

/* The peer opens a connection; its window is `window`. */
static int open_passively(int window) {
    int listener = open_listener(), fd, on = 1;
    struct sockaddr_in peer;
    socklen_t len = sizeof peer;
    inject(SYN, 0, 0, window, 0, syn_options, sizeof syn_options);
    EXPECT(SYN | ACK, 0, 1, 0);
    inject(ACK, 1, 1, window, 0, NULL, 0);
    fd = pd.accept(pd.userdata, listener, (struct sockaddr *)&peer, &len);
    CHECK(fd >= 0 && peer.sin_addr.s_addr == inet_addr("192.0.2.1") && peer.sin_port == htons(peer_port));
    CHECK(!pd.setsockopt(pd.userdata, fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    CHECK(!pd.close(pd.userdata, listener));
    return fd;
}

static struct tcp_info info_of(int fd) {
    struct tcp_info info;
    socklen_t len = sizeof info;
    CHECK(!pd.getsockopt(pd.userdata, fd, IPPROTO_TCP, TCP_INFO, &info, &len) && len == sizeof info);
    return info;
}

static void handshake(void) {
    int fd = open_passively(32792);
    CHECK(info_of(fd).tcpi_state == TCP_ESTABLISHED && info_of(fd).tcpi_snd_mss == MSS);
    inject(RST, 1, 0, 0, 0, NULL, 0);
    char byte;
    CHECK(pd.read(pd.userdata, fd, &byte, 1) == -1 && errno == ECONNRESET);
    CHECK(!pd.close(pd.userdata, fd));
}

static void active_open(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(peer_port)};
    int fd = pd.socket(pd.userdata, AF_INET, SOCK_STREAM, 0), error = -1;
    socklen_t len = sizeof error;
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    peer.sin_addr.s_addr = inet_addr("192.0.2.1");
    CHECK(pd.fcntl(pd.userdata, fd, F_GETFL) == O_RDWR);
    CHECK(!pd.fcntl(pd.userdata, fd, F_SETFL, O_RDWR | O_NONBLOCK));
    CHECK(!pd.bind(pd.userdata, fd, (struct sockaddr *)&here, sizeof here));
    CHECK(pd.connect(pd.userdata, fd, (struct sockaddr *)&peer, sizeof peer) == -1 && errno == EINPROGRESS);
    EXPECT(SYN, 0, 0, 0);
    CHECK(pd.poll(pd.userdata, &polled, 1, 0) == 0 && info_of(fd).tcpi_state == TCP_SYN_SENT);
    inject(SYN | ACK, 0, 1, 5000, 0, syn_options, sizeof syn_options);
    EXPECT(ACK, 1, 1, 0);
    CHECK(pd.poll(pd.userdata, &polled, 1, 1000) == 1 && polled.revents == POLLOUT);
    CHECK(!pd.getsockopt(pd.userdata, fd, SOL_SOCKET, SO_ERROR, &error, &len) && error == 0);
    inject(RST | ACK, 1, 1, 0, 0, NULL, 0);
    CHECK(!pd.close(pd.userdata, fd));
}

static void refused(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(peer_port)};
    int fd = pd.socket(pd.userdata, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    peer.sin_addr.s_addr = inet_addr("192.0.2.1");
    CHECK(!pd.bind(pd.userdata, fd, (struct sockaddr *)&here, sizeof here));
    CHECK(pd.connect(pd.userdata, fd, (struct sockaddr *)&peer, sizeof peer) == -1 && errno == EINPROGRESS);
    EXPECT(SYN, 0, 0, 0);
    inject(RST | ACK, 0, 1, 0, 0, NULL, 0);
    CHECK(pd.connect(pd.userdata, fd, (struct sockaddr *)&peer, sizeof peer) == -1 && errno == ECONNREFUSED);
    CHECK(!pd.close(pd.userdata, fd));
}

static void data_both_ways(void) {
    int fd = open_passively(32792), pending;
    char data[3000];
    struct iovec pieces[2] = {{data, 1000}, {data + 1000, 500}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    inject(ACK | PSH, 1, 1, 32792, 700, NULL, 0);
    EXPECT(ACK, 1, 701, 0);
    CHECK(!pd.ioctl(pd.userdata, fd, 0x541b /* FIONREAD */, &pending) && pending == 700);
    CHECK(pd.recvmsg(pd.userdata, fd, &message, 0) == 700 && data[699] == 'd');
    CHECK(pd.sendmsg(pd.userdata, fd, &message, 0) == 1500);
    EXPECT(ACK, 1, 701, MSS);
    EXPECT(ACK, 1001, 701, 500);
    inject(ACK, 701, 1501, 32792, 0, NULL, 0);
    CHECK(info_of(fd).tcpi_unacked == 0 && info_of(fd).tcpi_rtt > 0);
    /* What comes too early is kept, and asked for. */
    inject(ACK, 1701, 1501, 32792, 1000, NULL, 0);
    EXPECT(ACK, 1501, 701, 0);
    inject(ACK, 701, 1501, 32792, 1000, NULL, 0);
    EXPECT(ACK, 1501, 2701, 0);
    CHECK(pd.readv(pd.userdata, fd, (struct iovec[]){{data, 3000}}, 1) == 2000);
    inject(RST, 2701, 0, 0, 0, NULL, 0);
    CHECK(!pd.close(pd.userdata, fd));
}

static void fast_retransmit(void) {
    int fd = open_passively(32792);
    char data[8 * MSS] = {0};
    uint8_t sack[12] = {1, 1, 5, 10};
    CHECK(pd.write(pd.userdata, fd, data, sizeof data) == sizeof data);
    for (uint32_t seq = 1; seq < sizeof data; seq += MSS) EXPECT(ACK, seq, 1, MSS);
    /* The first is lost, the next three arrive. */
    for (uint32_t count = 1; count <= 3; count++) {
        uint32_t edges[2] = {htonl(our_isn + 1001), htonl(our_isn + 1001 + count * MSS)};
        memcpy(sack + 4, edges, 8);
        inject(ACK, 1, 1, 32792, 0, sack, sizeof sack);
    }
    EXPECT(ACK, 1, 1, MSS);
    struct tcp_info info = info_of(fd);
    CHECK(info.tcpi_total_retrans == 1 && info.tcpi_snd_ssthresh < 10 && info.tcpi_retransmits == 0);
    inject(ACK, 1, 8001, 32792, 0, NULL, 0);
    CHECK(info_of(fd).tcpi_unacked == 0);
    inject(RST, 1, 0, 0, 0, NULL, 0);
    CHECK(!pd.close(pd.userdata, fd));
}

static void retransmission_timeout(void) {
    int fd = open_passively(32792);
    CHECK(pd.send(pd.userdata, fd, "once", 4, 0) == 4);
    EXPECT(ACK, 1, 1, 4);
    settle(500);
    EXPECT(ACK, 1, 1, 4);
    CHECK(info_of(fd).tcpi_total_retrans >= 1);
    inject(ACK, 1, 5, 32792, 0, NULL, 0);
    inject(RST, 1, 0, 0, 0, NULL, 0);
    CHECK(!pd.close(pd.userdata, fd));
}

static void closed_window(void) {
    int fd = open_passively(2 * MSS);
    char data[3 * MSS] = {0};
    CHECK(pd.write(pd.userdata, fd, data, sizeof data) == sizeof data);
    EXPECT(ACK, 1, 1, MSS);
    EXPECT(ACK, 1001, 1, MSS);
    inject(ACK, 1, 2001, 0, 0, NULL, 0);
    /* A probe asks with an old sequence number. */
    settle(500);
    EXPECT(ACK, 2000, 1, 0);
    inject(ACK, 1, 2001, 2 * MSS, 0, NULL, 0);
    EXPECT(ACK, 2001, 1, MSS);
    inject(RST, 1, 0, 0, 0, NULL, 0);
    CHECK(!pd.close(pd.userdata, fd));
}

static void our_window_closes(void) {
    int listener = open_listener(), fd, size = 4000;
    char data[4000];
    CHECK(!pd.setsockopt(pd.userdata, listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof size));
    inject(SYN, 0, 0, 32792, 0, syn_options, sizeof syn_options);
    struct segment answer = next_segment();
    CHECK(answer.flags == (SYN | ACK) && answer.window == 4000);
    inject(ACK, 1, 1, 32792, 0, NULL, 0);
    CHECK((fd = pd.accept(pd.userdata, listener, NULL, NULL)) >= 0);
    for (uint32_t seq = 1; seq < 4000; seq += MSS) inject(ACK, seq, 1, 32792, MSS, NULL, 0);
    do answer = next_segment();
    while (answer.ack != 4001);
    CHECK(answer.window == 0);
    CHECK(pd.recv(pd.userdata, fd, data, sizeof data, 0) == 4000);
    answer = next_segment();
    CHECK(answer.ack == 4001 && answer.window == 4000);
    inject(RST, 4001, 0, 0, 0, NULL, 0);
    CHECK(!pd.close(pd.userdata, fd) && !pd.close(pd.userdata, listener));
}

static void peer_closes_first(void) {
    int fd = open_passively(32792);
    char byte;
    inject(FIN | ACK, 1, 1, 32792, 0, NULL, 0);
    EXPECT(ACK, 1, 2, 0);
    CHECK(info_of(fd).tcpi_state == TCP_CLOSE_WAIT && pd.read(pd.userdata, fd, &byte, 1) == 0);
    CHECK(pd.write(pd.userdata, fd, "last words", 10) == 10);
    EXPECT(ACK, 1, 2, 10);
    CHECK(!pd.close(pd.userdata, fd));
    EXPECT(FIN | ACK, 11, 2, 0);
    inject(ACK, 2, 12, 32792, 0, NULL, 0);
    CHECK(pd.close(pd.userdata, fd) == -1 && errno == EBADF);
}

static void we_close_first(void) {
    int fd = open_passively(32792);
    char data[10];
    CHECK(!pd.shutdown(pd.userdata, fd, SHUT_WR));
    EXPECT(FIN | ACK, 1, 1, 0);
    CHECK(info_of(fd).tcpi_state == TCP_FIN_WAIT1);
    CHECK(pd.write(pd.userdata, fd, "x", 1) == -1 && errno == EPIPE);
    inject(ACK, 1, 2, 32792, 0, NULL, 0);
    CHECK(info_of(fd).tcpi_state == TCP_FIN_WAIT2);
    inject(ACK, 1, 2, 32792, 10, NULL, 0);
    EXPECT(ACK, 2, 11, 0);
    CHECK(pd.read(pd.userdata, fd, data, 10) == 10);
    inject(FIN | ACK, 11, 2, 32792, 0, NULL, 0);
    EXPECT(ACK, 2, 12, 0);
    CHECK(pd.read(pd.userdata, fd, data, 10) == 0);
    CHECK(!pd.close(pd.userdata, fd));
    /* TIME-WAIT answers a FIN that comes again. */
    inject(FIN | ACK, 11, 2, 32792, 0, NULL, 0);
    EXPECT(ACK, 2, 12, 0);
}

static void both_close_at_once(void) {
    int fd = open_passively(32792);
    CHECK(!pd.close(pd.userdata, fd));
    EXPECT(FIN | ACK, 1, 1, 0);
    inject(FIN | ACK, 1, 1, 32792, 0, NULL, 0);
    EXPECT(ACK, 2, 2, 0);
    inject(ACK, 2, 2, 32792, 0, NULL, 0);
}

static void linger_zero(void) {
    int fd = open_passively(32792);
    struct linger linger = {1, 0};
    CHECK(!pd.setsockopt(pd.userdata, fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    CHECK(!pd.close(pd.userdata, fd));
    EXPECT(RST | ACK, 1, 1, 0);
}

static void unread_data(void) {
    int fd = open_passively(32792);
    inject(ACK | PSH, 1, 1, 32792, 10, NULL, 0);
    EXPECT(ACK, 1, 11, 0);
    CHECK(!pd.close(pd.userdata, fd));
    EXPECT(RST | ACK, 1, 11, 0);
}

static const struct { const char *name; void (*run)(void); } scripts[] = {
    {"handshake", handshake}, {"active_open", active_open}, {"refused", refused},
    {"data_both_ways", data_both_ways}, {"fast_retransmit", fast_retransmit},
    {"retransmission_timeout", retransmission_timeout}, {"closed_window", closed_window},
    {"our_window_closes", our_window_closes}, {"peer_closes_first", peer_closes_first},
    {"we_close_first", we_close_first}, {"both_close_at_once", both_close_at_once},
    {"linger_zero", linger_zero}, {"unread_data", unread_data},
};

int main(int argc, char **argv) {
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) return fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: scripts PLUGIN [SCRIPT]"), 2;
    void (*init)(const char *, struct packetdrill_interface *);
    *(void **)&init = dlsym(plugin, "packetdrill_interface_init");
    for (size_t at = 0; at < sizeof scripts / sizeof *scripts; at++) {
        script = scripts[at].name;
        if (argc > 2 && strcmp(script, argv[2])) continue;
        /* A fresh stack for each, as packetdrill is a fresh process. */
        init(NULL, &pd);
        scripts[at].run();
        pd.free(pd.userdata);
        printf("%s\n", script);
    }
    return 0;
}
