/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A frame, and a packet found in it (parse.h). */
#ifndef NETCLONE_PACKET_H
#define NETCLONE_PACKET_H

#include "limits.h"
#include "verifier.h"
#include "wire.h"

enum {
	NC_ETH_IP4 = 0x0800,
	NC_ETH_IP6 = 0x86dd,
	NC_ETH_VLAN = 0x8100,
	NC_ETH_QINQ = 0x88a8,
	NC_PROTO_TCP = 6,
	NC_PROTO_UDP = 17,
	NC_IP4_FRAGMENT_MASK = 0x3fff, /* more-fragments bit and offset */
	NC_IP4_OFFSET_MASK = 0x1fff,
	NC_IP6_OFFSET_MASK = 0xfff8,
};

struct nc_eth {
	nc_be16 dst[3];
	nc_be16 src[3];
	nc_be16 type;
} NC_UNALIGNED;

struct nc_vlan {
	nc_be16 tci;
	nc_be16 type;
} NC_UNALIGNED;

struct nc_ip4 {
	nc_u8 version_ihl;
	nc_u8 tos;
	nc_be16 total_len;
	nc_be16 id;
	nc_be16 fragment;
	nc_u8 ttl;
	nc_u8 protocol;
	nc_be16 check;
	nc_be32 src;
	nc_be32 dst;
} NC_UNALIGNED;

struct nc_ip6 {
	nc_be32 version_flow;
	nc_be16 payload_len;
	nc_u8 next_header;
	nc_u8 hop_limit;
	nc_be32 src[4];
	nc_be32 dst[4];
} NC_UNALIGNED;

struct nc_ip6_fragment {
	nc_u8 next_header;
	nc_u8 reserved;
	nc_be16 offset;
	nc_be32 id;
} NC_UNALIGNED;

struct nc_udp {
	nc_be16 src;
	nc_be16 dst;
	nc_be16 len;
	nc_be16 check;
} NC_UNALIGNED;

struct nc_tcp {
	nc_be16 src;
	nc_be16 dst;
	nc_be32 seq;
	nc_be32 ack;
	nc_u8 data_offset; /* high four bits, in 32-bit words */
	nc_u8 flags;
	nc_be16 window;
	nc_be16 check;
	nc_be16 urgent;
} NC_UNALIGNED;

/* The bytes [data, end), and what the target calls the frame. */
struct nc_frame {
	void *data;
	void *end;
	void *handle;
};

/* A parsed packet. Pointers stay valid as long as the frame does. */
struct nc_packet {
	void *frame; /* the target's own handle of the frame (nc_frame_sum) */
	struct nc_eth *eth;
	void *l3; /* struct nc_ip4 or struct nc_ip6: use nc_ip4_of, nc_ip6_of */
	void *l4;
	struct nc_header *nc;
	void *end; /* of the frame */
	nc_be16 src_port;
	nc_be16 dst_port;
	nc_u32 l4_len;	  /* bytes, header included */
	nc_u32 l4_offset; /* from the start of the frame */
	nc_u8 protocol;
	nc_u8 is_ip6;
	nc_u8 tagged; /* carries a VLAN tag */
	nc_u8 fast;   /* found by nc_parse_fast: headers are at constant offsets */
};

/* A packet on its way out of a host. When its counter says that it was rewritten, its L4 checksum
 * is the caller's to update by `diff`: only the target knows whether the sum is partial. */
struct nc_egress {
	struct nc_packet packet;
	nc_u64 diff; /* what the rewritten header adds to the sum */
};

NC_INLINE int nc_is_ip6(const struct nc_packet *p)
{
	return p->is_ip6;
}

/* For an IPv4 packet. */
NC_INLINE struct nc_ip4 *nc_ip4_of(const struct nc_packet *p)
{
	return p->l3;
}

/* 0 for an IPv4 packet. */
NC_INLINE struct nc_ip6 *nc_ip6_of(const struct nc_packet *p)
{
	struct nc_ip6 *ip = p->l3;

	if (nc_likely(!nc_is_ip6(p)) || (!p->fast && nc_never((void *)(ip + 1) > p->end)))
		return 0;
	return ip;
}

#endif
