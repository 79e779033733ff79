/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a host knows of itself, and whether a packet is for it: one for a group, for all, or for
 * another host behind the same wire must neither count as in flight nor as an answer. */
#ifndef NETCLONE_HOST_H
#define NETCLONE_HOST_H

#include "packet.h"
#include "tables.h"

struct nc_mac_words {
	nc_u32 four;
	nc_u16 two;
} NC_UNALIGNED;

NC_INLINE int nc_has_mac(const struct nc_host *host, const struct nc_eth *eth)
{
	const struct nc_mac_words *own = (const void *)host->mac, *dst = (const void *)eth->dst;

	return nc_likely(own->four == dst->four && own->two == dst->two) || !(own->four | own->two);
}

NC_INLINE int nc_has_ip4(const struct nc_host *host, nc_be32 address)
{
	if (nc_likely(host->ip4[0] == address) || !host->ip4[0])
		return 1;
	for (int i = 1; i < NC_MAX_ADDRESSES; i++)
		if (host->ip4[i] == address)
			return 1;
	return 0;
}

NC_INLINE int nc_has_ip6(const struct nc_host *host, const struct nc_ip6 *ip6)
{
	nc_be32 any = host->ip6[0][0] | host->ip6[0][1] | host->ip6[0][2] | host->ip6[0][3];

	for (int i = 0; i < NC_MAX_ADDRESSES; i++)
		if (host->ip6[i][0] == ip6->dst[0] && host->ip6[i][1] == ip6->dst[1] &&
		    host->ip6[i][2] == ip6->dst[2] && host->ip6[i][3] == ip6->dst[3])
			return 1;
	return !any;
}

NC_INLINE int nc_is_for(const struct nc_host *host, const struct nc_packet *p)
{
	const struct nc_ip6 *ip6 = nc_ip6_of(p);

	if (nc_unlikely(!nc_has_mac(host, p->eth)))
		return 0;
	return ip6 ? nc_has_ip6(host, ip6) : nc_has_ip4(host, nc_ip4_of(p)->dst);
}

#endif
