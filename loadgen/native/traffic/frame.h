/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ethernet, IP and UDP headers around a payload, for the back end that sends whole frames. */
#ifndef LG_FRAME_H
#define LG_FRAME_H

#include "io.h"

/* In front of a payload: Ethernet 14, IPv6 40 (IPv4 20), UDP 8, rounded up. */
#define LG_FRAME_ROOM 64

#define LG_FRAME_HEADERS_IP4 42
#define LG_FRAME_HEADERS_IP6 62

/* What all frames of a sender have in common, prepared once. */
struct lg_frame_source {
	uint32_t headers;    /* bytes in front of the payload */
	uint16_t ip_sum;     /* of the IPv4 header below, unfolded words as they lie there */
	uint16_t pseudo_sum; /* of the parts of UDP's sum that never change */
	uint8_t header[LG_FRAME_HEADERS_IP6]; /* destination, lengths and checksums are 0 */
};

/* `local`: address, port and MAC that the frames carry as their source. */
void lg_frame_source_init(struct lg_frame_source *source, const struct lg_peer *local);
/* Writes the headers in front of `payload` (there must be room); checksums complete. */
void lg_frame_write(const struct lg_frame_source *source, const struct lg_peer *to,
		    uint8_t *payload, uint32_t len);
/* The UDP payload in a frame for `port` (network order), or NULL. *from gets its sender. */
uint8_t *lg_frame_read(uint8_t *frame, uint32_t frame_len, uint16_t port, uint32_t *len,
		       struct lg_peer *from);

#endif
