/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Log-linear histogram of nanoseconds, in the manner of HDR histograms: values below 2048
 * are exact; above, every octave has 1024 buckets and a bucket is reported by its middle,
 * so that no value is reported wrong by more than 1 / 2048 (0.05 %). */
#ifndef LG_HIST_H
#define LG_HIST_H

#include <stddef.h>
#include <stdint.h>

#define LG_HIST_SUB_LOG2 10
#define LG_HIST_SUB (1u << LG_HIST_SUB_LOG2)
/* Largest value 2^42 - 1 ns, 73 minutes; larger ones count as that, and in `clipped`. */
#define LG_HIST_MAX_LOG2 42
#define LG_HIST_BUCKETS ((LG_HIST_MAX_LOG2 - LG_HIST_SUB_LOG2 + 1) * LG_HIST_SUB)

struct lg_hist {
	uint64_t count;
	uint64_t clipped;
	uint64_t min, max;  /* exact */
	double sum, sum_sq; /* ns, ns^2 */
	uint64_t bucket[LG_HIST_BUCKETS];
};

/* Enough for a mean and a coefficient of variation. */
struct lg_moments {
	uint64_t count;
	double sum, sum_sq;
};

static inline void lg_moments_add(struct lg_moments *m, double v)
{
	m->count++;
	m->sum += v;
	m->sum_sq += v * v;
}

static inline unsigned int lg_hist_index(uint64_t v)
{
	unsigned int shift;

	if (v < 2 * LG_HIST_SUB)
		return (unsigned int)v;
	shift = 63 - LG_HIST_SUB_LOG2 - (unsigned int)__builtin_clzll(v);
	return shift * LG_HIST_SUB + (unsigned int)(v >> shift);
}

static inline void lg_hist_add(struct lg_hist *h, uint64_t v)
{
	uint64_t kept = v;

	if (v >> LG_HIST_MAX_LOG2) {
		h->clipped++;
		kept = (1ULL << LG_HIST_MAX_LOG2) - 1;
	}
	h->bucket[lg_hist_index(kept)]++;
	h->count++;
	h->sum += (double)v;
	h->sum_sq += (double)v * (double)v;
	if (v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
}

void lg_hist_init(struct lg_hist *h);
/* lg_hist_add for callers outside C. */
void lg_hist_record(struct lg_hist *h, uint64_t v);
void lg_hist_merge(struct lg_hist *into, const struct lg_hist *from);
/* Middle of bucket i. */
double lg_hist_value(unsigned int i);
/* Smallest recorded value (to 0.05 %) that at least fraction q of all are not above; q in
 * [0, 1]. NaN when empty. Never outside [min, max]. */
double lg_hist_quantile(const struct lg_hist *h, double q);
size_t lg_hist_size(void);

#endif
