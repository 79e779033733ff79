/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What differs between the loaders at the entry points: BCC names a program by its
 * function, libbpf by its section. */
#ifndef NETCLONE_TARGETS_ENTRY_H
#define NETCLONE_TARGETS_ENTRY_H

#define NC_ENV ((struct nc_env *)0) /* kernel programs have one set of tables */
#define NC_FRAME(ctx)                                                                              \
	{                                                                                          \
		(void *)(long)(ctx)->data, (void *)(long)(ctx)->data_end, (ctx)                    \
	}

#ifdef NC_TARGET_BCC
#define NC_XDP(name) int name(struct xdp_md *ctx)
#define NC_XDP_DEVMAP(name) int name(struct xdp_md *ctx)
#define NC_TC(name) int name(struct __sk_buff *ctx)
#else
#include <linux/pkt_cls.h>
#define NC_XDP(name) SEC("xdp") int name(struct xdp_md *ctx)
#define NC_XDP_DEVMAP(name) SEC("xdp/devmap") int name(struct xdp_md *ctx)
#define NC_TC(name) SEC("tc") int name(struct __sk_buff *ctx)

char nc_license[] SEC("license") = "Dual BSD/GPL";
#endif

#endif
