/* A web server on Tidegate's sockets: answers GET / with one page, on a TAP device or beside the host on its NIC.
 *
 *     ./http tap:web0 10.77.0.2 9000 [page.html]      then, with an address on web0: curl http://10.77.0.2:9000/
 *     ./http dev:eth0 192.0.2.7:9000 9000 [page.html]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidegate.h>

static char answer[1 << 20], *const connection = answer + 29, missing[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
static size_t answer_len;

static void load(const char *path) {
    static char page[sizeof answer - 256] = "Hello from user space\n";
    size_t len = strlen(page);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (path && !file) { perror(path); exit(1); }
    if (file) { len = fread(page, 1, sizeof page, file); fclose(file); }
    answer_len = (size_t)sprintf(answer, "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Type: text/html\r\nContent-Length: %zu\r\n\r\n", len);
    memcpy(answer + answer_len, page, len);
    answer_len += len;
}

/* A request fits one read, as every browser's does. */
static void serve(int stack, int client) {
    char request[4096];
    ssize_t len;
    int found, closes = 0;
    while (!closes && (len = tg_read(stack, client, request, sizeof request - 1)) > 0) {
        request[len] = 0;
        found = !strncmp(request, "GET / ", 6);
        closes = strstr(request, "Connection: close") != NULL;
        memcpy(connection, closes ? "close     " : "keep-alive", 10);
        if (tg_write(stack, client, found ? answer : missing, found ? answer_len : sizeof missing - 1) < 0) closes = 1;
    }
    if (closes || len == 0 || errno != EAGAIN) tg_close(stack, client);
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    struct tg_event events[64];
    int size = 2 << 20, stack, listener;
    if (argc < 4) { fprintf(stderr, "usage: %s PORT ADDRESS TCP-PORT [PAGE]\n", argv[0]); return 2; }
    load(argc > 4 ? argv[4] : NULL);
    at.sin_port = htons((uint16_t)atoi(argv[3]));
    if ((stack = tg_open(argv[1], argv[2])) < 0) { fprintf(stderr, "%s\n", tg_open_error()); return 1; }
    listener = tg_socket(stack, AF_INET, SOCK_STREAM, 0);
    tg_setsockopt(stack, listener, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (tg_bind(stack, listener, (struct sockaddr *)&at, sizeof at) || tg_listen(stack, listener, 1024)) { perror("listen"); return 1; }
    puts("ready"), fflush(stdout);
    for (;;) {
        int count = tg_wait(stack, events, 64, -1);
        for (int i = 0; i < count; i++)
            if (events[i].socket != listener) serve(stack, events[i].socket);
            else while (tg_accept(stack, listener, NULL, NULL) >= 0) continue;
    }
}
