/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "coordinator.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "lib/clock.h"
#include "idle_set.h"
#include "job.h"
#include "outbox.h"

#define NAP_NS 20000000ULL
/* Requests at servers or waiting, at once; an index fits the low bits of REQ_ID. */
#define TABLE_LOG2 20
#define TABLE_SIZE (1u << TABLE_LOG2)
#define NONE UINT32_MAX
#define PRIMARY 0

/* The two packets that a request may become. */
enum packet { ORIGINAL, CLONE, PACKETS };

/* A request from its arrival until its last packet is answered. */
struct request {
	struct job *job; /* NULL: the entry is free */
	uint32_t generation;
	uint32_t server[PACKETS]; /* that has it; NONE: answered, timed out, or never sent */
	uint32_t older, younger;  /* in the order of dispatch; free list through younger */
	uint64_t sent_ns;
	bool answered;
	bool write; /* goes to the primary, whatever is idle, and takes no slot */
};

struct coordinator {
	struct lg_coordinator_config *cfg;
	struct request *table;
	uint32_t free, oldest, youngest;
	struct job_queue waiting; /* their job.node is the index in the table */
	struct idle_set idle;
	struct lg_rng rng;
	struct outbox out;
};

static uint32_t request_new(struct coordinator *c, const struct lg_rx *rx)
{
	uint32_t i = c->free;
	struct request *r;

	if (i == NONE)
		return NONE;
	r = &c->table[i];
	r->job = malloc(sizeof(*r->job));
	if (!r->job)
		return NONE;
	c->free = r->younger;
	job_set(r->job, i, rx);
	r->generation++;
	r->server[ORIGINAL] = r->server[CLONE] = r->older = r->younger = NONE;
	r->answered = false;
	/* NO_CLONE does not tell: the client sets it so that the switch leaves the address alone.
	 */
	r->write = lg_body_asks(rx->data, rx->len, LG_OP_SET);
	return i;
}

static void request_free(struct coordinator *c, uint32_t i)
{
	struct request *r = &c->table[i];

	free(r->job);
	r->job = NULL;
	r->younger = c->free;
	c->free = i;
}

/* Requests at servers, oldest first: the order in which they time out. */
static void list_append(struct coordinator *c, uint32_t i)
{
	c->table[i].older = c->youngest;
	c->table[i].younger = NONE;
	if (c->youngest != NONE)
		c->table[c->youngest].younger = i;
	else
		c->oldest = i;
	c->youngest = i;
}

static void list_remove(struct coordinator *c, uint32_t i)
{
	struct request *r = &c->table[i];

	if (r->older != NONE)
		c->table[r->older].younger = r->younger;
	else
		c->oldest = r->younger;
	if (r->younger != NONE)
		c->table[r->younger].older = r->older;
	else
		c->youngest = r->older;
}

static void send_packet(struct coordinator *c, uint32_t i, enum packet which, uint32_t server)
{
	struct request *r = &c->table[i];
	struct lg_tx *tx = outbox_next(&c->out);
	struct nc_header *h;

	r->server[which] = server;
	c->cfg->servers[server].sent++;
	if (!tx)
		return; /* its slot is free again after the timeout */
	h = (struct nc_header *)tx->data;
	memcpy(tx->data, r->job->data, r->job->len);
	tx->len = r->job->len;
	tx->peer = c->cfg->servers[server].peer;
	h->flags |= NC_FLAG_NO_CLONE | NC_FLAG_CLIENT_ID_VALID;
	h->req_id = nc_htonl(r->generation << TABLE_LOG2 | i);
	h->client_id = nc_htons((nc_u16)c->cfg->client_id);
}

static void dispatch(struct coordinator *c, uint32_t i)
{
	struct request *r = &c->table[i];
	bool clone = c->idle.count >= 2 && !r->write;

	r->sent_ns = lg_now_ns();
	send_packet(c, i, ORIGINAL, r->write ? PRIMARY : idle_set_pick(&c->idle, &c->rng, NONE));
	if (clone)
		send_packet(c, i, CLONE, idle_set_pick(&c->idle, &c->rng, r->server[ORIGINAL]));
	c->cfg->cloned += clone;
	c->cfg->forwarded += !clone;
	list_append(c, i);
}

static void dispatch_waiting(struct coordinator *c)
{
	while (c->waiting.count && c->idle.count)
		dispatch(c, job_queue_pop(&c->waiting)->node);
}

static void take_request(struct coordinator *c, const struct lg_rx *rx)
{
	struct lg_coordinator_config *cfg = c->cfg;
	uint32_t i;

	cfg->requests++;
	i = c->waiting.count < cfg->queue_limit ? request_new(c, rx) : NONE;
	if (i == NONE) {
		cfg->rejected++;
		return;
	}
	if (c->table[i].write || (c->idle.count && !c->waiting.count)) {
		dispatch(c, i);
		return;
	}
	if (job_queue_push(&c->waiting, c->table[i].job)) {
		request_free(c, i);
		cfg->rejected++;
		return;
	}
	cfg->queued++;
	if (c->waiting.count > cfg->max_queue)
		cfg->max_queue = c->waiting.count;
}

static void to_client(struct coordinator *c, const struct request *r, const struct lg_rx *rx)
{
	const struct nc_header *original = (const struct nc_header *)r->job->data;
	struct lg_tx *tx = outbox_next(&c->out);
	struct nc_header *h;

	if (!tx)
		return;
	h = (struct nc_header *)tx->data;
	tx->len = rx->len < LG_PAYLOAD_MAX ? rx->len : LG_PAYLOAD_MAX;
	memcpy(tx->data, rx->data, tx->len);
	tx->peer = r->job->peer;
	h->flags = original->flags;
	h->req_id = original->req_id;
	h->client_id = original->client_id;
}

static bool same_peer(const struct lg_peer *a, const struct lg_peer *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in4.sin_addr.s_addr == b->in4.sin_addr.s_addr &&
		       a->in4.sin_port == b->in4.sin_port;
	return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr)) &&
	       a->in6.sin6_port == b->in6.sin6_port;
}

/* Which of the request's packets comes back from there; PACKETS: none. */
static enum packet answered_by(const struct coordinator *c, const struct request *r,
			       const struct lg_peer *from)
{
	enum packet which = ORIGINAL;

	while (which < PACKETS && (r->server[which] == NONE ||
				   !same_peer(&c->cfg->servers[r->server[which]].peer, from)))
		which++;
	return which;
}

/* The packet is no longer at its server; the entry is freed with the last one. */
static void done(struct coordinator *c, uint32_t i, enum packet which)
{
	struct request *r = &c->table[i];

	if (!r->write)
		idle_set_release(&c->idle, r->server[which]);
	r->server[which] = NONE;
	if (r->server[ORIGINAL] == NONE && r->server[CLONE] == NONE) {
		list_remove(c, i);
		request_free(c, i);
	}
}

static void take_response(struct coordinator *c, const struct lg_rx *rx)
{
	const struct nc_header *h = (const struct nc_header *)rx->data;
	uint32_t id = nc_ntohl(h->req_id), i = id & (TABLE_SIZE - 1);
	struct request *r = &c->table[i];
	enum packet which = PACKETS;

	if (r->job && ((r->generation << TABLE_LOG2) | i) == id)
		which = answered_by(c, r, &rx->peer);
	if (which == PACKETS) {
		c->cfg->stale_responses++;
		return;
	}
	c->cfg->servers[r->server[which]].answered++;
	if (r->answered) {
		c->cfg->redundant_responses++;
	} else {
		r->answered = true;
		c->cfg->first_responses++;
		to_client(c, r, rx);
	}
	done(c, i, which);
	dispatch_waiting(c);
}

static uint32_t receive(struct coordinator *c)
{
	struct lg_io *io = c->cfg->io;
	uint32_t n = io->ops->poll(io);

	for (uint32_t i = 0; i < n; i++) {
		const struct nc_header *h = (const struct nc_header *)io->rx[i].data;

		if (io->rx[i].len < NC_HEADER_LEN || h->type > NC_TYPE_RESP)
			c->cfg->invalid++;
		else if (h->type == NC_TYPE_REQ)
			take_request(c, &io->rx[i]);
		else
			take_response(c, &io->rx[i]);
	}
	return n;
}

/* A lost packet or a dead server must not keep a slot for ever. */
static void expire(struct coordinator *c, uint64_t now_ns)
{
	while (c->oldest != NONE && now_ns - c->table[c->oldest].sent_ns > c->cfg->timeout_ns) {
		uint32_t i = c->oldest;

		/* The entry is free, and all its servers NONE, after the last. */
		for (enum packet which = ORIGINAL; which < PACKETS; which++) {
			if (c->table[i].server[which] == NONE)
				continue;
			c->cfg->timeouts++;
			done(c, i, which);
		}
		dispatch_waiting(c);
	}
}

static void loop(struct coordinator *c)
{
	uint64_t checked_ns = 0;

	while (!*c->cfg->stop) {
		uint32_t n = receive(c);
		uint64_t now_ns = lg_now_ns();

		if (now_ns - checked_ns > NAP_NS) {
			expire(c, now_ns);
			checked_ns = now_ns;
		}
		outbox_flush(&c->out);
		if (!n && !c->cfg->busy)
			c->cfg->io->ops->wait(c->cfg->io, now_ns + NAP_NS);
	}
}

static int set_up(struct coordinator *c)
{
	outbox_init(&c->out, c->cfg->io, &c->cfg->send_errors);
	c->table = calloc(TABLE_SIZE, sizeof(*c->table));
	if (!c->table || idle_set_init(&c->idle, c->cfg->n_servers))
		return -ENOMEM;
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		c->table[i].younger = i + 1 < TABLE_SIZE ? i + 1 : NONE;
	c->oldest = c->youngest = NONE;
	for (uint32_t i = 0; i < c->cfg->n_servers; i++)
		idle_set_add(&c->idle, i, c->cfg->servers[i].slots);
	lg_rng_seed(&c->rng, c->cfg->seed, 0x20000);
	return 0;
}

static void tear_down(struct coordinator *c)
{
	for (uint32_t i = 0; c->table && i < TABLE_SIZE; i++)
		free(c->table[i].job);
	for (uint32_t i = 0; c->idle.free_slots && i < c->cfg->n_servers; i++)
		c->cfg->servers[i].in_use = c->cfg->servers[i].slots - c->idle.free_slots[i];
	free(c->table);
	free(c->waiting.ring);
	idle_set_free(&c->idle);
}

int lg_coordinator_run(struct lg_coordinator_config *config)
{
	struct coordinator c = {.cfg = config};
	uint64_t cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int error = set_up(&c);

	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	if (!error)
		loop(&c);
	tear_down(&c);
	config->cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return error;
}
