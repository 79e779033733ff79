/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bounds-checked parsing of a frame down to the NetClone header (docs/data-plane.md,
 * "Parsing"). */
#ifndef NETCLONE_PARSE_H
#define NETCLONE_PARSE_H

#include "counters.h"
#include "fingerprint.h"
#include "packet.h"
#include "tables.h"
#include "verifier.h"

/* What a role takes as in range. */
struct nc_ranges {
	nc_u32 n_groups;
	nc_u32 n_filter_tables;
	nc_u32 blank;	  /* a request may have GRP = 0 */
	nc_u32 at_switch; /* CLO of a request must be 0, unless another switch has claimed it */
	nc_be16 switch_id;
};

#define NC_PARSED NC_CTR_COUNT /* "no reason to pass": the packet is NetClone */

NC_INLINE int nc_is_port(const struct nc_ports *ports, nc_be16 port)
{
	if (nc_likely(ports->port[0] == port))
		return port != 0;
	if (nc_likely(ports->count <= 1))
		return 0;
	for (int i = 1; i < NC_MAX_PORTS; i++)
		if (ports->port[i] == port)
			return port != 0;
	return 0;
}

NC_INLINE int nc_is_ip6_extension(nc_u8 next_header)
{
	switch (next_header) {
	case 0:	  /* hop by hop */
	case 43:  /* routing */
	case 50:  /* ESP */
	case 51:  /* AH */
	case 60:  /* destination options */
	case 135: /* mobility */
	case 139: /* HIP */
	case 140: /* shim6 */
		return 1;
	}
	return 0;
}

/* 1 for the first byte of a VLAN EtherType (0x81, 0x88), 0 for that of IP (0x08, 0x86). */
NC_INLINE nc_u32 nc_is_tag_byte(nc_u8 first)
{
	return (nc_u32)first >> 7 & (first | first >> 3) & 1;
}

/* Where the IP header starts. A frame that ends before
 * a second EtherType is a runt wherever its IP header is taken to be. */
NC_INLINE nc_u32 nc_opaque_l3_offset(const void *data, const void *end)
{
	const nc_u8 *eth = data;
	nc_u32 first, second;

	if ((const void *)(eth + sizeof(struct nc_eth) + sizeof(struct nc_vlan)) > end)
		return sizeof(struct nc_eth);
	first = nc_is_tag_byte(nc_byte_at(eth, 12));
	second = first & nc_is_tag_byte(nc_byte_at(eth, 16));
	return sizeof(struct nc_eth) + sizeof(struct nc_vlan) * (first + second);
}

/* Ethernet and VLAN tags; *type is the EtherType in network byte order. Returns the
 * start of the next header, or 0 when the frame ends before it. */
NC_INLINE void *nc_parse_l2(void *data, struct nc_packet *p, nc_be16 *type)
{
	struct nc_eth *eth = data;
	void *next = eth + 1;

	if (nc_unlikely(next > p->end))
		return 0;
	p->eth = eth;
	p->tagged = 0;
	*type = eth->type;
	for (int i = 0; i < NC_VLAN_MAX_TAGS; i++) {
		struct nc_vlan *tag = next;

		if (nc_likely(*type != nc_htons(NC_ETH_VLAN) && *type != nc_htons(NC_ETH_QINQ)))
			break;
		if ((void *)(tag + 1) > p->end)
			return 0;
		p->tagged = 1;
		*type = tag->type;
		next = tag + 1;
	}
	p->l4_offset = nc_opaque_l3_offset(data, p->end);
	next = (nc_u8 *)data + p->l4_offset;
	NC_ONE_POINTER(next);
	return next;
}

/* IPv4; leaves the length of L4 (by the IP header) in p->l4_len. */
NC_INLINE enum nc_counter nc_parse_ip4(void *l3, struct nc_packet *p)
{
	struct nc_ip4 *ip = l3;

	if (nc_unlikely((void *)(ip + 1) > p->end))
		return NC_CTR_runt;
	if (nc_unlikely(ip->version_ihl != 0x45)) {
		if (ip->version_ihl >> 4 != 4)
			return NC_CTR_not_netclone;
		return (ip->version_ihl & 15) < 5 ? NC_CTR_runt : NC_CTR_ip_options;
	}
	if (nc_unlikely(ip->fragment & nc_htons(NC_IP4_FRAGMENT_MASK)))
		return NC_CTR_fragment;
	p->l4_len = (nc_u32)nc_ntohs(ip->total_len) - (nc_u32)sizeof(*ip);
	return NC_PARSED;
}

NC_INLINE enum nc_counter nc_parse_ip6(void *l3, struct nc_packet *p)
{
	struct nc_ip6 *ip = l3;

	if (nc_unlikely((void *)(ip + 1) > p->end))
		return NC_CTR_runt;
	if (nc_unlikely((ip->version_flow & nc_htonl(0xf0000000)) != nc_htonl(0x60000000)))
		return NC_CTR_not_netclone;
	if (nc_unlikely(nc_is_ip6_extension(ip->next_header)))
		return NC_CTR_ipv6_extension;
	if (nc_unlikely(ip->next_header == 44))
		return NC_CTR_fragment;
	p->l4_len = nc_ntohs(ip->payload_len);
	return NC_PARSED;
}

/* Protocol of an IPv4 or IPv6 header that is in order: byte 9 of the one, byte 6 of the other. */
NC_INLINE nc_u8 nc_opaque_protocol(const void *l3)
{
	nc_u32 is_ip6 = nc_opaque_version(l3) >> 1 & 1;

	return (nc_byte_at(l3, 9) & (is_ip6 - 1)) | (nc_byte_at(l3, 6) & -is_ip6);
}

/* Its length is 20 for version 4 and 40 for version 6. */
NC_INLINE void nc_enter_l4(void *l3, struct nc_packet *p)
{
	nc_u32 header_len = (10 * nc_opaque_version(l3) - 20) & 0x3f;

	p->l3 = l3;
	p->is_ip6 = nc_opaque_version(l3) >> 1 & 1;
	p->protocol = nc_opaque_protocol(l3);
	p->l4 = (nc_u8 *)l3 + header_len;
	NC_ONE_POINTER(p->l4);
	p->l4_offset += header_len;
}

/* 8, the half of UDP's protocol number. */
#define NC_OPAQUE_UDP_LEN(p) (nc_opaque_protocol((p)->l3) >> 1 & 0x3f)
_Static_assert(NC_PROTO_UDP >> 1 == sizeof(struct nc_udp), "NC_OPAQUE_UDP_LEN");

/* L4 lengths, and the place of the header in a packet that has a NetClone port.
 * l4_len comes from the IP header and may be anything until it has been checked here;
 * an IPv4 total length below its header has wrapped round to a huge value. */
NC_INLINE enum nc_counter nc_parse_l4(struct nc_packet *p, nc_u32 udp_len)
{
	nc_u32 header_len;

	if (nc_unlikely(p->l4_len > NC_MAX_L4_LEN))
		return NC_CTR_bad_length;
	if (nc_unlikely((nc_u8 *)p->l4 + p->l4_len > (nc_u8 *)p->end))
		return NC_CTR_bad_length;
	if (nc_likely(p->protocol == NC_PROTO_UDP)) {
		struct nc_udp *udp = p->l4;

		if (nc_unlikely(nc_ntohs(udp->len) != p->l4_len || p->l4_len < sizeof(*udp)))
			return NC_CTR_bad_length;
		header_len = udp_len;
	} else {
		struct nc_tcp *tcp = p->l4;

		if (nc_never((void *)(tcp + 1) > p->end))
			return NC_CTR_runt;
		header_len = (nc_u32)(tcp->data_offset >> 4) * 4;
		if (header_len < sizeof(*tcp) || header_len > p->l4_len)
			return NC_CTR_bad_length;
	}
	if (nc_unlikely(p->l4_len < header_len + NC_HEADER_LEN))
		return NC_CTR_short_payload;
	/* Room for the check field of either L4 header. */
	if (nc_unlikely(nc_never((nc_u8 *)p->l4 + sizeof(struct nc_udp) + NC_HEADER_LEN >
				 (nc_u8 *)p->end)))
		return NC_CTR_short_payload;
	p->nc = (struct nc_header *)((nc_u8 *)p->l4 + header_len);
	NC_ONE_POINTER(p->nc);
	if (nc_unlikely(nc_never((void *)(p->nc + 1) > p->end)))
		return NC_CTR_short_payload;
	return NC_PARSED;
}

NC_INLINE enum nc_counter nc_check_header(const struct nc_packet *p, int to_port, int from_port,
					  const struct nc_ranges *ranges)
{
	const struct nc_header *h = p->nc;
	nc_u32 grp = nc_ntohl(h->grp);
	int blank;

	if (nc_unlikely(p->protocol == NC_PROTO_TCP && !(h->flags & NC_FLAG_CLIENT_ID_VALID)))
		return NC_CTR_tcp_without_client_id;
	if (nc_unlikely(!(h->type == NC_TYPE_REQ ? to_port : h->type == NC_TYPE_RESP && from_port)))
		return NC_CTR_bad_type;
	if (nc_unlikely(h->clo > NC_CLO_CLONE))
		return NC_CTR_bad_clo;
	if (nc_unlikely(h->clo != NC_CLO_NONE) && h->type == NC_TYPE_REQ && ranges->at_switch &&
	    (!h->switch_id || h->switch_id == ranges->switch_id))
		return NC_CTR_already_cloned;
	blank = ranges->blank && grp == 0 && h->type == NC_TYPE_REQ;
	if (nc_unlikely(grp - 1 >= ranges->n_groups && !blank))
		return NC_CTR_bad_group;
	if (nc_unlikely(nc_ntohl(h->sid) >= NC_MAX_SERVERS))
		return NC_CTR_bad_sid;
	if (nc_unlikely(h->idx >= ranges->n_filter_tables))
		return NC_CTR_bad_idx;
	return NC_PARSED;
}

/* UDP, no tags, no options or extension headers, no fragment: nearly every packet. `ip6`, a
 * constant, says over which IP. Returns whether it is one, with *p filled in up to L4 and
 * room for the UDP header. */
NC_INLINE int nc_parse_fast(void *data, int ip6, struct nc_packet *p)
{
	const nc_u32 l3_len = ip6 ? sizeof(struct nc_ip6) : sizeof(struct nc_ip4);
	struct nc_eth *eth = data;
	void *l3 = eth + 1;
	struct nc_udp *udp = (struct nc_udp *)((nc_u8 *)l3 + l3_len);

	if (nc_unlikely((void *)(udp + 1) > p->end))
		return 0;
	if (ip6) {
		const struct nc_ip6 *ip = l3;

		if (nc_unlikely(eth->type != nc_htons(NC_ETH_IP6) ||
				(ip->version_flow & nc_htonl(0xf0000000)) != nc_htonl(0x60000000) ||
				ip->next_header != NC_PROTO_UDP))
			return 0;
		p->l4_len = nc_ntohs(ip->payload_len);
	} else {
		const struct nc_ip4 *ip = l3;

		if (nc_unlikely(eth->type != nc_htons(NC_ETH_IP4) || ip->version_ihl != 0x45 ||
				ip->protocol != NC_PROTO_UDP ||
				ip->fragment & nc_htons(NC_IP4_FRAGMENT_MASK)))
			return 0;
		p->l4_len = (nc_u32)nc_ntohs(ip->total_len) - l3_len;
	}
	p->eth = eth;
	p->l3 = l3;
	p->l4 = udp;
	p->l4_offset = sizeof(*eth) + l3_len;
	p->protocol = NC_PROTO_UDP;
	p->is_ip6 = ip6;
	p->tagged = 0;
	p->fast = 1;
	return 1;
}

/* Any other frame, as far, at opaque offsets (verifier.h). */
NC_INLINE enum nc_counter nc_parse_full(void *data, struct nc_packet *p)
{
	enum nc_counter reason;
	nc_be16 type;
	void *l3;

	l3 = nc_parse_l2(data, p, &type);
	if (nc_unlikely(!l3))
		return NC_CTR_runt;
	if (type == nc_htons(NC_ETH_IP4))
		reason = nc_parse_ip4(l3, p);
	else if (type == nc_htons(NC_ETH_IP6))
		reason = nc_parse_ip6(l3, p);
	else
		return NC_CTR_not_netclone;
	if (nc_unlikely(reason != NC_PARSED))
		return reason;

	nc_enter_l4(l3, p);
	if (p->protocol == NC_PROTO_UDP) {
		if ((void *)((struct nc_udp *)p->l4 + 1) > p->end)
			return NC_CTR_runt;
	} else if (p->protocol == NC_PROTO_TCP) {
		if ((void *)((struct nc_tcp *)p->l4 + 1) > p->end)
			return NC_CTR_runt;
	} else {
		return NC_CTR_not_netclone;
	}
	return NC_PARSED;
}

/* From the ports on. UDP and TCP have them in the same place. */
NC_INLINE enum nc_counter nc_parse_from_ports(const struct nc_ports *ports,
					      const struct nc_ranges *ranges, nc_u32 udp_len,
					      struct nc_packet *p)
{
	enum nc_counter reason;
	int to_port, from_port;

	p->src_port = ((struct nc_udp *)p->l4)->src;
	p->dst_port = ((struct nc_udp *)p->l4)->dst;
	to_port = nc_is_port(ports, p->dst_port);
	from_port = nc_is_port(ports, p->src_port);
	if (!to_port && !from_port)
		return NC_CTR_not_netclone;
	reason = nc_parse_l4(p, udp_len);
	if (nc_unlikely(reason != NC_PARSED))
		return reason;
	return nc_check_header(p, to_port, from_port, ranges);
}

/* Parses a frame. Returns NC_PARSED and fills *p, or the reason why the
 * packet is none of ours; then nothing of *p may be used. */
NC_INLINE enum nc_counter nc_parse(const struct nc_frame *frame, const struct nc_ports *ports,
				   const struct nc_ranges *ranges, struct nc_packet *p)
{
	nc_u32 udp_len, protocol, is_ip6;
	enum nc_counter reason;

	p->frame = frame->handle;
	p->end = frame->end;
	if (nc_likely(nc_parse_fast(frame->data, 0, p))) {
		udp_len = sizeof(struct nc_udp);
	} else {
		reason = nc_parse_full(frame->data, p);
		if (reason != NC_PARSED)
			return reason;
		udp_len = NC_OPAQUE_UDP_LEN(p);
	}
	NC_MERGE(udp_len);
	NC_MERGE(p->l4);
	reason = nc_parse_from_ports(ports, ranges, udp_len, p);
	protocol = p->protocol;
	is_ip6 = p->is_ip6;
	NC_MERGE(protocol);
	NC_MERGE(is_ip6);
	p->protocol = (nc_u8)protocol;
	p->is_ip6 = (nc_u8)is_ip6;
	p->fast = 0;
	return reason;
}

/* A macro: the words of an address in a packet have no alignment. */
#define nc_hash_of_address6(secret, ip6, port)                                                     \
	nc_hash_of_ip6(secret, (nc_u64)nc_ntohl((ip6)[0]) << 32 | nc_ntohl((ip6)[1]),              \
		       (nc_u64)nc_ntohl((ip6)[2]) << 32 | nc_ntohl((ip6)[3]), port)

/* Who asks with this packet, or is answered (fingerprint.h). */
NC_INLINE nc_u32 nc_asker_of(const struct nc_packet *p, nc_u64 secret, int request)
{
	nc_u32 port = nc_ntohs(request ? p->src_port : p->dst_port);
	const struct nc_ip6 *ip6 = nc_ip6_of(p);

	if (!ip6)
		return nc_hash_of_ip4(
			secret, nc_ntohl(request ? nc_ip4_of(p)->src : nc_ip4_of(p)->dst), port);
	return request ? nc_hash_of_address6(secret, ip6->src, port)
		       : nc_hash_of_address6(secret, ip6->dst, port);
}

/* Who asked, for a packet whose id is the client's; else 0. */
NC_INLINE nc_u32 nc_who_asked(const struct nc_packet *p, nc_u64 secret)
{
	if (nc_likely(!nc_has_client_id(p->nc)))
		return 0;
	return nc_asker_of(p, secret, p->nc->type == NC_TYPE_REQ);
}

#endif
