/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the fuzzers share: inputs, nodes, and what must hold for any frame.
 *
 * An input is two option bytes (little endian) and frames, each: port (1 byte; with 128 added:
 * its checksum is marked as partial), length (2 bytes, little endian), bytes; the last one may
 * be cut. tests/conformance/fuzz_seeds.py writes seeds. */
#ifndef NETCLONE_FUZZ_SETUP_H
#define NETCLONE_FUZZ_SETUP_H

#include <stddef.h>
#include <stdint.h>

#include "netclone.h"
#include "netclone/counters.h"

enum {
	FUZZ_RACKSCHED = 1 << 0,
	FUZZ_GENERIC = 1 << 1,
	FUZZ_TIMEOUT = 1 << 2,
	FUZZ_APP_STATE = 1 << 3,
	FUZZ_TABLES_SHIFT = 4, /* two bits: filter tables - 1 */
	FUZZ_RESERVE = 1 << 6,
	FUZZ_HOLD = 1 << 7,
	FUZZ_NO_CLONES = 1 << 8,
	FUZZ_RACK_5 = 1 << 9,	 /* of several: SWITCH_ID 5 */
	FUZZ_ONE_PORT = 1 << 10, /* all servers behind one port */
	FUZZ_PARTIAL = 1 << 7,	 /* of a port byte */
};

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

uint8_t fuzz_byte(struct fuzz_input *in);
uint32_t fuzz_options(struct fuzz_input *in);

/* A rack of six servers, as the corpus has it, with small filter tables. */
struct nc_env *fuzz_switch(uint32_t options);
struct nc_env *fuzz_server(uint32_t options);
struct nc_env *fuzz_client(uint32_t options);

/* Feeds every frame of the input and traps when a rule is broken: one counter a frame, what
 * is passed is untouched, what leaves nowhere is counted as dropped. Frees the node. */
void fuzz_feed(struct nc_env *node, int is_switch, struct fuzz_input *in);

#endif
