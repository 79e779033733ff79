// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "netclone/limits.h"
#include "netclone/tables.h"

#include "setup.h"

enum {
	SERVERS = 6,
	FILTER_SLOTS = 256,
	MS = 1000000,
};

static void require(int holds)
{
	if (!holds)
		__builtin_trap();
}

uint8_t fuzz_byte(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

uint32_t fuzz_options(struct fuzz_input *in)
{
	uint32_t low = fuzz_byte(in);

	return low | (uint32_t)fuzz_byte(in) << 8;
}

static uint32_t tables_of(uint32_t options)
{
	return 1 + (options >> FUZZ_TABLES_SHIFT & 3);
}

static struct nc_ports port_1000(void)
{
	struct nc_ports ports = {.count = 2, .port = {nc_htons(1000), nc_htons(2000)}};

	return ports;
}

static void fill_servers(struct nc_env *node, int one_port)
{
	size_t size;
	struct nc_server *servers = nc_native_table(node, "nc_servers", &size);
	uint64_t *fdb = nc_native_table(node, "nc_fdb", &size);

	for (uint32_t sid = 0; sid < SERVERS; sid++) {
		const uint8_t last = (uint8_t)(101 + sid);
		const uint8_t mac[6] = {2, 0, 0, 0, 1, last}, ip4[4] = {10, 0, 1, last};
		const uint8_t ip6[16] = {0xfd, 0, 0, 1, [15] = last};
		const uint64_t number = 0x020000000100ULL | last;

		servers[sid].flags = NC_SERVER_VALID;
		servers[sid].ifindex = one_port ? 1 : sid + 1;
		memcpy(servers[sid].mac, mac, sizeof(mac));
		memcpy(&servers[sid].ip4, ip4, sizeof(ip4));
		memcpy(servers[sid].ip6, ip6, sizeof(ip6));
		fdb[(number ^ number >> 12 ^ number >> 24) & ((1 << NC_FDB_SLOTS_LOG2) - 1)] =
			number << 16 | servers[sid].ifindex;
	}
}

static void fill_groups(struct nc_env *node)
{
	size_t size, grp = 1;
	struct nc_group *groups = nc_native_table(node, "nc_groups", &size);

	for (uint16_t a = 0; a < SERVERS; a++)
		for (uint16_t b = a + 1; b < SERVERS; b++) {
			groups[grp++] = (struct nc_group){a, b};
			groups[grp++] = (struct nc_group){b, a};
		}
}

struct nc_env *fuzz_switch(uint32_t options)
{
	const struct nc_switch_config cfg = {
		.ports = port_1000(),
		.flags = (options & FUZZ_RACKSCHED ? NC_SWITCH_RACKSCHED : 0) |
			 (options & FUZZ_GENERIC ? NC_SWITCH_GENERIC : 0) |
			 (options & FUZZ_RESERVE ? NC_SWITCH_RESERVE : 0) |
			 (options & FUZZ_HOLD ? NC_SWITCH_HOLD : 0) |
			 (options & FUZZ_NO_CLONES ? NC_SWITCH_NO_CLONES : 0),
		.switch_id = options & FUZZ_RACK_5 ? 5 : 0,
		.n_groups = SERVERS * (SERVERS - 1),
		.n_filter_tables = tables_of(options),
		.filter_mask = FILTER_SLOTS - 1,
		.server_timeout_ns = options & FUZZ_TIMEOUT ? 3 * MS : 0,
	};
	struct nc_env *node = nc_native_switch(&cfg);

	require(node != NULL);
	fill_servers(node, options & FUZZ_ONE_PORT);
	fill_groups(node);
	return node;
}

struct nc_env *fuzz_server(uint32_t options)
{
	const struct nc_server_config cfg = {
		.ports = port_1000(),
		.sid = 2,
		.workers = 1,
		.state_source = options & FUZZ_APP_STATE ? NC_STATE_APP : NC_STATE_INFLIGHT,
		.slice_shift = options & FUZZ_TIMEOUT ? 20 : 30,
		.slices = NC_INFLIGHT_SLICES - 1,
		.n_filter_tables = tables_of(options),
		.flags = options & FUZZ_RESERVE ? NC_HOST_RESERVE : 0,
	};
	struct nc_env *node = nc_native_server(&cfg);

	require(node != NULL);
	return node;
}

struct nc_env *fuzz_client(uint32_t options)
{
	const struct nc_client_config cfg = {
		.ports = port_1000(),
		.n_groups = SERVERS * (SERVERS - 1),
		.n_filter_tables = tables_of(options),
		.duplicate_window_ns = options & FUZZ_TIMEOUT ? 3 * MS : 3600ULL * 1000 * MS,
	};
	struct nc_env *node = nc_native_client(&cfg);

	require(node != NULL);
	return node;
}

static uint64_t counted(struct nc_env *node, enum nc_hook hook)
{
	size_t size;
	const uint64_t *counters = nc_native_table(node, "nc_counters", &size);
	uint64_t total = 0;

	for (int i = 0; i < NC_CTR_COUNT; i++)
		total += counters[hook * NC_CTR_COUNT + i];
	return total;
}

/* Packets that were dropped, and why is in order. */
static uint64_t dropped(struct nc_env *node)
{
	static const enum nc_counter reasons[] = {
		NC_CTR_filtered_slower_response, NC_CTR_already_cloned,
		NC_CTR_dropped_forged_response,	 NC_CTR_dropped_from_server_port,
		NC_CTR_dropped_server_busy,	 NC_CTR_dropped_already_answered};
	size_t size;
	const uint64_t *counters = nc_native_table(node, "nc_counters", &size);
	uint64_t total = 0;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		total += counters[NC_HOOK_INGRESS * NC_CTR_COUNT + reasons[i]];
	return total;
}

static void check(int is_switch, uint8_t port, const uint8_t *frame, size_t length, int count,
		  const struct nc_native_out *out)
{
	require(count >= 0 && count <= (is_switch ? 2 : 1));
	for (int i = 0; i < count; i++)
		require(out[i].length == length);
	/* Passed to Linux: untouched. A host's ingress modifies nothing. */
	if (count == 1 && out[0].port == NC_NATIVE_STACK)
		require(memcmp(out[0].frame, frame, length) == 0);
	if (!is_switch && count == 1)
		require(out[0].port ==
			(port == NC_NATIVE_STACK ? NC_NATIVE_WIRE : NC_NATIVE_STACK));
	/* Original and clone go to different servers. */
	if (count == 2)
		require(memcmp(out[0].frame, out[1].frame, length) != 0);
}

void fuzz_feed(struct nc_env *node, int is_switch, struct fuzz_input *in)
{
	static struct nc_native_out out[NC_NATIVE_MAX_OUT];
	uint64_t now_ns = 1000ULL * MS;

	while (in->left > 0) {
		uint8_t port = fuzz_byte(in);
		size_t length = fuzz_byte(in);
		enum nc_hook hook = NC_HOOK_INGRESS;
		uint64_t before, clones, drops;
		int count, partial = port & FUZZ_PARTIAL;

		port &= (uint8_t)~FUZZ_PARTIAL;
		length |= (size_t)fuzz_byte(in) << 8;
		if (length > in->left)
			length = in->left;
		if (!is_switch) {
			port &= 1;
			hook = port == NC_NATIVE_STACK ? NC_HOOK_EGRESS : NC_HOOK_INGRESS;
		}
		if (length > NC_NATIVE_MAX_FRAME)
			break;
		before = counted(node, hook);
		clones = counted(node, NC_HOOK_CLONE);
		drops = dropped(node);
		count = nc_native_feed(node, port, in->at, length, now_ns, partial, out);
		check(is_switch, port, in->at, length, count, out);
		require(counted(node, hook) == before + 1);
		require((count == 0) == (dropped(node) == drops + 1));
		require((count == 2) == (counted(node, NC_HOOK_CLONE) == clones + 1));
		in->at += length;
		in->left -= length;
		now_ns += MS;
	}
	nc_native_free(node);
}
