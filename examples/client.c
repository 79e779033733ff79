/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A NetClone client: sends requests one at a time and says who answered.
 *
 *	cc -Wall -I xdp/include -o client examples/client.c
 *	./client SERVER [COUNT]	   where `netclone-host attach --role client` was run */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <netclone/wire.h>

/* The header stays blank: the client program and the switch fill it in. The text says which
 * request this is, since the switch chooses REQ_ID. */
struct message {
	struct nc_header header;
	char text[20];
};

int main(int argc, char **argv)
{
	struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(NC_DEFAULT_PORT)};
	const struct timeval timeout = {.tv_sec = 1};
	int answers[256] = {0}, cloned = 0, lost = 0, count = argc > 2 ? atoi(argv[2]) : 100;
	/* No connect(): the answer comes from whichever server was faster. */
	int client = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc < 2 || !inet_aton(argv[1], &server.sin_addr))
		errx(2, "usage: client SERVER [COUNT]");
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	for (int number = 0; number < count; number++) {
		struct message request = {0}, response = {0};
		ssize_t len;

		snprintf(request.text, sizeof(request.text), "request %d", number);
		sendto(client, &request, sizeof(request), 0, (struct sockaddr *)&server,
		       sizeof(server));
		do /* again after a late answer to an earlier request */
			len = recv(client, &response, sizeof(response), 0);
		while (len > 0 && strncasecmp(request.text, response.text, sizeof(request.text)));
		if (len > 0) {
			answers[ntohl(response.header.sid) & 0xff]++;
			cloned += response.header.clo != NC_CLO_NONE;
		}
		lost += len <= 0;
	}
	printf("%d requests, %d lost, %d cloned\n", count, lost, cloned);
	for (int sid = 0; sid < 256; sid++)
		if (answers[sid])
			printf("server %d answered %d\n", sid, answers[sid]);
}
