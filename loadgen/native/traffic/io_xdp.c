/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "io_xdp.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/clock.h"
#include "frame.h"
#include "lib/netns.h"
#include "xdp_queue.h"

/* The link and the rings' drops are looked at this often. */
#define CHECK_NS 100000000ULL
#define CACHE_LINE 64
#define COLOURS 8
/* Frames received are fetched into the cache so many ahead. */
#define PREFETCH 8

_Static_assert(LG_FRAME_ROOM + (COLOURS - 1) * CACHE_LINE + LG_PAYLOAD_MAX <= XDP_QUEUE_FRAME_SIZE,
	       "the longest payload fits at every place");

struct lg_io_xdp {
	struct lg_io io;
	struct lg_frame_source source;
	uint16_t port; /* network order */
	uint32_t flags;
	uint32_t n_queues;
	uint32_t next_rx; /* queues are polled in turn */
	int control_fd;	  /* a socket in the interface's namespace, for its flags */
	char ifname[IFNAMSIZ];
	uint64_t checked_ns;
	uint64_t tx_addr[LG_IO_BATCH];
	uint32_t tx_reserved;
	struct xdp_queue queue[LG_XDP_MAX_QUEUES];
};

static void check_link(struct lg_io_xdp *x)
{
	struct ifreq request = {0};
	uint64_t starved = 0, all = 0;

	memcpy(request.ifr_name, x->ifname, IFNAMSIZ);
	if (ioctl(x->control_fd, SIOCGIFFLAGS, &request))
		x->io.failed = errno;
	else if (!(request.ifr_flags & IFF_UP) || !(request.ifr_flags & IFF_RUNNING))
		x->io.failed = ENETDOWN;
	for (uint32_t i = 0; i < x->n_queues; i++)
		xdp_queue_drops(&x->queue[i], &starved, &all);
	x->io.rx_dropped = all;
	if (starved && !(x->flags & LG_XDP_ENDURE))
		x->io.failed = ENOBUFS;
}

static void check_sometimes(struct lg_io_xdp *x)
{
	uint64_t now_ns = lg_clock_ns(CLOCK_MONOTONIC_COARSE); /* cheap: this is every poll */

	if (now_ns - x->checked_ns < CHECK_NS)
		return;
	x->checked_ns = now_ns;
	check_link(x);
}

/* Where the payload of a frame to send begins. Frames lie a power of two apart: were it always
 * the same place of the frame, a few lines of the cache would have to hold all of them. */
static uint8_t *payload_of(const struct xdp_queue *q, uint64_t addr)
{
	uint64_t colour = addr / XDP_QUEUE_FRAME_SIZE / 2 % COLOURS;

	return q->area + addr + LG_FRAME_ROOM + colour * CACHE_LINE;
}

/* All is sent through the first queue: in copy mode the queue decides nothing, with
 * zero-copy one ring takes more than one thread can fill. */
static uint32_t xdp_reserve(struct lg_io *io, uint32_t want)
{
	struct lg_io_xdp *x = (struct lg_io_xdp *)io;
	struct xdp_queue *q = &x->queue[0];

	if (want > LG_IO_BATCH)
		want = LG_IO_BATCH;
	/* At once, and last in first out: frames that are still in the cache are used again. */
	xdp_queue_reclaim(q);
	while (x->tx_reserved < want && q->n_spare_tx) {
		uint32_t i = x->tx_reserved++;

		x->tx_addr[i] = q->spare_tx[--q->n_spare_tx];
		io->tx[i].data = payload_of(q, x->tx_addr[i]);
	}
	if (x->tx_reserved < want) { /* frames wait in the ring: make them go */
		int error = xdp_queue_kick(q);

		if (error)
			io->failed = -error;
	}
	return x->tx_reserved < want ? x->tx_reserved : want;
}

static int xdp_commit(struct lg_io *io, uint32_t from, uint32_t n)
{
	struct lg_io_xdp *x = (struct lg_io_xdp *)io;
	struct xdp_queue *q = &x->queue[0];
	uint32_t at = 0, count = n - from;
	int error;

	if (!xsk_ring_prod__reserve(&q->tx, count, &at)) {
		xdp_queue_kick(q);
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct xdp_desc *desc = xsk_ring_prod__tx_desc(&q->tx, at + i);
		struct lg_tx *tx = &io->tx[from + i];

		lg_frame_write(&x->source, &tx->peer, tx->data, tx->len);
		desc->addr = (uint64_t)(tx->data - q->area) - x->source.headers;
		desc->len = x->source.headers + tx->len;
		desc->options = 0;
	}
	xsk_ring_prod__submit(&q->tx, count);
	/* What was reserved behind n is kept for the next batch. */
	x->tx_reserved -= n;
	memmove(x->tx_addr, x->tx_addr + n, x->tx_reserved * sizeof(x->tx_addr[0]));
	for (uint32_t i = 0; i < x->tx_reserved; i++)
		io->tx[i].data = payload_of(q, x->tx_addr[i]);
	error = xdp_queue_kick(q);
	if (error)
		io->failed = -error;
	return (int)count;
}

static void fetch(struct xdp_queue *q, uint32_t at)
{
	const uint8_t *frame = q->area + xsk_ring_cons__rx_desc(&q->rx, at)->addr;

	__builtin_prefetch(frame);
	__builtin_prefetch(frame + CACHE_LINE);
}

static uint32_t take_frames(struct lg_io_xdp *x, struct xdp_queue *q, uint32_t n)
{
	uint32_t at = 0, got = xsk_ring_cons__peek(&q->rx, LG_IO_BATCH - n, &at);
	uint64_t now_ns;

	if (!got)
		return n;
	now_ns = lg_now_ns();
	for (uint32_t i = 0; i < got && i < PREFETCH; i++)
		fetch(q, at + i);
	for (uint32_t i = 0; i < got; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&q->rx, at + i);
		struct lg_rx *rx = &x->io.rx[n];

		if (i + PREFETCH < got)
			fetch(q, at + i + PREFETCH);
		/* The kernel leaves headroom: the frame begins at a multiple of its size. */
		q->lent_rx[q->n_lent_rx++] = desc->addr - desc->addr % XDP_QUEUE_FRAME_SIZE;
		rx->data = lg_frame_read(q->area + desc->addr, desc->len, x->port, &rx->len,
					 &rx->peer);
		rx->ns = now_ns;
		if (rx->data)
			n++;
		else
			x->io.rx_invalid++;
	}
	xsk_ring_cons__release(&q->rx, got);
	return n;
}

static uint32_t xdp_poll(struct lg_io *io)
{
	struct lg_io_xdp *x = (struct lg_io_xdp *)io;
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n_queues; i++)
		xdp_queue_return(&x->queue[i]);
	for (uint32_t i = 0; i < x->n_queues && n < LG_IO_BATCH; i++)
		n = take_frames(x, &x->queue[(x->next_rx + i) % x->n_queues], n);
	x->next_rx++;
	check_sometimes(x);
	return n;
}

static void xdp_wait(struct lg_io *io, uint64_t until_ns)
{
	struct pollfd p = {.fd = io->fd, .events = POLLIN};
	uint64_t now_ns = lg_now_ns();
	struct timespec t = lg_timespec(until_ns > now_ns ? until_ns - now_ns : 0);

	ppoll(&p, 1, &t, NULL);
}

static void xdp_close(struct lg_io *io)
{
	struct lg_io_xdp *x = (struct lg_io_xdp *)io;

	for (uint32_t i = 0; i < x->n_queues; i++)
		xdp_queue_close(&x->queue[i]);
	if (x->control_fd >= 0)
		close(x->control_fd);
	if (x->n_queues > 1 && io->fd >= 0)
		close(io->fd);
	free(x);
}

static const struct lg_io_ops xdp_ops = {
	.reserve = xdp_reserve,
	.commit = xdp_commit,
	.poll = xdp_poll,
	.wait = xdp_wait,
	.close = xdp_close,
};

static int make_source(struct lg_io_xdp *x, const struct lg_peer *address)
{
	struct ifreq request = {0};
	struct lg_peer local = *address;

	memcpy(request.ifr_name, x->ifname, IFNAMSIZ);
	if (ioctl(x->control_fd, SIOCGIFHWADDR, &request))
		return -errno;
	memcpy(local.mac, request.ifr_hwaddr.sa_data, sizeof(local.mac));
	lg_frame_source_init(&x->source, &local);
	return 0;
}

/* One descriptor that becomes readable with any of the queues. */
static int watch_all(struct lg_io_xdp *x)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	for (uint32_t i = 0; fd >= 0 && i < x->n_queues; i++)
		epoll_ctl(fd, EPOLL_CTL_ADD, x->queue[i].fd, &event);
	return fd;
}

/* In the interface's namespace. */
static int open_all(struct lg_io_xdp *x, const struct lg_xdp_options *o)
{
	int error;

	x->control_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (x->control_fd < 0)
		return -errno;
	error = make_source(x, &o->local);
	for (uint32_t i = 0; i < o->n_queues && !error; i++) {
		error = xdp_queue_open(&x->queue[i], x->ifname, o->first_queue + i, o->flags);
		if (error)
			break;
		x->n_queues++;
		if (o->xsks_map_fd >= 0)
			error = xsk_socket__update_xskmap(x->queue[i].xsk, o->xsks_map_fd);
	}
	if (!error)
		x->io.fd = x->n_queues == 1 ? x->queue[0].fd : watch_all(x);
	return error ? error : x->io.fd < 0 ? -errno : 0;
}

struct lg_io *lg_io_xdp_open(const struct lg_xdp_options *o, int *error)
{
	struct lg_io_xdp *x;
	int former;

	*error = EINVAL;
	if (!o->n_queues || o->n_queues > LG_XDP_MAX_QUEUES || strlen(o->ifname) >= IFNAMSIZ)
		return NULL;
	x = calloc(1, sizeof(*x));
	*error = ENOMEM;
	if (!x)
		return NULL;
	strcpy(x->ifname, o->ifname);
	x->control_fd = -1;
	x->io.fd = -1;
	x->flags = o->flags;
	x->port =
		o->local.sa.sa_family == AF_INET6 ? o->local.in6.sin6_port : o->local.in4.sin_port;
	x->io.ops = &xdp_ops;
	former = lg_netns_enter(o->netns);
	*error = former < -1 ? -(former + 1) : -open_all(x, o);
	lg_netns_leave(former);
	if (*error) {
		xdp_close(&x->io);
		return NULL;
	}
	return &x->io;
}

int lg_io_xdp_is_zero_copy(const struct lg_io *io)
{
	const struct lg_io_xdp *x = (const struct lg_io_xdp *)io;

	for (uint32_t i = 0; i < x->n_queues; i++)
		if (!x->queue[i].zero_copy)
			return 0;
	return 1;
}
