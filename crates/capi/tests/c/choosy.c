/* A server whose listener chooses its protocols: answers with the name of the congestion control that its connection has.
 *
 *     choosy PORT ADDRESS TCP-PORT CONGESTION FASTOPEN
 */
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidegate.h>

static void serve(int stack, int client) {
    char request[4096], name[16] = "";
    socklen_t len = sizeof name;
    ssize_t got = tg_read(stack, client, request, sizeof request);
    if (got > 0) {
        assert(!tg_getsockopt(stack, client, IPPROTO_TCP, TCP_CONGESTION, name, &len));
        assert(tg_write(stack, client, name, strlen(name)) == (ssize_t)strlen(name));
        tg_shutdown(stack, client, SHUT_WR);
    } else if (got == 0) {
        tg_close(stack, client);
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    struct tg_event events[64];
    assert(argc == 6);
    int stack = tg_open(argv[1], argv[2]), queue = atoi(argv[5]), back = -1, listener;
    socklen_t len = sizeof back;
    if (stack < 0) { fprintf(stderr, "%s\n", tg_open_error()); return 1; }
    at.sin_port = htons((uint16_t)atoi(argv[3]));
    listener = tg_socket(stack, AF_INET, SOCK_STREAM, 0);
    assert(!tg_bind(stack, listener, (struct sockaddr *)&at, sizeof at) && !tg_listen(stack, listener, 64));
    /* On a listener that listens already: at run time. */
    assert(!tg_setsockopt(stack, listener, IPPROTO_TCP, TCP_CONGESTION, argv[4], (socklen_t)strlen(argv[4])));
    assert(!tg_setsockopt(stack, listener, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof queue));
    assert(!tg_getsockopt(stack, listener, IPPROTO_TCP, TCP_FASTOPEN, &back, &len) && back == (queue > 0));
    puts("ready"), fflush(stdout);
    for (;;) {
        int count = tg_wait(stack, events, 64, -1);
        for (int i = 0; i < count; i++)
            if (events[i].socket != listener) serve(stack, events[i].socket);
            else while (tg_accept(stack, listener, NULL, NULL) >= 0) continue;
    }
}
