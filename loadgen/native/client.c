/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "answered.h"
#include "clock.h"
#include "object.h"
#include "trace.h"

/* Requests put into one send call; more would blur when each of them left. */
#define SEND_BATCH 32
/* Requests that were due at the end may leave this long after it (or late_ns, if longer);
 * what has not left by then is counted as unsent. */
#define GRACE_NS 10000000ULL
/* A sleep may end this much late; LG_CLIENT_KEEN spins from then on. */
#define KEEN_NS 150000ULL
/* LG_CLIENT_SATURATE keeps so many requests on their way: fewer than the 256 packets that one
 * end of a veth pair holds, so that "as fast as it goes" is not "as fast as it loses".
 * What has not come for FORGIVE_NS is taken for lost. */
#define SATURATE_WINDOW 192
#define FORGIVE_NS 100000000ULL
#define WINDOW_NAP_NS 50000ULL
/* Longest sleep: *stop is looked at this often. */
#define NAP_NS 50000000ULL

/* A copy that is prepared in io->tx and not yet sent; the back end may take the packet's
 * memory away when it is. */
struct pending {
	uint64_t sched_ns;
	bool second; /* of c-clone's two copies */
};

struct client {
	const struct lg_client_config *cfg;
	struct lg_client_result *res;
	struct lg_rng rng;
	struct lg_dist gap, service;
	struct answered answered;
	struct lg_trace trace;
	double next_ns;		  /* schedule, relative to start_ns */
	double previous_sched_ns; /* of the last scheduled request; -1: none */
	uint32_t burst_left;
	uint64_t seq;		    /* next request */
	uint64_t window_ns, end_ns; /* absolute: the measured window is [window, end) */
	uint64_t send_until_ns;
	uint64_t cpu_start_ns;
	uint64_t all_answered;	/* warm-up included */
	uint32_t tx_from, tx_n; /* copies prepared and not yet sent */
	struct pending pending[LG_IO_BATCH];
	_Alignas(8) uint8_t template[LG_PAYLOAD_LEN];
	uint64_t last_rx_ns;
	uint64_t forgiven; /* taken for lost, by LG_CLIENT_SATURATE */
};

static bool measured(const struct client *c, uint64_t sched_ns)
{
	return sched_ns >= c->window_ns && sched_ns < c->end_ns;
}

/* What all requests of a stream have in common. */
static void make_template(struct client *c)
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

static void fill(struct client *c, uint8_t *payload, uint64_t sched_ns)
{
	const struct lg_client_config *cfg = c->cfg;
	struct nc_header *h = (struct nc_header *)payload;
	struct lg_body *b = (struct lg_body *)(payload + LG_BODY_OFFSET);

	memcpy(payload, c->template, LG_PAYLOAD_LEN);
	b->seq = c->seq;
	b->sched_ns = sched_ns;
	if (cfg->n_groups) {
		uint64_t bits = lg_rng_next(&c->rng);

		h->grp = nc_htonl(1 + (uint32_t)((bits >> 32) * cfg->n_groups >> 32));
		h->idx = (nc_u8)((bits & UINT32_MAX) * cfg->n_filter_tables >> 32);
	}
	if (cfg->draw_service)
		b->service_ns = htole64((uint64_t)lg_dist_sample(&c->service, &c->rng) | 1);
	if (cfg->mix.enabled)
		lg_mix_fill(&cfg->mix, &c->rng, b);
}

/* Servers of the copies of one request; returns how many copies. */
static uint32_t choose(struct client *c, bool write, const struct lg_peer *to[2])
{
	const struct lg_client_config *cfg = c->cfg;
	uint32_t first = lg_rng_below(&c->rng, cfg->n_peers), second;

	if (write)
		first = 0; /* the primary; replication is the store's business */
	to[0] = &cfg->peers[first];
	if (cfg->target != LG_TARGET_TWO || write || cfg->n_peers < 2)
		return 1;
	second = lg_rng_below(&c->rng, cfg->n_peers - 1);
	to[1] = &cfg->peers[second + (second >= first)];
	return 2;
}

static void put_request(struct client *c, uint64_t sched_ns)
{
	const struct lg_client_config *cfg = c->cfg;
	struct lg_tx *tx = &cfg->io->tx[c->tx_n];
	struct nc_header *h = (struct nc_header *)tx->data;
	struct lg_body *b = (struct lg_body *)(tx->data + LG_BODY_OFFSET);
	const struct lg_peer *to[2];
	uint32_t copies;

	fill(c, tx->data, sched_ns);
	if (b->op == LG_OP_SET)
		h->flags |= NC_FLAG_NO_CLONE;
	copies = choose(c, b->op == LG_OP_SET, to);
	tx->len = cfg->payload_len;
	if (tx->len > LG_PAYLOAD_LEN)
		memset(tx->data + LG_PAYLOAD_LEN, 0, tx->len - LG_PAYLOAD_LEN);
	tx->peer = *to[0];
	if (copies == 2) {
		memcpy(tx[1].data, tx->data, LG_PAYLOAD_LEN);
		memset(tx[1].data + LG_PAYLOAD_LEN, 0, tx->len - LG_PAYLOAD_LEN);
		tx[1].len = tx->len;
		tx[1].peer = *to[1];
	}
	for (uint32_t i = 0; i < copies; i++)
		c->pending[c->tx_n++] = (struct pending){sched_ns, i > 0};
	answered_open(&c->answered, c->seq++);
}

static void advance(struct client *c)
{
	if (c->cfg->flags & LG_CLIENT_SATURATE)
		return; /* there is no schedule */
	if (c->previous_sched_ns >= 0)
		lg_hist_add(&c->res->sched_gap, (uint64_t)(c->next_ns - c->previous_sched_ns));
	c->previous_sched_ns = c->next_ns;
	if (--c->burst_left == 0) {
		c->next_ns += lg_dist_base(&c->gap, &c->rng);
		c->burst_left = c->cfg->burst;
	}
}

/* LG_CLIENT_SATURATE: is it time to wait for answers instead of sending more? */
static bool window_full(struct client *c, uint64_t now_ns)
{
	uint64_t open = c->res->all_sent - c->all_answered;

	if (!(c->cfg->flags & LG_CLIENT_SATURATE) || open < SATURATE_WINDOW + c->forgiven)
		return false;
	if (now_ns < c->last_rx_ns + FORGIVE_NS)
		return true;
	c->forgiven = open;
	c->last_rx_ns = now_ns;
	return false;
}

/* Prepares every request that is due, up to a batch; returns how many. */
static uint32_t prepare(struct client *c, uint64_t now_ns)
{
	const struct lg_client_config *cfg = c->cfg;
	uint32_t per_request = cfg->target == LG_TARGET_TWO ? 2 : 1;
	bool saturate = cfg->flags & LG_CLIENT_SATURATE;
	uint32_t most = saturate ? LG_IO_BATCH / per_request : SEND_BATCH;
	uint32_t room = cfg->io->ops->reserve(cfg->io, most * per_request), n = 0;

	c->tx_from = c->tx_n = 0;
	while (c->tx_n + per_request <= room && n < most) {
		uint64_t sched_ns = saturate ? now_ns : cfg->start_ns + (uint64_t)c->next_ns;

		if (sched_ns > now_ns || sched_ns >= c->end_ns)
			break;
		c->res->scheduled += measured(c, sched_ns);
		put_request(c, sched_ns);
		advance(c);
		n++;
	}
	return n;
}

/* Books one copy as sent at `now_ns`; the second copy of a request only counts as a copy. */
static void book_sent(struct client *c, const struct pending *p, uint64_t now_ns)
{
	struct lg_client_result *res = c->res;
	uint64_t late_ns = now_ns > p->sched_ns ? now_ns - p->sched_ns : 0;

	res->copies_sent++;
	if (p->second)
		return;
	if (res->all_sent++)
		lg_hist_add(&res->sent_gap, now_ns - res->last_sent_ns);
	else
		res->first_sent_ns = now_ns;
	res->last_sent_ns = now_ns;
	if (!measured(c, p->sched_ns))
		return;
	res->sent++;
	lg_hist_add(&res->late, late_ns);
	res->late_sends += late_ns > c->cfg->late_ns;
	if (late_ns > res->max_late_ns)
		res->max_late_ns = late_ns;
}

/* Sends what is prepared, as far as the back end takes it. */
static void push(struct client *c)
{
	struct lg_io *io = c->cfg->io;
	uint64_t now_ns;
	int sent;

	if (c->tx_from == c->tx_n)
		return;
	now_ns = lg_now_ns();
	for (uint32_t i = c->tx_from; i < c->tx_n; i++)
		((struct lg_body *)(io->tx[i].data + LG_BODY_OFFSET))->sent_ns = now_ns;
	sent = io->ops->commit(io, c->tx_from, c->tx_n);
	if (sent < 0) {
		c->res->send_errors++;
		c->res->send_errno = -sent;
		/* The request was due and is missed: it counts as sent and stays unanswered. */
		book_sent(c, &c->pending[c->tx_from], now_ns);
		c->tx_from++;
		return;
	}
	for (uint32_t i = c->tx_from; i < c->tx_from + (uint32_t)sent; i++)
		book_sent(c, &c->pending[i], now_ns);
	c->tx_from += (uint32_t)sent;
}

/* Reads carry their first value back: it must be the one that was loaded. */
static bool wrong_value(const struct lg_rx *rx, const struct lg_body *b)
{
	char value[LG_VALUE_LEN];

	if (b->status == LG_STATUS_WRONG_VALUE)
		return true;
	if (b->status != LG_STATUS_OK || (b->op != LG_OP_GET && b->op != LG_OP_SCAN))
		return false;
	lg_object_value(le64toh(b->key), value);
	return rx->len < LG_PAYLOAD_LEN + LG_VALUE_LEN ||
	       memcmp(rx->data + LG_PAYLOAD_LEN, value, LG_VALUE_LEN) != 0;
}

static void take_first(struct client *c, const struct lg_rx *rx, const struct lg_body *b)
{
	const struct nc_header *h = (const struct nc_header *)rx->data;
	struct lg_client_result *res = c->res;

	c->all_answered++;
	res->wrong_values += wrong_value(rx, b);
	res->store_errors += b->status == LG_STATUS_STORE_ERROR;
	res->window_answers += rx->ns >= c->window_ns && rx->ns < c->end_ns;
	if (!measured(c, b->sched_ns))
		return;
	res->answered++;
	lg_hist_add(&res->latency, rx->ns > b->sched_ns ? rx->ns - b->sched_ns : 0);
	if (c->cfg->trace_fd >= 0)
		lg_trace_add(&c->trace, &(struct lg_trace_entry){
						.seq = b->seq,
						.sched_ns = b->sched_ns - c->cfg->start_ns,
						.sent_ns = b->sent_ns - c->cfg->start_ns,
						.recv_ns = rx->ns - c->cfg->start_ns,
						.sid = nc_ntohl(h->sid),
						.clo = h->clo,
					});
}

static void take(struct client *c, const struct lg_rx *rx)
{
	const struct lg_client_config *cfg = c->cfg;
	const struct lg_body *b = (const struct lg_body *)(rx->data + LG_BODY_OFFSET);

	if (rx->len < LG_PAYLOAD_LEN || le32toh(b->magic) != LG_BODY_MAGIC || b->run != cfg->run ||
	    b->stream != (uint16_t)cfg->stream || b->op == LG_OP_PING) {
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
		c->res->redundant += measured(c, b->sched_ns);
		break;
	case ANSWER_STALE:
		c->res->stale++;
	}
}

static uint32_t receive(struct client *c)
{
	struct lg_io *io = c->cfg->io;
	uint32_t n = io->ops->poll(io);

	for (uint32_t i = 0; i < n; i++)
		take(c, &io->rx[i]);
	if (n)
		c->last_rx_ns = io->rx[n - 1].ns;
	return n;
}

static uint64_t due_ns(const struct client *c)
{
	return c->cfg->start_ns + (uint64_t)c->next_ns;
}

static bool more_to_send(const struct client *c, uint64_t now_ns)
{
	if (now_ns > c->send_until_ns)
		return false;
	return c->tx_from < c->tx_n ||
	       (!(c->cfg->flags & LG_CLIENT_SATURATE) && due_ns(c) < c->end_ns);
}

/* Counts what was due and never left. */
static void count_unsent(struct client *c)
{
	if (c->cfg->flags & LG_CLIENT_SATURATE)
		return;
	while (due_ns(c) < c->end_ns) {
		c->res->scheduled += measured(c, due_ns(c));
		advance(c);
	}
}

/* After the end of the window: is there nothing left to wait for? */
static bool drained(const struct client *c, uint64_t now_ns)
{
	const struct lg_client_result *res = c->res;
	uint64_t quiet_since = c->last_rx_ns > c->end_ns ? c->last_rx_ns : c->end_ns;

	if (more_to_send(c, now_ns))
		return false;
	if (res->responses >= res->copies_sent)
		return true;
	/* All answered: only redundant responses are on their way, if any. */
	if (c->all_answered >= res->all_sent && now_ns > quiet_since + c->cfg->quiet_ns / 10)
		return true;
	return now_ns > quiet_since + c->cfg->quiet_ns || now_ns > c->end_ns + c->cfg->drain_ns;
}

static uint32_t ended(const struct client *c)
{
	if (c->cfg->stop && *c->cfg->stop)
		return LG_END_STOPPED;
	if (c->cfg->io->failed)
		return LG_END_IO;
	return c->trace.error ? LG_END_TRACE : LG_END_COMPLETE;
}

static void loop(struct client *c)
{
	const struct lg_client_config *cfg = c->cfg;
	struct lg_io *io = cfg->io;

	while ((c->res->end = ended(c)) == LG_END_COMPLETE) {
		uint64_t now_ns = lg_now_ns(), wake_ns;
		uint32_t busy = 0;

		if (window_full(c, now_ns))
			io->ops->wait(io, now_ns + WINDOW_NAP_NS);
		else if (c->tx_from == c->tx_n && now_ns <= c->send_until_ns)
			busy = prepare(c, now_ns);
		push(c);
		busy += receive(c);
		if (now_ns >= c->end_ns && !c->res->cpu_ns)
			c->res->cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID) - c->cpu_start_ns;
		if (now_ns >= c->end_ns && drained(c, now_ns))
			break;
		if (busy || cfg->flags & (LG_CLIENT_BUSY | LG_CLIENT_SATURATE))
			continue;
		wake_ns = due_ns(c);
		if (now_ns >= c->end_ns || wake_ns > now_ns + NAP_NS)
			wake_ns = now_ns + NAP_NS / 10;
		if (cfg->flags & LG_CLIENT_KEEN && now_ns < c->end_ns) {
			if (wake_ns < now_ns + KEEN_NS)
				continue;
			wake_ns -= KEEN_NS;
		}
		if (c->tx_from < c->tx_n) /* the back end was full: soon again */
			wake_ns = now_ns + 50000;
		io->ops->wait(io, wake_ns);
	}
	if (c->res->end == LG_END_IO)
		c->res->io_error = io->failed;
	if (c->res->end == LG_END_TRACE)
		c->res->io_error = c->trace.error;
}

static void init_result(struct lg_client_result *res)
{
	memset(res, 0, sizeof(*res));
	lg_hist_init(&res->latency);
	lg_hist_init(&res->late);
	lg_hist_init(&res->sent_gap);
	lg_hist_init(&res->sched_gap);
}

static bool valid(const struct lg_client_config *cfg)
{
	return cfg->io && cfg->n_peers && cfg->burst && cfg->payload_len >= LG_PAYLOAD_LEN &&
	       cfg->payload_len <= LG_PAYLOAD_MAX && (!cfg->n_groups || cfg->n_filter_tables);
}

int lg_client_run(const struct lg_client_config *cfg, struct lg_client_result *res)
{
	int64_t offset_ns = lg_realtime_offset_ns();
	struct client *c;
	int error;

	init_result(res);
	if (!valid(cfg))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->cfg = cfg;
	c->res = res;
	error = answered_init(&c->answered);
	if (error) {
		free(c);
		return error;
	}
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	make_template(c);
	lg_trace_init(&c->trace, cfg->trace_fd);
	lg_rng_seed(&c->rng, cfg->seed, cfg->stream);
	c->gap = cfg->gap;
	c->service = cfg->service;
	lg_dist_start(&c->gap, &c->rng);
	lg_dist_start(&c->service, &c->rng);
	c->burst_left = cfg->burst;
	c->previous_sched_ns = -1;
	c->next_ns = lg_dist_base(&c->gap, &c->rng);
	c->window_ns = cfg->start_ns + cfg->warmup_ns;
	c->end_ns = c->window_ns + cfg->duration_ns;
	c->send_until_ns = c->end_ns + (cfg->late_ns > GRACE_NS ? cfg->late_ns : GRACE_NS);
	if (cfg->flags & (LG_CLIENT_SATURATE | LG_CLIENT_BUSY)) {
		struct timespec start = lg_timespec(cfg->start_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
	}
	c->cpu_start_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	loop(c);
	if (res->end == LG_END_COMPLETE)
		count_unsent(c);
	lg_trace_flush(&c->trace);
	if (c->trace.error && res->end == LG_END_COMPLETE) {
		res->end = LG_END_TRACE;
		res->io_error = c->trace.error;
	}
	res->rx_dropped = cfg->io->rx_dropped;
	res->rx_invalid = cfg->io->rx_invalid;
	res->clock_step_ns = lg_realtime_offset_ns() - offset_ns;
	answered_free(&c->answered);
	free(c);
	return 0;
}
