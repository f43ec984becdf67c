// Ten trials from C, by plain sockets: cc -o client client.c && ./client 8765 token
//   beside: bostruct serve --study examples/clients/study.json --port 8765 --token-file token
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char token[100], told[200], answer[65536];

static void request(int port, const char *body) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(s, (struct sockaddr *)&server, sizeof server)) exit((perror("connect"), 1));
    dprintf(s, "POST /v1 HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s", token, strlen(body), body);
    FILE *in = fdopen(s, "r");
    answer[fread(answer, 1, sizeof answer - 1, in)] = 0;
    fclose(in);
    if (!strstr(answer, "\"ok\": true")) exit((fputs(answer, stderr), 1));
}

int main(int argc, char **argv) {
    if (argc != 3 || !freopen(argv[2], "r", stdin) || scanf("%99s", token) != 1) exit(2);
    for (int i = 0; i < 10; i++) {
        request(atoi(argv[1]), "{\"request\": \"ask\", \"lease\": 60}");
        double x = atof(strstr(answer, "\"x\": ") + 5) - 0.3, value = x * x + !strstr(answer, "\"exact\"");
        int number = atoi(strstr(answer, "\"number\": ") + 10);
        char *started = strstr(answer, "\"started\": ") + 11;  // sent back as it came: it says whose value this is
        snprintf(told, sizeof told, "{\"request\": \"tell\", \"trial\": %d, \"started\": %.*s, \"value\": %.17g}",
                 number, (int)strcspn(started, ",}"), started, value);
        request(atoi(argv[1]), told);
    }
    request(atoi(argv[1]), "{\"request\": \"best\"}");
    puts(strstr(answer, "{\"ok\""));
}
