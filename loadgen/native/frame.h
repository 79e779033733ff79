/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ethernet, IP and UDP headers around a payload, for the back end that sends whole frames. */
#ifndef LG_FRAME_H
#define LG_FRAME_H

#include <stdbool.h>

#include "io.h"

/* In front of a payload: Ethernet 14, IPv6 40 (IPv4 20), UDP 8, rounded up. */
#define LG_FRAME_ROOM 64

struct lg_frame_source {
	struct lg_peer local; /* address, port and MAC that frames carry as their source */
};

static inline uint32_t lg_frame_headers(int family)
{
	return family == AF_INET6 ? 62 : 42;
}

/* Writes the headers in front of `payload` (there must be room); checksums complete. */
void lg_frame_write(const struct lg_frame_source *from, const struct lg_peer *to, uint8_t *payload,
		    uint32_t len);
/* The UDP payload in a frame for `port` (network order), or NULL. *from gets its sender. */
uint8_t *lg_frame_read(uint8_t *frame, uint32_t frame_len, uint16_t port, uint32_t *len,
		       struct lg_peer *from);

#endif
