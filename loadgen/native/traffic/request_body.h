/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the generator puts behind the NetClone header, and gets back in the response: any
 * server that echoes the payload can be measured, and no table of outstanding requests is
 * needed. Little-endian; only the fields marked (server) are read by the other side. */
#ifndef LG_BODY_H
#define LG_BODY_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netclone/wire.h"

#define LG_BODY_MAGIC 0x4e434c47u

enum lg_op {
	LG_OP_WORK = 0, /* take a service time */
	LG_OP_PING,	/* answer at once: is the server there? */
	LG_OP_GET,	/* read `key` */
	LG_OP_SCAN,	/* read `count` objects from `key` on */
	LG_OP_SET,	/* write `key` */
};

enum lg_body_status {
	LG_STATUS_OK = 0,
	LG_STATUS_WRONG_VALUE, /* the store returned something that was never stored */
	LG_STATUS_STORE_ERROR, /* the store failed or timed out */
};

struct __attribute__((packed)) lg_body { /* a payload may begin anywhere in a frame */
	uint32_t magic;
	uint32_t run;	     /* tells runs apart: an answer of an earlier one is stale */
	uint16_t stream;     /* thread of the client */
	uint8_t op;	     /* enum lg_op (server) */
	uint8_t status;	     /* enum lg_body_status, of the response */
	uint32_t count;	     /* objects to scan (server) */
	uint64_t seq;	     /* of the stream */
	uint64_t sched_ns;   /* when it had to be sent; monotonic clock of the client */
	uint64_t sent_ns;    /* when it was sent */
	uint64_t service_ns; /* drawn by the client; 0: the server draws (server) */
	uint64_t key;	     /* (server) */
};

#define LG_BODY_OFFSET NC_HEADER_LEN
#define LG_PAYLOAD_LEN (NC_HEADER_LEN + sizeof(struct lg_body))
/* Longest payload that is kept while a request waits; longer requests are cut to it. */
#define LG_PAYLOAD_MAX 1472

_Static_assert(sizeof(struct lg_body) == 56, "no padding");

/* The body of a payload; NULL: the payload is not the generator's. */
static inline const struct lg_body *lg_body_of(const uint8_t *payload, uint32_t len)
{
	const struct lg_body *b = (const struct lg_body *)(payload + LG_BODY_OFFSET);

	return len >= LG_PAYLOAD_LEN && le32toh(b->magic) == LG_BODY_MAGIC ? b : NULL;
}

static inline bool lg_body_asks(const uint8_t *payload, uint32_t len, enum lg_op op)
{
	const struct lg_body *b = lg_body_of(payload, len);

	return b && b->op == op;
}

#endif
