/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One interface over the ways to send and receive UDP payloads in batches (io_socket.c,
 * io_xdp.c). Nothing is copied between caller and back end: the caller writes into tx[].data
 * and reads rx[].data in place. One lg_io belongs to one thread. */
#ifndef LG_IO_H
#define LG_IO_H

#include <netinet/in.h>
#include <stdint.h>

#include "request_body.h"

#define LG_IO_BATCH 64

struct lg_peer {
	union {
		struct sockaddr sa;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	};
	uint8_t mac[6]; /* af_xdp only */
	uint8_t reserved[2];
};

struct lg_rx {
	uint8_t *data; /* the payload; valid until the next poll() */
	uint32_t len;
	uint32_t reserved;
	uint64_t ns; /* arrival, CLOCK_MONOTONIC */
	struct lg_peer peer;
};

struct lg_tx {
	uint8_t *data; /* room for LG_PAYLOAD_MAX bytes, from reserve() */
	uint32_t len;
	uint32_t reserved;
	struct lg_peer peer;
};

struct lg_io;

struct lg_io_ops {
	/* Makes tx[0 .. n) writable; returns n <= want, 0 while the back end is full. */
	uint32_t (*reserve)(struct lg_io *io, uint32_t want);
	/* Sends tx[from .. n) of the last reserve(). Returns how many went (0: full, try
	 * again with the rest), or -errno: then tx[from] cannot be sent and is to be skipped. */
	int (*commit)(struct lg_io *io, uint32_t from, uint32_t n);
	/* Fills rx[0 .. n), returns n. */
	uint32_t (*poll)(struct lg_io *io);
	/* Sleeps until something can be received or the time has come. */
	void (*wait)(struct lg_io *io, uint64_t until_ns);
	void (*close)(struct lg_io *io);
};

struct lg_io {
	const struct lg_io_ops *ops;
	int fd; /* becomes readable when poll() has something */
	uint32_t kernel_timestamps;
	/* Why no more can be sent or received (errno): the link went down. 0: it works. */
	int failed;
	/* Packets lost between the wire and poll(), where the back end knows. */
	uint64_t rx_dropped;
	uint64_t rx_invalid; /* frames that are no UDP packet for us */
	/* The most that CLOCK_REALTIME was off what it was in the beginning, where arrivals are
	 * told by it; what is far above microseconds is a step. */
	int64_t clock_step_ns;
	struct lg_rx rx[LG_IO_BATCH];
	struct lg_tx tx[LG_IO_BATCH];
};

struct lg_socket_options {
	const char *netns; /* path of a network namespace; NULL: the caller's */
	uint32_t buffer_bytes;
	uint32_t kernel_timestamps;
	uint32_t busy_poll_us; /* SO_BUSY_POLL; 0: none */
	uint32_t reserved;
};

/* 0 or -EINVAL. */
int lg_peer_parse(struct lg_peer *peer, const char *ip, uint16_t port);

/* A UDP socket bound to `local` (port 0: any), as an lg_io. NULL: *error is an errno. */
struct lg_io *lg_io_socket_open(const struct lg_peer *local,
				const struct lg_socket_options *options, int *error);
void lg_io_close(struct lg_io *io);
int lg_io_fd(const struct lg_io *io);
/* Port the socket is bound to. */
uint16_t lg_io_socket_port(const struct lg_io *io);

static inline socklen_t lg_peer_len(const struct lg_peer *peer)
{
	return peer->sa.sa_family == AF_INET6 ? sizeof(peer->in6) : sizeof(peer->in4);
}

#endif
