/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A cap on cloning: [line 7] only while the share of cloned requests allows it. A bucket of tokens,
 * filled by requests and not by time: each that could be cloned brings its share, a clone takes
 * one whole. */
#ifndef NETCLONE_CLONE_CAP_H
#define NETCLONE_CLONE_CAP_H

#include "../algorithm1.h"

enum {
	NC_CAP_ONE = 1 << 16,
	NC_CAP_BURST = 64 * NC_CAP_ONE,
};

/* Two CPUs at once: one of them clones less than it could, none more. */
NC_INLINE nc_u32 nc_cap(struct nc_env *env, const struct nc_switch_config *cfg, nc_u32 choice)
{
	nc_u64 *bucket = nc_clone_tokens_of(env), before, tokens;
	int clone = choice & NC_CHOICE_BOTH;

	if (!bucket)
		return choice;
	before = *(volatile nc_u64 *)bucket;
	tokens = before + cfg->clone_share;
	tokens = tokens < NC_CAP_BURST ? tokens : NC_CAP_BURST;
	if (!clone || tokens < NC_CAP_ONE) {
		nc_replace(bucket, before, tokens);
		return clone ? (choice & ~NC_CHOICE_BOTH) | NC_CHOICE_CAPPED : choice;
	}
	if (nc_replace(bucket, before, tokens - NC_CAP_ONE) == before)
		return choice;
	return (choice & ~NC_CHOICE_BOTH) | NC_CHOICE_CAPPED;
}

#endif
