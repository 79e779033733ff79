/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nc_chunked_sum: the kernel's nc_frame_sum. A loop over packet bytes would be walked by the
 * verifier once on every path that leads to it, and BCC has no calls between functions: so the
 * bytes are copied out in chunks, and a helper adds them up. Needs nc_scratch_of(). */
#ifndef NETCLONE_TARGETS_FRAME_SUM_H
#define NETCLONE_TARGETS_FRAME_SUM_H

enum {
	NC_SUM_CHUNK = 512,	/* the most that bpf_csum_diff takes before kernel 6.12 */
	NC_SCRATCH_WORDS = 256, /* a chunk and its padding, as a power of two */
};

struct nc_scratch {
	nc_u32 word[NC_SCRATCH_WORDS];
};

NC_INLINE struct nc_scratch *nc_scratch_of(void);

/* 0 for a frame that ends before offset + len, which nc_parse has excluded. */
NC_INLINE nc_u16 nc_chunked_sum(void *frame, nc_u32 offset, nc_u32 len)
{
	struct nc_scratch *scratch = nc_scratch_of();
	nc_u64 sum = 0, rest;

	if (!scratch)
		return 0;
	for (int i = 0; i < NC_MAX_L4_LEN / NC_SUM_CHUNK && len > NC_SUM_CHUNK; i++) {
		if (bpf_xdp_load_bytes(frame, offset, scratch->word, NC_SUM_CHUNK) < 0)
			return 0;
		sum = bpf_csum_diff(0, 0, (void *)scratch->word, NC_SUM_CHUNK, (nc_u32)sum);
		offset += NC_SUM_CHUNK;
		len -= NC_SUM_CHUNK;
		/* Left to itself the compiler drops the count of steps, since it knows the
		 * bounds of len, and the verifier, which does not, sees no end. */
		asm volatile("" : "+r"(len));
	}
	/* The compiler knows the bounds of the rest; the verifier has to be shown. */
	rest = len;
	asm volatile("" : "+r"(rest));
	if (rest == 0 || rest > NC_SUM_CHUNK)
		return 0;
	scratch->word[rest / 4 & (NC_SCRATCH_WORDS - 1)] = 0;
	if (bpf_xdp_load_bytes(frame, offset, scratch->word, rest) < 0)
		return 0;
	sum = bpf_csum_diff(0, 0, (void *)scratch->word, (rest + 3) & ~3U, (nc_u32)sum);
	return nc_fold((nc_u32)sum);
}

#endif
