/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first fragment of a response longer than the MTU: only it has a NetClone header. */
#ifndef NETCLONE_FRAGMENT_H
#define NETCLONE_FRAGMENT_H

#include "parse.h"

/* The first fragment of a UDP packet, which has its header. Returns NC_PARSED and fills *p; the
 * lengths are those of the fragment. */
NC_INLINE enum nc_counter nc_parse_first_fragment(const struct nc_frame *frame,
						  const struct nc_ports *ports,
						  const struct nc_ranges *ranges,
						  struct nc_packet *p)
{
	struct nc_ip6_fragment *extension;
	struct nc_ip4 *ip4;
	struct nc_ip6 *ip6;
	nc_be16 type;
	void *l3;

	p->frame = frame->handle;
	p->end = frame->end;
	l3 = nc_parse_l2(frame->data, p, &type);
	ip4 = l3;
	ip6 = l3;
	if (!l3 || (void *)(ip6 + 1) > p->end)
		return NC_CTR_fragment;
	p->l3 = l3;
	if (type == nc_htons(NC_ETH_IP4)) {
		if (ip4->version_ihl != 0x45 || ip4->fragment & nc_htons(NC_IP4_OFFSET_MASK) ||
		    ip4->protocol != NC_PROTO_UDP)
			return NC_CTR_fragment;
		p->l4_len = (nc_u32)nc_ntohs(ip4->total_len) - (nc_u32)sizeof(*ip4);
		p->l4 = ip4 + 1;
		p->is_ip6 = 0;
	} else {
		extension = (void *)(ip6 + 1);
		if ((void *)(extension + 1) > p->end || extension->next_header != NC_PROTO_UDP ||
		    extension->offset & nc_htons(NC_IP6_OFFSET_MASK))
			return NC_CTR_fragment;
		p->l4_len = (nc_u32)nc_ntohs(ip6->payload_len) - (nc_u32)sizeof(*extension);
		p->l4 = extension + 1;
		p->is_ip6 = 1;
	}
	p->nc = (struct nc_header *)((struct nc_udp *)p->l4 + 1);
	if ((void *)(p->nc + 1) > p->end || p->l4_len > NC_MAX_L4_LEN ||
	    p->l4_len < sizeof(struct nc_udp) + NC_HEADER_LEN ||
	    (nc_u8 *)p->l4 + p->l4_len > (nc_u8 *)p->end)
		return NC_CTR_fragment;
	p->protocol = NC_PROTO_UDP;
	p->src_port = ((struct nc_udp *)p->l4)->src;
	p->dst_port = ((struct nc_udp *)p->l4)->dst;
	return nc_check_header(p, nc_is_port(ports, p->dst_port), nc_is_port(ports, p->src_port),
			       ranges);
}

#endif
