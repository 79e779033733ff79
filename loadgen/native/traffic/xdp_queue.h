/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One receive queue: an AF_XDP socket, its rings, and the memory of its frames. The lower
 * half of the frames belongs to the receive side, the upper half to the send side. More
 * frames would ride out longer pauses of this thread, but go round through the cache. */
#ifndef LG_XDP_QUEUE_H
#define LG_XDP_QUEUE_H

#include <stdint.h>
#include <xdp/xsk.h>

#define XDP_QUEUE_FRAMES 2048
#define XDP_QUEUE_FRAME_SIZE 2048
#define XDP_QUEUE_RX_FRAMES (XDP_QUEUE_FRAMES / 2)
#define XDP_QUEUE_TX_FRAMES (XDP_QUEUE_FRAMES - XDP_QUEUE_RX_FRAMES)

struct xdp_queue {
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons completion, rx;
	uint8_t *area;
	uint64_t spare_tx[XDP_QUEUE_TX_FRAMES]; /* addresses of frames to send with */
	uint32_t n_spare_tx;
	uint64_t lent_rx[64]; /* frames that the caller still reads */
	uint32_t n_lent_rx;
	int fd;
	int zero_copy;
};

/* 0 or -errno; in the interface's network namespace. */
int xdp_queue_open(struct xdp_queue *q, const char *ifname, uint32_t number, uint32_t flags);
void xdp_queue_close(struct xdp_queue *q);
/* Takes back frames that were sent. */
void xdp_queue_reclaim(struct xdp_queue *q);
/* Gives the lent frames back to the kernel. */
void xdp_queue_return(struct xdp_queue *q);
/* Makes the kernel send what is in the ring; 0 or -errno. */
int xdp_queue_kick(struct xdp_queue *q);
/* Packets dropped for want of a free frame, and in all, since the socket was opened. */
void xdp_queue_drops(struct xdp_queue *q, uint64_t *starved, uint64_t *all);

#endif
