/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The objects in the stores: what key and value number i is, is a function of i, so that any
 * side can tell whether a value is the one that was loaded. loadgen/rack/stores/objects.py has the
 * same functions for loading. */
#ifndef LG_OBJECT_H
#define LG_OBJECT_H

#include <stdint.h>

#include "request_body.h"
#include "lib/rng.h"

#define LG_KEY_LEN 16
#define LG_VALUE_LEN 64
/* Values that one response carries. */
#define LG_VALUES_MAX ((LG_PAYLOAD_MAX - (uint32_t)LG_PAYLOAD_LEN) / LG_VALUE_LEN)

static inline void lg_object_key(uint64_t number, char key[LG_KEY_LEN])
{
	key[0] = 'k';
	for (int i = LG_KEY_LEN - 1; i > 0; i--, number /= 10)
		key[i] = (char)('0' + number % 10);
}

/* 64 hexadecimal digits. */
static inline void lg_object_value(uint64_t number, char value[LG_VALUE_LEN])
{
	uint64_t state = number;

	for (int word = 0; word < LG_VALUE_LEN / 16; word++) {
		uint64_t bits = lg_splitmix64(&state);

		for (int i = 15; i >= 0; i--, bits >>= 4)
			value[16 * word + i] = "0123456789abcdef"[bits & 15];
	}
}

#endif
