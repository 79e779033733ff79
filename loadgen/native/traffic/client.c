/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "client_state.h"
#include "lib/clock.h"

/* Requests that were due at the end may leave this long after it (or late_ns, if longer);
 * what has not left by then is counted as unsent. */
#define GRACE_NS 10000000ULL
/* A sleep may end this much late; LG_CLIENT_KEEN spins from then on. */
#define KEEN_NS 150000ULL
/* LG_CLIENT_SATURATE keeps so many requests on their way: fewer than the 256 packets that one
 * end of a veth pair holds, so that "as fast as it goes" is not "as fast as it loses".
 * What has not come for FORGIVE_NS is considered lost. */
#define SATURATE_WINDOW 192
#define FORGIVE_NS 100000000ULL
#define COUNT_ONE_BY_ONE 10000000
/* Longest sleep: *stop is looked at this often. */
#define NAP_NS 50000000ULL

/* LG_CLIENT_SATURATE: is it time to wait for answers instead of sending more? */
static bool window_full(struct client *c, uint64_t now_ns)
{
	uint64_t open = c->res->all_sent - c->all_answered;

	if (!saturates(c) || open < SATURATE_WINDOW + c->forgiven)
		return false;
	if (now_ns < c->last_rx_ns + FORGIVE_NS)
		return true;
	c->forgiven = open;
	c->last_rx_ns = now_ns;
	return false;
}

static bool more_to_send(const struct client *c, uint64_t now_ns)
{
	if (now_ns > c->send_until_ns)
		return false;
	return c->tx_from < c->tx_n || (!saturates(c) && due_ns(c) < c->end_ns);
}

/* Counts what was due and never left: one by one, or, where the rate was beyond all reach, the
 * rest by the rate so far. */
static void count_unsent(struct client *c)
{
	uint64_t from_ns;

	if (saturates(c))
		return;
	for (uint32_t i = 0; i < COUNT_ONE_BY_ONE && due_ns(c) < c->end_ns; i++) {
		c->res->scheduled += is_measured(c, due_ns(c));
		advance(c);
	}
	from_ns = due_ns(c) > c->window_ns ? due_ns(c) : c->window_ns;
	if (from_ns < c->end_ns)
		c->res->scheduled += (uint64_t)((double)(c->end_ns - from_ns) *
						(double)c->res->sched_gap.count / c->next_ns);
}

/* After the end of the window: is there nothing left to wait for? Not before a silence: more
 * answers than requests may have come, of some twice and of others none, and what is redundant
 * comes last. */
static bool drained(const struct client *c, uint64_t now_ns)
{
	uint64_t quiet_since = c->last_rx_ns > c->end_ns ? c->last_rx_ns : c->end_ns;
	bool all_answered = c->all_answered >= c->res->all_sent;

	if (more_to_send(c, now_ns))
		return false;
	return now_ns > quiet_since + c->cfg->quiet_ns / (all_answered ? 10 : 1) ||
	       now_ns > c->end_ns + c->cfg->drain_ns;
}

static uint32_t ended(const struct client *c)
{
	if (c->cfg->stop && *c->cfg->stop)
		return LG_END_STOPPED;
	if (c->cfg->io->failed)
		return LG_END_IO;
	return c->trace.error ? LG_END_TRACE : LG_END_COMPLETE;
}

/* Sleeps until an answer comes or the next request is due, unless that is so soon that
 * LG_CLIENT_KEEN spins. */
static void rest(struct client *c, uint64_t now_ns)
{
	uint64_t wake_ns = due_ns(c), needed_ns;

	if (now_ns >= c->end_ns || wake_ns > now_ns + NAP_NS)
		wake_ns = now_ns + NAP_NS / 10;
	needed_ns = wake_ns;
	if (c->cfg->flags & LG_CLIENT_KEEN && now_ns < c->end_ns) {
		if (wake_ns < now_ns + KEEN_NS)
			return;
		wake_ns -= KEEN_NS;
	}
	if (c->tx_from < c->tx_n) /* the back end was full: soon again */
		wake_ns = now_ns + 50000;
	lg_stall_sleep(&c->res->stalls, needed_ns);
	c->cfg->io->ops->wait(c->cfg->io, wake_ns);
	c->received = 0;
}

static void loop(struct client *c)
{
	const struct lg_client_config *cfg = c->cfg;

	lg_stall_start(&c->res->stalls, lg_now_ns());
	while ((c->res->end = ended(c)) == LG_END_COMPLETE) {
		uint64_t now_ns = lg_now_ns();
		uint32_t sent = 0, got;

		/* Sends are looked at by themselves, before they are booked. */
		if (!saturates(c) && now_ns < c->end_ns)
			lg_stall_look(&c->res->stalls, now_ns, c->received * LG_STALL_PACKET_NS);
		if (window_full(c, now_ns))
			sched_yield(); /* to a server on the same core */
		else if (c->tx_from == c->tx_n && now_ns <= c->send_until_ns)
			sent = client_prepare(c, now_ns);
		if (!sent && c->tx_from == c->tx_n)
			lg_stall_over(&c->res->stalls, now_ns);
		client_push(c);
		got = client_receive(c);
		c->received = got;
		if (now_ns >= c->end_ns && !c->res->cpu_ns)
			c->res->cpu_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID) - c->cpu_start_ns;
		if (now_ns >= c->end_ns && drained(c, now_ns))
			break;
		if (!sent && !got && !(cfg->flags & (LG_CLIENT_BUSY | LG_CLIENT_SATURATE)))
			rest(c, now_ns);
	}
	if (c->res->end == LG_END_IO)
		c->res->io_error = cfg->io->failed;
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

static void start_schedule(struct client *c)
{
	const struct lg_client_config *cfg = c->cfg;

	lg_rng_seed(&c->rng, cfg->seed, cfg->stream);
	c->gap = cfg->gap;
	c->service = cfg->service;
	lg_dist_start(&c->gap, &c->rng);
	lg_dist_start(&c->service, &c->rng);
	c->burst_left = cfg->burst;
	c->previous_sched_ns = -1;
	c->next_ns = lg_dist_base(&c->gap, &c->rng);
}

static uint64_t window_passed(const struct client *c, uint64_t now_ns)
{
	uint64_t until_ns = now_ns < c->end_ns ? now_ns : c->end_ns;

	return until_ns > c->window_ns ? until_ns - c->window_ns : 0;
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
	client_make_template(c);
	lg_trace_init(&c->trace, cfg->trace_fd);
	start_schedule(c);
	c->window_ns = cfg->start_ns + cfg->warmup_ns;
	c->end_ns = c->window_ns + cfg->duration_ns;
	c->send_until_ns = c->end_ns + (cfg->late_ns > GRACE_NS ? cfg->late_ns : GRACE_NS);
	if (cfg->flags & (LG_CLIENT_SATURATE | LG_CLIENT_BUSY)) {
		struct timespec start = lg_timespec(cfg->start_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
	}
	c->cpu_start_ns = lg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	loop(c);
	res->measured_ns = window_passed(c, lg_now_ns());
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
	/* Also one that was taken back. */
	if (llabs(cfg->io->clock_step_ns) > llabs(res->clock_step_ns))
		res->clock_step_ns = cfg->io->clock_step_ns;
	answered_free(&c->answered);
	free(c);
	return 0;
}

int lg_client_schedule(const struct lg_client_config *cfg, uint64_t requests,
		       struct lg_client_result *res)
{
	struct client *c = calloc(1, sizeof(*c));

	init_result(res);
	if (!c)
		return -ENOMEM;
	c->cfg = cfg;
	c->res = res;
	start_schedule(c);
	while (requests--)
		advance(c);
	free(c);
	return 0;
}
