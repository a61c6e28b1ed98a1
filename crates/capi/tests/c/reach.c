/* Asks a web server from a port that is the stack's, without having been told where the server is on the link.
 *
 *     reach PORT ADDRESSES PEER PEER-PORT
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidegate.h>

static void await(int stack, int fd, short events) {
    struct pollfd polled = {.fd = fd, .events = events};
    assert(tg_poll(stack, &polled, 1, 20000) == 1);
}

int main(int argc, char **argv) {
    static const char request[] = "GET / HTTP/1.0\r\n\r\n";
    struct sockaddr_in peer = {.sin_family = AF_INET}, elsewhere = {.sin_family = AF_INET, .sin_port = htons(9)};
    char answer[4096];
    int error = -1, stack, fd;
    socklen_t len = sizeof error;
    ssize_t got;
    assert(argc == 5 && inet_pton(AF_INET, argv[3], &peer.sin_addr) == 1);
    peer.sin_port = htons((uint16_t)atoi(argv[4]));
    if ((stack = tg_open(argv[1], argv[2])) < 0) { fprintf(stderr, "%s\n", tg_open_error()); return 1; }
    fd = tg_socket(stack, AF_INET, SOCK_STREAM, 0);
    /* That port is somebody else's. */
    assert(tg_bind(stack, fd, (struct sockaddr *)&elsewhere, sizeof elsewhere) == -1 && errno == EADDRNOTAVAIL);
    assert(tg_connect(stack, fd, (struct sockaddr *)&peer, sizeof peer) == -1 && errno == EINPROGRESS);
    await(stack, fd, POLLOUT);
    assert(!tg_getsockopt(stack, fd, SOL_SOCKET, SO_ERROR, &error, &len));
    if (error) { fprintf(stderr, "%s\n", strerror(error)); return 1; }
    assert(tg_write(stack, fd, request, sizeof request - 1) == sizeof request - 1);
    do {
        await(stack, fd, POLLIN);
        got = tg_read(stack, fd, answer, sizeof answer);
        if (got > 0) fwrite(answer, 1, (size_t)got, stdout);
    } while (got > 0);
    return got < 0;
}
