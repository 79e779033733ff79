/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A NetClone server: answers each request with its payload in capitals.
 *
 *	cc -Wall -I xdp/include -o server examples/server.c
 *	./server [ADDRESS]	where `netclone-host attach --role server` was run */
#include <arpa/inet.h>
#include <ctype.h>
#include <err.h>
#include <sys/socket.h>
#include <netclone/wire.h>

int main(int argc, char **argv)
{
	struct sockaddr_in self = {.sin_family = AF_INET, .sin_port = htons(NC_DEFAULT_PORT)};
	struct sockaddr_in client;
	unsigned char packet[2048];
	int server = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc > 1 && !inet_aton(argv[1], &self.sin_addr))
		errx(2, "'%s' is no IPv4 address", argv[1]);
	if (server < 0 || bind(server, (struct sockaddr *)&self, sizeof(self)) < 0)
		err(1, "port %d", NC_DEFAULT_PORT);
	for (;;) {
		socklen_t address_len = sizeof(client);
		ssize_t len = recvfrom(server, packet, sizeof(packet), 0,
				       (struct sockaddr *)&client, &address_len);

		if (len < NC_HEADER_LEN)
			continue;
		/* SID and STATE are written on the way out, by the server program. */
		((struct nc_header *)packet)->type = NC_TYPE_RESP;
		for (ssize_t i = NC_HEADER_LEN; i < len; i++)
			packet[i] = (unsigned char)toupper(packet[i]);
		sendto(server, packet, (size_t)len, 0, (struct sockaddr *)&client, address_len);
	}
}
