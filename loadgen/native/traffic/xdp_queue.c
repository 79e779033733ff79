/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "xdp_queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "io_xdp.h"

#define AREA_BYTES ((size_t)XDP_QUEUE_FRAMES * XDP_QUEUE_FRAME_SIZE)

#ifndef XDP_MAX_TX_SKB_BUDGET /* since kernel 6.18 */
#define XDP_MAX_TX_SKB_BUDGET 9
#endif
/* Frames that one system call sends in copy mode; the kernel's default is 32. */
#define TX_BUDGET 64

static int bind_socket(struct xdp_queue *q, const char *ifname, uint32_t number, uint16_t mode)
{
	struct xsk_socket_config config = {
		.rx_size = XDP_QUEUE_RX_FRAMES,
		.tx_size = XDP_QUEUE_TX_FRAMES,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = (uint16_t)(mode | XDP_USE_NEED_WAKEUP),
	};

	return xsk_socket__create(&q->xsk, ifname, number, q->umem, &q->rx, &q->tx, &config);
}

static int make_umem(struct xdp_queue *q)
{
	struct xsk_umem_config config = {
		.fill_size = XDP_QUEUE_RX_FRAMES,
		.comp_size = XDP_QUEUE_TX_FRAMES,
		.frame_size = XDP_QUEUE_FRAME_SIZE,
	};

	return xsk_umem__create(&q->umem, q->area, AREA_BYTES, &q->fill, &q->completion, &config);
}

/* A failed bind spoils the memory's registration, so each mode starts over. */
static int open_mode(struct xdp_queue *q, const char *ifname, uint32_t number, uint16_t mode)
{
	int error = make_umem(q);

	if (error)
		return error;
	error = bind_socket(q, ifname, number, mode);
	if (error) {
		xsk_umem__delete(q->umem);
		q->umem = NULL;
		q->xsk = NULL;
	}
	return error;
}

/* The kernel frees the queue of a closed socket a moment later. */
static int open_patiently(struct xdp_queue *q, const char *ifname, uint32_t number, uint16_t mode)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int error = open_mode(q, ifname, number, mode);

	for (int tries = 0; error == -EBUSY && tries < 30; tries++) {
		nanosleep(&pause, NULL);
		error = open_mode(q, ifname, number, mode);
	}
	return error;
}

static void set_up_rings(struct xdp_queue *q)
{
	uint32_t at = 0;
	int budget = TX_BUDGET;

	xsk_ring_prod__reserve(&q->fill, XDP_QUEUE_RX_FRAMES, &at);
	for (uint32_t i = 0; i < XDP_QUEUE_RX_FRAMES; i++)
		*xsk_ring_prod__fill_addr(&q->fill, at + i) = (uint64_t)i * XDP_QUEUE_FRAME_SIZE;
	xsk_ring_prod__submit(&q->fill, XDP_QUEUE_RX_FRAMES);
	for (uint32_t i = 0; i < XDP_QUEUE_TX_FRAMES; i++)
		q->spare_tx[q->n_spare_tx++] =
			(uint64_t)(XDP_QUEUE_RX_FRAMES + i) * XDP_QUEUE_FRAME_SIZE;
	/* Older kernels do not know it: then a batch takes two calls. */
	setsockopt(q->fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget));
}

int xdp_queue_open(struct xdp_queue *q, const char *ifname, uint32_t number, uint32_t flags)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int error = -EOPNOTSUPP;

	memset(q, 0, sizeof(*q));
	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* matters to kernels before 5.11 */
	q->area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (q->area == MAP_FAILED) {
		q->area = NULL;
		return -errno;
	}
	if (!(flags & LG_XDP_COPY)) {
		error = open_patiently(q, ifname, number, XDP_ZEROCOPY);
		q->zero_copy = !error;
	}
	if (error && !(flags & LG_XDP_ZERO_COPY))
		error = open_patiently(q, ifname, number, XDP_COPY);
	if (error) {
		xdp_queue_close(q);
		return error;
	}
	q->fd = xsk_socket__fd(q->xsk);
	set_up_rings(q);
	return 0;
}

void xdp_queue_close(struct xdp_queue *q)
{
	if (q->xsk)
		xsk_socket__delete(q->xsk);
	if (q->umem)
		xsk_umem__delete(q->umem);
	if (q->area)
		munmap(q->area, AREA_BYTES);
	memset(q, 0, sizeof(*q));
}

void xdp_queue_reclaim(struct xdp_queue *q)
{
	uint32_t at = 0, n = xsk_ring_cons__peek(&q->completion, XDP_QUEUE_TX_FRAMES, &at);

	for (uint32_t i = 0; i < n; i++) {
		/* As it was sent: where the packet began inside the frame. */
		uint64_t addr = *xsk_ring_cons__comp_addr(&q->completion, at + i);

		q->spare_tx[q->n_spare_tx++] = addr - addr % XDP_QUEUE_FRAME_SIZE;
	}
	xsk_ring_cons__release(&q->completion, n);
}

void xdp_queue_return(struct xdp_queue *q)
{
	uint32_t at = 0;

	if (!q->n_lent_rx || !xsk_ring_prod__reserve(&q->fill, q->n_lent_rx, &at))
		return; /* cannot be: the ring has room for every receive frame */
	for (uint32_t i = 0; i < q->n_lent_rx; i++)
		*xsk_ring_prod__fill_addr(&q->fill, at + i) = q->lent_rx[i];
	xsk_ring_prod__submit(&q->fill, q->n_lent_rx);
	q->n_lent_rx = 0;
}

int xdp_queue_kick(struct xdp_queue *q)
{
	if (!xsk_ring_prod__needs_wakeup(&q->tx))
		return 0;
	/* EAGAIN: the budget of the call is spent and frames are left. */
	for (int i = 0; i < 4; i++) {
		if (sendto(q->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
			return 0;
		if (errno != EAGAIN)
			return errno == EBUSY || errno == ENOBUFS ? 0 : -errno;
	}
	return 0;
}

void xdp_queue_drops(struct xdp_queue *q, uint64_t *starved, uint64_t *all)
{
	struct xdp_statistics s = {0};
	socklen_t len = sizeof(s);

	if (getsockopt(q->fd, SOL_XDP, XDP_STATISTICS, &s, &len))
		return;
	/* In copy mode a packet without a frame counts twice: dropped, and ring empty. */
	*all += s.rx_dropped + s.rx_ring_full + (q->zero_copy ? s.rx_fill_ring_empty_descs : 0);
	*starved += s.rx_dropped + s.rx_ring_full + s.rx_fill_ring_empty_descs;
}
