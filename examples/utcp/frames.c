/* The same server on Tidegate's frames: the loop, the frames and the clock are this program's (MultiStack paper, figure 5).
 *
 *     ./frames web0 10.77.0.2 9000      makes the TAP device web0, and answers there
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <tidegate.h>

static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 22\r\nConnection: close\r\n\r\nHello from user space\n";

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_tap(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK), s = socket(AF_INET, SOCK_DGRAM, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request)) return -1;
    request.ifr_flags = IFF_UP;
    return ioctl(s, SIOCSIFFLAGS, &request) || close(s) ? -1 : fd;
}

/* One thing of note: what Figure 5 calls the status of a packet. */
static void on_status(int stack, int status, int connection) {
    size_t len;
    if (status == TG_NEW_DATA && tg_tcp_data(stack, connection, &len)) {
        tg_tcp_consume(stack, connection, len);
        tg_tcp_output(stack, connection, page, sizeof page - 1);
        tg_tcp_close(stack, connection);
    } else if (status == TG_PEER_CLOSED || status == TG_CLOSED) {
        tg_tcp_close(stack, connection);
    }
}

int main(int argc, char **argv) {
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
    static uint8_t frame[2048];
    struct sockaddr_in at = {.sin_family = AF_INET};
    struct pollfd tap = {.events = POLLIN};
    int connection, status, stack;
    ssize_t len;
    if (argc < 4) { fprintf(stderr, "usage: %s TAP ADDRESS TCP-PORT\n", argv[0]); return 2; }
    at.sin_port = htons((uint16_t)atoi(argv[3]));
    if ((tap.fd = open_tap(argv[1])) < 0) { perror(argv[1]); return 1; }
    if ((stack = tg_stack_new(argv[2], mac, 1500)) < 0) { fprintf(stderr, "%s\n", tg_open_error()); return 1; }
    if (tg_tcp_listen(stack, (struct sockaddr *)&at, sizeof at, 64) < 0) { perror("listen"); return 1; }
    puts("ready"), fflush(stdout);
    for (;;) {
        while ((len = read(tap.fd, frame, sizeof frame)) > 0) {
            status = tg_tcp_input(stack, frame, (size_t)len, now(), &connection);
            for (; status > TG_NOTHING; status = tg_tcp_next(stack, &connection)) on_status(stack, status, connection);
        }
        tg_run(stack, now());
        while ((len = tg_frame_out(stack, frame, sizeof frame)) > 0)
            if (write(tap.fd, frame, (size_t)len) < 0 && errno != EAGAIN) return 1;
        int64_t due = tg_deadline(stack), left = due == INT64_MAX ? 1000000000 : due - (int64_t)now();
        poll(&tap, 1, left < 0 ? 0 : (int)(left / 1000000) + 1);
    }
}
