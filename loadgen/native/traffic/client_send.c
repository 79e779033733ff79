/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "client_state.h"
#include "lib/clock.h"

/* Requests put into one send call; more would blur when each of them left. */
#define SEND_BATCH 32

void client_make_template(struct client *c)
{
	const struct lg_client_config *cfg = c->cfg;
	struct nc_header *h = (struct nc_header *)c->template;
	struct lg_body *b = (struct lg_body *)(c->template + LG_BODY_OFFSET);

	h->type = NC_TYPE_REQ;
	if (cfg->target != LG_TARGET_GROUP)
		h->flags = NC_FLAG_NO_CLONE;
	b->magic = htole32(LG_BODY_MAGIC);
	b->run = cfg->run;
	b->stream = (uint16_t)cfg->stream;
}

/* Writes a request; true if it is a write, which goes to the primary alone. */
static bool fill(struct client *c, uint8_t *payload, uint64_t sched_ns)
{
	const struct lg_client_config *cfg = c->cfg;
	struct nc_header *h = (struct nc_header *)payload;
	struct lg_body *b = (struct lg_body *)(payload + LG_BODY_OFFSET);

	memcpy(payload, c->template, LG_PAYLOAD_LEN);
	if (cfg->payload_len > LG_PAYLOAD_LEN)
		memset(payload + LG_PAYLOAD_LEN, 0, cfg->payload_len - LG_PAYLOAD_LEN);
	b->seq = c->seq;
	b->sched_ns = sched_ns;
	if (cfg->n_groups) {
		uint64_t bits = lg_rng_next(&c->rng);

		h->grp = nc_htonl(1 + (uint32_t)((bits >> 32) * cfg->n_groups >> 32));
		h->idx = (nc_u8)((bits & UINT32_MAX) * cfg->n_filter_tables >> 32);
	}
	if (cfg->draw_service)
		b->service_ns = htole64((uint64_t)lg_dist_sample(&c->service, &c->rng) | 1);
	if (!cfg->mix.enabled)
		return false;
	lg_mix_fill(&cfg->mix, &c->rng, b);
	if (b->op != LG_OP_SET)
		return false;
	h->flags |= NC_FLAG_NO_CLONE;
	return true;
}

/* Whom the packets of one request go to; returns how many there are. */
static uint32_t choose(struct client *c, bool write, const struct lg_peer *to[2])
{
	const struct lg_client_config *cfg = c->cfg;
	uint32_t first = 0, second;

	/* Server 0 is the primary; replication is the store's business. */
	if (!write && cfg->n_peers > 1)
		first = lg_rng_below(&c->rng, cfg->n_peers);
	to[0] = &cfg->peers[first];
	if (cfg->target != LG_TARGET_TWO || write || cfg->n_peers < 2)
		return 1;
	second = lg_rng_below(&c->rng, cfg->n_peers - 1);
	to[1] = &cfg->peers[second + (second >= first)];
	return 2;
}

static void put_request(struct client *c, uint64_t sched_ns)
{
	struct lg_tx *tx = &c->cfg->io->tx[c->tx_n];
	const struct lg_peer *to[2];
	bool write = fill(c, tx->data, sched_ns);
	uint32_t copies = choose(c, write, to);

	tx->len = c->cfg->payload_len;
	tx->peer = *to[0];
	if (copies == 2) {
		memcpy(tx[1].data, tx->data, tx->len);
		tx[1].len = tx->len;
		tx[1].peer = *to[1];
	}
	for (uint32_t i = 0; i < copies; i++)
		c->pending[c->tx_n++] = (struct pending){sched_ns, i > 0};
	answered_open(&c->answered, c->seq++);
}

uint32_t client_prepare(struct client *c, uint64_t now_ns)
{
	const struct lg_client_config *cfg = c->cfg;
	uint32_t per_request = cfg->target == LG_TARGET_TWO ? 2 : 1;
	uint32_t most = saturates(c) ? LG_IO_BATCH / per_request : SEND_BATCH;
	uint32_t room = cfg->io->ops->reserve(cfg->io, most * per_request), n = 0;

	c->tx_from = c->tx_n = 0;
	while (c->tx_n + per_request <= room && n < most) {
		uint64_t sched_ns = saturates(c) ? now_ns : due_ns(c);

		if (sched_ns > now_ns || sched_ns >= c->end_ns)
			break;
		c->res->scheduled += is_measured(c, sched_ns);
		put_request(c, sched_ns);
		advance(c);
		n++;
	}
	return n;
}

/* Gaps are counted between the beginnings of sends: how long one takes depends on how long the
 * processor had slept before, so that gaps between ends are a percent more spread than those on
 * the wire (the arrivals' timestamps at the other end agree with the beginnings). */
static void book_gaps(struct client *c, const struct pending *p, uint64_t begin_ns)
{
	struct lg_client_result *res = c->res;
	bool held = lg_stall_holds(&res->stalls, p->sched_ns, begin_ns);
	uint64_t unheld_ns = held ? p->sched_ns : begin_ns;

	if (unheld_ns < c->last_unheld_ns)
		unheld_ns = c->last_unheld_ns;
	if (res->all_sent++) {
		lg_hist_add(&res->sent_gap, begin_ns - res->last_begin_ns);
		lg_moments_add(&res->unheld_gap, (double)(unheld_ns - c->last_unheld_ns));
	}
	res->last_begin_ns = begin_ns;
	c->last_unheld_ns = unheld_ns;
}

/* Books one packet, whose send began at `begin_ns` and ended at `at_ns`: then it is sent. A clone
 * counts in copies_sent alone. */
static void book_sent(struct client *c, const struct pending *p, uint64_t begin_ns, uint64_t at_ns)
{
	struct lg_client_result *res = c->res;
	uint64_t late_ns = at_ns > p->sched_ns ? at_ns - p->sched_ns : 0;

	res->copies_sent++;
	if (p->clone)
		return;
	book_gaps(c, p, begin_ns);
	if (!is_measured(c, p->sched_ns))
		return;
	res->sent++;
	lg_hist_add(&res->late, late_ns);
	res->late_sends += late_ns > c->cfg->late_ns;
	if (late_ns > res->max_late_ns)
		res->max_late_ns = late_ns;
}

/* The next packet cannot be sent. Its request has left all the same if its clone does. */
static void skip(struct client *c, int error)
{
	const struct pending *p = &c->pending[c->tx_from++];

	c->res->send_errors++;
	c->res->send_errno = error;
	if (!p->clone && c->tx_from < c->tx_n && c->pending[c->tx_from].clone)
		c->pending[c->tx_from].clone = false;
}

void client_push(struct client *c)
{
	struct lg_io *io = c->cfg->io;
	uint64_t before_ns, after_ns, each_ns;
	int sent;

	if (c->tx_from == c->tx_n)
		return;
	before_ns = lg_now_ns();
	for (uint32_t i = c->tx_from; i < c->tx_n; i++)
		((struct lg_body *)(io->tx[i].data + LG_BODY_OFFSET))->sent_ns = before_ns;
	sent = io->ops->commit(io, c->tx_from, c->tx_n);
	if (sent < 0) {
		skip(c, -sent);
		return;
	}
	if (!sent)
		return;
	after_ns = lg_now_ns();
	if (!saturates(c))
		lg_stall_look(&c->res->stalls, after_ns, (uint32_t)sent * LG_STALL_PACKET_NS);
	/* The packets of a call left one after the other; the last of them when it returned. */
	each_ns = (after_ns - before_ns) / (uint32_t)sent;
	for (int i = 0; i < sent; i++, before_ns += each_ns)
		book_sent(c, &c->pending[c->tx_from++], before_ns, before_ns + each_ns);
}
