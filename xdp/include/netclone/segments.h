/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A buffer that will be cut into UDP segments further down, each with a header of ours. */
#ifndef NETCLONE_SEGMENTS_H
#define NETCLONE_SEGMENTS_H

#include "parse.h"

/* The headers of a UDP packet with a NetClone port, whatever its lengths say: a buffer that will be
 * cut into segments, each with a header of ours, has those of all together. */
NC_INLINE int nc_find_udp(const struct nc_frame *frame, const struct nc_ports *ports,
			  struct nc_packet *p)
{
	p->frame = frame->handle;
	p->end = frame->end;
	if (!nc_parse_fast(frame->data, 0, p) && nc_parse_full(frame->data, p) != NC_PARSED)
		return 0;
	if (p->protocol != NC_PROTO_UDP || (void *)((struct nc_udp *)p->l4 + 1) > p->end)
		return 0;
	p->src_port = ((struct nc_udp *)p->l4)->src;
	p->dst_port = ((struct nc_udp *)p->l4)->dst;
	return nc_is_port(ports, p->src_port) || nc_is_port(ports, p->dst_port);
}

/* The header of one segment, a copy of it, in a buffer of several (`all`). */
NC_INLINE enum nc_counter nc_check_segment(const struct nc_packet *all, struct nc_header *h,
					   const struct nc_ports *ports,
					   const struct nc_ranges *ranges)
{
	const struct nc_packet one = {.nc = h, .protocol = NC_PROTO_UDP};

	return nc_check_header(&one, nc_is_port(ports, all->dst_port),
			       nc_is_port(ports, all->src_port), ranges);
}

#endif
