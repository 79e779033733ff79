// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One frame through the parser, in memory that ends where the frame does. What it says of a
 * packet must lie within the frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netclone/checksum.h"
#include "netclone/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct nc_ports ports = {.count = 1, .port = {nc_htons(1000)}};
	const struct nc_ranges ranges = {.n_groups = 30, .n_filter_tables = 2, .blank = 1};
	uint8_t *copy = malloc(size ? size : 1);
	struct nc_frame frame = {copy, copy + size, &frame};
	struct nc_packet p = {};
	enum nc_counter reason;

	require(copy != NULL);
	memcpy(copy, data, size);
	reason = nc_parse(&frame, &ports, &ranges, &p);
	require(reason <= NC_PARSED);
	if (reason == NC_PARSED) {
		const uint8_t *header = (const uint8_t *)p.nc, *l4 = p.l4;

		require(header >= copy && header + NC_HEADER_LEN <= copy + size);
		require(l4 >= copy && l4 + p.l4_len <= copy + size);
		require(l4 == copy + p.l4_offset && header + NC_HEADER_LEN <= l4 + p.l4_len);
		require(p.nc->clo <= NC_CLO_CLONE && nc_ntohl(p.nc->sid) < NC_MAX_SERVERS);
	}
	require(memcmp(copy, data, size) == 0);
	free(copy);
	return 0;
}
