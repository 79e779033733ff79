// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cheapest server there is, for benchmarks of clients: every UDP packet over IPv4 to the
 * NetClone port goes back from the driver, as a response. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "netclone/wire.h"

struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	struct nc_header nc;
} __attribute__((packed));

static __always_inline void turn_round(struct frame *f)
{
	unsigned char mac[ETH_ALEN];
	__be32 ip = f->ip.saddr;
	__be16 port = f->udp.source;

	__builtin_memcpy(mac, f->eth.h_source, ETH_ALEN);
	__builtin_memcpy(f->eth.h_source, f->eth.h_dest, ETH_ALEN);
	__builtin_memcpy(f->eth.h_dest, mac, ETH_ALEN);
	f->ip.saddr = f->ip.daddr;
	f->ip.daddr = ip;
	f->udp.source = f->udp.dest;
	f->udp.dest = port;
	f->udp.check = 0; /* may be a partial sum, which would not survive */
	f->nc.type = NC_TYPE_RESP;
}

SEC("xdp")
int lg_reflect(struct xdp_md *ctx)
{
	struct frame *f = (void *)(long)ctx->data;

	if ((void *)(f + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	if (f->eth.h_proto != bpf_htons(ETH_P_IP) || f->ip.ihl != 5 ||
	    f->ip.protocol != IPPROTO_UDP || f->udp.dest != bpf_htons(NC_DEFAULT_PORT))
		return XDP_PASS;
	turn_round(f);
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
