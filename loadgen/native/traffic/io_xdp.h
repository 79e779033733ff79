/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The `af_xdp` back end: frames by AF_XDP sockets, one per receive queue, all in one thread.
 *
 * The interface keeps the role's own XDP program: after its verdict it hands the packets to
 * the sockets through the map `nc_xsks`, whose descriptor is given here. What is sent this
 * way passes no tc program: the caller stamps the header itself. */
#ifndef LG_IO_XDP_H
#define LG_IO_XDP_H

#include "io.h"

enum lg_xdp_flags {
	LG_XDP_COPY = 1 << 0,	   /* do not try zero-copy */
	LG_XDP_ZERO_COPY = 1 << 1, /* nothing but zero-copy */
	LG_XDP_ENDURE = 1 << 2,	   /* go on when the fill ring starves (drops are counted) */
};

struct lg_xdp_options {
	const char *netns; /* path of a network namespace; NULL: the caller's */
	const char *ifname;
	int32_t xsks_map_fd; /* -1: send only */
	uint32_t first_queue, n_queues;
	uint32_t flags;	      /* enum lg_xdp_flags */
	struct lg_peer local; /* address and port; the MAC is the interface's */
};

#define LG_XDP_MAX_QUEUES 64

/* NULL: *error is an errno. */
struct lg_io *lg_io_xdp_open(const struct lg_xdp_options *options, int *error);
/* 1: every socket is zero-copy. */
int lg_io_xdp_is_zero_copy(const struct lg_io *io);

#endif
