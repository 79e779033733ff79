/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the fuzzers share: inputs, nodes, and what must hold for any frame.
 *
 * An input is an option byte and frames, each: port (1 byte), length (2 bytes, little
 * endian), bytes; the last one may be cut. tests/conformance/fuzz_seeds.py writes seeds. */
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
};

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

uint8_t fuzz_byte(struct fuzz_input *in);

/* A rack of six servers, as the corpus has it, with small filter tables. */
struct nc_env *fuzz_switch(uint8_t options);
struct nc_env *fuzz_server(uint8_t options);
struct nc_env *fuzz_client(uint8_t options);

/* Feeds every frame of the input and traps when a rule is broken: one counter a frame, what
 * is passed is untouched, what is dropped leaves nowhere. Frees the node. */
void fuzz_feed(struct nc_env *node, int is_switch, struct fuzz_input *in);

#endif
