// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Harness of the benchmark. BPF_PROG_TEST_RUN does not give a program its packet anew at each
 * repetition, but these programs rewrite it: so the packet is put back here, with the
 * next REQ_ID if wanted, before the program that is measured is called. The yardstick is
 * an empty program behind the same harness. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include "netclone/wire.h"

enum {
	NC_BENCH_LEN = 96, /* headers up to IPv6 and UDP, and NetClone's */
};

struct nc_bench_packet {
	nc_u32 next_id;	  /* REQ_ID of the next run; 0: the packet's own */
	nc_u32 id_offset; /* of REQ_ID in the frame */
	nc_u64 word[NC_BENCH_LEN / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, nc_u32);
	__type(value, struct nc_bench_packet);
} nc_bench SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(nc_u32));
	__uint(value_size, sizeof(nc_u32));
} nc_bench_xdp_call SEC(".maps"), nc_bench_tc_call SEC(".maps");

static __always_inline void put_back(void *data, void *end)
{
	struct nc_bench_packet *packet;
	nc_u64 *to = data;
	nc_u32 index = 0;
	nc_be32 *id;

	packet = bpf_map_lookup_elem(&nc_bench, &index);
	if (!packet || data + NC_BENCH_LEN > end)
		return;
#pragma unroll
	for (int i = 0; i < NC_BENCH_LEN / 8; i++)
		to[i] = packet->word[i];
	id = data + (packet->id_offset & 127);
	if (packet->next_id && (void *)(id + 1) <= end)
		*id = nc_htonl(packet->next_id++);
	/* Reads the clock, which waits: what was written here is in the cache by then, as a
	 * received packet is, and the program does not run along with the harness. */
	bpf_ktime_get_ns();
}

SEC("xdp") int nc_bench_xdp(struct xdp_md *ctx)
{
	put_back((void *)(long)ctx->data, (void *)(long)ctx->data_end);
	bpf_tail_call(ctx, &nc_bench_xdp_call, 0);
	return XDP_ABORTED;
}

SEC("tc") int nc_bench_tc(struct __sk_buff *ctx)
{
	put_back((void *)(long)ctx->data, (void *)(long)ctx->data_end);
	bpf_tail_call(ctx, &nc_bench_tc_call, 0);
	return TC_ACT_SHOT;
}

char nc_license[] SEC("license") = "Dual BSD/GPL";
