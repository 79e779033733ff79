/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "histogram.h"

#include <math.h>
#include <string.h>

void lg_hist_init(struct lg_hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void lg_hist_record(struct lg_hist *h, uint64_t v)
{
	lg_hist_add(h, v);
}

void lg_hist_merge(struct lg_hist *into, const struct lg_hist *from)
{
	into->count += from->count;
	into->clipped += from->clipped;
	into->sum += from->sum;
	into->sum_sq += from->sum_sq;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (unsigned int i = 0; i < LG_HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

double lg_hist_value(unsigned int i)
{
	unsigned int shift;
	uint64_t low;

	if (i < 2 * LG_HIST_SUB)
		return i;
	shift = i / LG_HIST_SUB - 1;
	low = (uint64_t)(i - shift * LG_HIST_SUB) << shift;
	return (double)low + (double)((1ULL << shift) - 1) / 2;
}

double lg_hist_quantile(const struct lg_hist *h, double q)
{
	uint64_t rank, seen = 0;
	double v;

	if (!h->count)
		return NAN;
	rank = (uint64_t)ceil(q * (double)h->count);
	if (rank < 1)
		rank = 1;
	if (rank >= h->count)
		return (double)h->max;
	for (unsigned int i = 0; i < LG_HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen < rank)
			continue;
		v = lg_hist_value(i);
		if (v < (double)h->min)
			v = (double)h->min;
		return v > (double)h->max ? (double)h->max : v;
	}
	return (double)h->max;
}

size_t lg_hist_size(void)
{
	return sizeof(struct lg_hist);
}
