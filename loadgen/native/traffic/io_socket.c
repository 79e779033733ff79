/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The `socket` back end: sendmmsg and recvmmsg on one UDP socket. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "io.h"
#include "lib/netns.h"

struct lg_io_socket {
	struct lg_io io;
	int64_t offset_ns; /* of CLOCK_REALTIME, in the beginning */
	struct mmsghdr rx_msg[LG_IO_BATCH], tx_msg[LG_IO_BATCH];
	struct iovec rx_iov[LG_IO_BATCH], tx_iov[LG_IO_BATCH];
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct timespec))];
	} control[LG_IO_BATCH];
	uint8_t rx_data[LG_IO_BATCH][LG_PAYLOAD_MAX], tx_data[LG_IO_BATCH][LG_PAYLOAD_MAX];
};

static uint32_t socket_reserve(struct lg_io *io, uint32_t want)
{
	(void)io; /* tx[].data point at tx_data for ever */
	return want < LG_IO_BATCH ? want : LG_IO_BATCH;
}

static int socket_commit(struct lg_io *io, uint32_t from, uint32_t n)
{
	struct lg_io_socket *s = (struct lg_io_socket *)io;
	int sent;

	for (uint32_t i = from; i < n; i++) {
		s->tx_iov[i].iov_len = io->tx[i].len;
		s->tx_msg[i].msg_hdr.msg_namelen = lg_peer_len(&io->tx[i].peer);
	}
	sent = sendmmsg(io->fd, s->tx_msg + from, n - from, MSG_DONTWAIT);
	if (sent >= 0)
		return sent;
	if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)
		return 0;
	if (errno == ENETDOWN)
		io->failed = errno;
	return -errno;
}

/* Arrival by the kernel's clock (CLOCK_REALTIME), or 0. */
static uint64_t kernel_ns(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct timespec t;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		return (uint64_t)t.tv_sec * LG_NS_PER_S + (uint64_t)t.tv_nsec;
	}
	return 0;
}

/* CLOCK_REALTIME - CLOCK_MONOTONIC now. */
static uint64_t offset_now(struct lg_io_socket *s)
{
	int64_t offset_ns = lg_realtime_offset_ns(), step_ns = offset_ns - s->offset_ns;

	if (llabs(step_ns) > llabs(s->io.clock_step_ns))
		s->io.clock_step_ns = step_ns;
	return (uint64_t)offset_ns;
}

static uint32_t socket_poll(struct lg_io *io)
{
	struct lg_io_socket *s = (struct lg_io_socket *)io;
	uint64_t now_ns, offset_ns = 0;
	int n;

	for (int i = 0; i < LG_IO_BATCH; i++) {
		s->rx_msg[i].msg_hdr.msg_namelen = sizeof(struct sockaddr_in6);
		s->rx_msg[i].msg_hdr.msg_controllen = sizeof(s->control[i]);
	}
	n = recvmmsg(io->fd, s->rx_msg, LG_IO_BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0) {
		if (n < 0 && errno == ENETDOWN)
			io->failed = errno;
		return 0;
	}
	now_ns = lg_now_ns();
	if (io->kernel_timestamps)
		offset_ns = offset_now(s);
	for (int i = 0; i < n; i++) {
		uint64_t ns = io->kernel_timestamps ? kernel_ns(&s->rx_msg[i].msg_hdr) : 0;

		io->rx[i].len = s->rx_msg[i].msg_len;
		io->rx[i].ns = ns && ns - offset_ns < now_ns ? ns - offset_ns : now_ns;
	}
	return (uint32_t)n;
}

static void socket_wait(struct lg_io *io, uint64_t until_ns)
{
	struct pollfd p = {.fd = io->fd, .events = POLLIN};
	uint64_t now_ns = lg_now_ns();
	struct timespec t = lg_timespec(until_ns > now_ns ? until_ns - now_ns : 0);

	ppoll(&p, 1, &t, NULL);
}

static void socket_close(struct lg_io *io)
{
	close(io->fd);
	free(io);
}

static const struct lg_io_ops socket_ops = {
	.reserve = socket_reserve,
	.commit = socket_commit,
	.poll = socket_poll,
	.wait = socket_wait,
	.close = socket_close,
};

static void wire_up(struct lg_io_socket *s)
{
	for (int i = 0; i < LG_IO_BATCH; i++) {
		struct msghdr *rx = &s->rx_msg[i].msg_hdr, *tx = &s->tx_msg[i].msg_hdr;

		s->io.rx[i].data = s->rx_data[i];
		s->rx_iov[i] = (struct iovec){s->rx_data[i], LG_PAYLOAD_MAX};
		rx->msg_iov = &s->rx_iov[i];
		rx->msg_iovlen = 1;
		rx->msg_name = &s->io.rx[i].peer.sa;
		rx->msg_control = &s->control[i];

		s->io.tx[i].data = s->tx_data[i];
		s->tx_iov[i].iov_base = s->tx_data[i];
		tx->msg_iov = &s->tx_iov[i];
		tx->msg_iovlen = 1;
		tx->msg_name = &s->io.tx[i].peer.sa;
	}
}

static int open_socket(const struct lg_peer *local, const struct lg_socket_options *o)
{
	int one = 1, bytes = (int)o->buffer_bytes, us = (int)o->busy_poll_us;
	int fd = socket(local->sa.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (bytes) { /* beyond the system's limit where privileged, up to it otherwise */
		if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	if (us)
		setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us));
	if ((!o->kernel_timestamps ||
	     !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one))) &&
	    !bind(fd, &local->sa, lg_peer_len(local)))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

struct lg_io *lg_io_socket_open(const struct lg_peer *local,
				const struct lg_socket_options *options, int *error)
{
	struct lg_io_socket *s;
	int former = lg_netns_enter(options->netns), fd;

	if (former < -1) {
		*error = -(former + 1);
		return NULL;
	}
	fd = open_socket(local, options);
	lg_netns_leave(former);
	if (fd < 0) {
		*error = -fd;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		*error = ENOMEM;
		return NULL;
	}
	s->io.ops = &socket_ops;
	s->io.fd = fd;
	s->io.kernel_timestamps = options->kernel_timestamps;
	s->offset_ns = lg_realtime_offset_ns();
	wire_up(s);
	return &s->io;
}

uint16_t lg_io_socket_port(const struct lg_io *io)
{
	struct lg_peer peer = {0};
	socklen_t len = sizeof(peer.in6);

	if (getsockname(io->fd, &peer.sa, &len))
		return 0;
	return ntohs(peer.sa.sa_family == AF_INET6 ? peer.in6.sin6_port : peer.in4.sin_port);
}

void lg_io_close(struct lg_io *io)
{
	io->ops->close(io);
}

int lg_peer_parse(struct lg_peer *peer, const char *ip, uint16_t port)
{
	memset(peer, 0, sizeof(*peer));
	if (inet_pton(AF_INET, ip, &peer->in4.sin_addr) == 1) {
		peer->in4.sin_family = AF_INET;
		peer->in4.sin_port = htons(port);
		return 0;
	}
	if (inet_pton(AF_INET6, ip, &peer->in6.sin6_addr) == 1) {
		peer->in6.sin6_family = AF_INET6;
		peer->in6.sin6_port = htons(port);
		return 0;
	}
	return -EINVAL;
}

int lg_io_fd(const struct lg_io *io)
{
	return io->fd;
}
