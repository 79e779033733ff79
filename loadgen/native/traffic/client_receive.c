/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "client_state.h"
#include "store_object.h"

/* Reads carry their values back, of a scan as many as one packet takes: each must be the one
 * that was loaded. (The worker has compared them all with what the store said.) */
static bool wrong_value(const struct lg_rx *rx, const struct lg_body *b)
{
	char value[LG_VALUE_LEN];
	uint32_t n = b->op == LG_OP_SCAN ? le32toh(b->count) : 1;

	if (b->status == LG_STATUS_WRONG_VALUE)
		return true;
	if (b->status != LG_STATUS_OK || (b->op != LG_OP_GET && b->op != LG_OP_SCAN))
		return false;
	if (n > LG_VALUES_MAX)
		n = LG_VALUES_MAX;
	if (rx->len != LG_PAYLOAD_LEN + n * LG_VALUE_LEN)
		return true;
	for (uint32_t i = 0; i < n; i++) {
		lg_object_value(le64toh(b->key) + i, value);
		if (memcmp(rx->data + LG_PAYLOAD_LEN + i * LG_VALUE_LEN, value, LG_VALUE_LEN) != 0)
			return true;
	}
	return false;
}

static void add_to_trace(struct client *c, const struct lg_rx *rx, const struct lg_body *b)
{
	const struct nc_header *h = (const struct nc_header *)rx->data;
	uint64_t start_ns = c->cfg->start_ns;
	struct lg_trace_entry entry = {
		.seq = b->seq,
		.sched_ns = b->sched_ns - start_ns,
		.sent_ns = b->sent_ns - start_ns,
		.recv_ns = rx->ns - start_ns,
		.sid = nc_ntohl(h->sid),
		.clo = h->clo,
	};

	/* Waiting for the disk is the generator's doing, and no stall of the machine. */
	if (lg_trace_add(&c->trace, &entry))
		lg_stall_start(&c->res->stalls, lg_now_ns());
}

static void take_first(struct client *c, const struct lg_rx *rx, const struct lg_body *b)
{
	struct lg_client_result *res = c->res;

	c->all_answered++;
	res->of_cloned += ((const struct nc_header *)rx->data)->clo != NC_CLO_NONE;
	res->wrong_values += wrong_value(rx, b);
	res->store_errors += b->status == LG_STATUS_STORE_ERROR;
	res->window_answers += rx->ns >= c->window_ns && rx->ns < c->end_ns;
	if (!is_measured(c, b->sched_ns))
		return;
	res->answered++;
	lg_hist_add(&res->latency, rx->ns > b->sched_ns ? rx->ns - b->sched_ns : 0);
	if (c->cfg->trace_fd >= 0)
		add_to_trace(c, rx, b);
}

static void take(struct client *c, const struct lg_rx *rx)
{
	const struct lg_client_config *cfg = c->cfg;
	const struct lg_body *b = lg_body_of(rx->data, rx->len);

	if (!b || b->run != cfg->run || b->stream != (uint16_t)cfg->stream || b->op == LG_OP_PING) {
		c->res->stale++;
		return;
	}
	switch (answered_take(&c->answered, c->seq, b->seq)) {
	case ANSWER_FIRST:
		c->res->responses++;
		take_first(c, rx, b);
		break;
	case ANSWER_REDUNDANT:
		c->res->responses++;
		c->res->redundant += is_measured(c, b->sched_ns);
		break;
	case ANSWER_STALE:
		c->res->stale++;
	}
}

uint32_t client_receive(struct client *c)
{
	struct lg_io *io = c->cfg->io;
	uint32_t n = io->ops->poll(io);

	for (uint32_t i = 0; i < n; i++)
		take(c, &io->rx[i]);
	if (n)
		c->last_rx_ns = io->rx[n - 1].ns;
	return n;
}
