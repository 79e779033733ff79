/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "virtual_servers.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/clock.h"
#include "job.h"
#include "netclone/busy.h"
#include "outbox.h"

/* Longest sleep: *stop is looked at this often. */
#define NAP_NS 20000000ULL
/* Nodes that one look may find ready; the others are found by the next. */
#define READY_BATCH 64

struct node {
	struct lg_server_node *pub;
	struct job_queue waiting;
	struct job_heap in_service;
	struct outbox out;
	struct lg_rng rng;
	uint64_t last_arrival_ns; /* of a request; 0: none yet */
};

struct server {
	struct lg_server_config *cfg;
	struct node *node;
	struct job **spare; /* unused jobs */
	size_t n_spare, spare_size;
	int epoll_fd;
	uint64_t all_seen_ns; /* when all nodes were last looked at */
};

static struct job *job_new(struct server *s)
{
	return s->n_spare ? s->spare[--s->n_spare] : malloc(sizeof(struct job));
}

static void job_free(struct server *s, struct job *j)
{
	if (s->n_spare < s->spare_size)
		s->spare[s->n_spare++] = j;
	else
		free(j);
}

/* Requests that are not in service: STATE. */
static uint32_t queue_length(const struct node *n)
{
	return (uint32_t)n->waiting.count;
}

static void publish(struct node *n)
{
	if (n->pub->app_state)
		*n->pub->app_state = queue_length(n);
}

/* Puts the response into the node's next send. */
static void respond(struct node *n, const struct job *j)
{
	struct lg_tx *tx = outbox_next(&n->out);
	struct nc_header *h;

	if (!tx)
		return;
	memcpy(tx->data, j->data, j->len);
	tx->len = j->len;
	tx->peer = j->peer;
	h = (struct nc_header *)tx->data;
	h->type = NC_TYPE_RESP;
	if (n->pub->flags & LG_SERVER_STAMP) {
		h->sid = nc_htonl(n->pub->sid);
		h->state = nc_htonl(queue_length(n));
	}
}

static double service_ns(struct node *n, const struct job *j)
{
	const struct lg_body *b = lg_body_of(j->data, j->len);
	double x = lg_dist_sample(&n->pub->service, &n->rng);

	if (!b || !b->service_ns)
		return x;
	/* Drawn by the client; the jitter is unforeseen and stays the server's. */
	x = (double)le64toh(b->service_ns);
	if (n->pub->service.jitter_bound && lg_rng_next(&n->rng) < n->pub->service.jitter_bound)
		x *= n->pub->service.jitter_factor;
	return x;
}

static void start(struct server *s, struct node *n, struct job *j, uint64_t at_ns)
{
	uint64_t ns = (uint64_t)service_ns(n, j);

	j->end_ns = at_ns + ns;
	n->pub->counts.busy_ns += ns;
	if (s->cfg->service)
		lg_hist_add(s->cfg->service, ns);
	job_heap_push(&n->in_service, j);
}

static void book_overrun(struct server *s, const struct job *j)
{
	uint64_t now_ns = lg_now_ns();

	lg_stall_holds(&s->cfg->stalls, j->end_ns, now_ns);
	if (s->cfg->overrun)
		lg_hist_add(s->cfg->overrun, now_ns - j->end_ns);
}

/* Ends the services of a node that are over. A worker takes its next request at the time its
 * last one was over, not when this thread came to look. */
static void finish(struct server *s, struct node *n, uint64_t now_ns)
{
	struct job_heap *heap = &n->in_service;

	while (heap->count && heap->at[0]->end_ns <= now_ns) {
		struct job *j = job_heap_pop(heap), *next;

		n->pub->counts.answered++;
		if (n->waiting.count) {
			next = job_queue_pop(&n->waiting);
			start(s, n, next,
			      j->end_ns > next->arrived_ns ? j->end_ns : next->arrived_ns);
			publish(n);
		}
		book_overrun(s, j);
		respond(n, j);
		job_free(s, j);
	}
}

static void admit(struct server *s, struct node *n, const struct lg_rx *rx)
{
	const struct nc_header *h = (const struct nc_header *)rx->data;
	struct lg_server_node *pub = n->pub;
	struct job *j;

	if (rx->len < NC_HEADER_LEN || h->type != NC_TYPE_REQ) {
		pub->counts.invalid++;
		return;
	}
	pub->counts.received++;
	if (n->last_arrival_ns && s->cfg->arrival_gap && rx->ns > n->last_arrival_ns)
		lg_hist_add(s->cfg->arrival_gap, rx->ns - n->last_arrival_ns);
	n->last_arrival_ns = rx->ns;
	if (pub->flags & LG_SERVER_STAMP && nc_is_dropped(h->clo, queue_length(n))) {
		pub->counts.clones_dropped++;
		return;
	}
	j = n->waiting.count < pub->queue_limit ? job_new(s) : NULL;
	if (!j) {
		pub->counts.rejected++;
		return;
	}
	job_set(j, (uint32_t)(n - s->node), rx);
	if (lg_body_asks(rx->data, rx->len, LG_OP_PING)) {
		pub->counts.pings++;
		respond(n, j);
		job_free(s, j);
	} else if (n->in_service.count < pub->workers) {
		start(s, n, j, rx->ns);
	} else if (job_queue_push(&n->waiting, j)) {
		pub->counts.rejected++;
		job_free(s, j);
	} else if (n->waiting.count > pub->counts.max_queue) {
		pub->counts.max_queue = n->waiting.count;
	}
}

static void receive(struct server *s, struct node *n)
{
	struct lg_io *io = n->pub->io;
	uint32_t got = io->ops->poll(io);

	for (uint32_t i = 0; i < got; i++) {
		/* What ended before this one came is ended first: a worker is free again. */
		finish(s, n, io->rx[i].ns);
		admit(s, n, &io->rx[i]);
	}
	if (got)
		publish(n);
}

/* Time of the next end of a service, at most NAP_NS from now. */
static uint64_t next_end_ns(const struct server *s, uint64_t now_ns)
{
	uint64_t at_ns = now_ns + NAP_NS;

	for (uint32_t i = 0; i < s->cfg->n_nodes; i++) {
		const struct job_heap *heap = &s->node[i].in_service;

		if (heap->count && heap->at[0]->end_ns < at_ns)
			at_ns = heap->at[0]->end_ns;
	}
	return at_ns > now_ns ? at_ns : now_ns;
}

/* Sleeps until a request comes or the next service ends; returns how many nodes are in
 * `events`. */
static int nap(struct server *s, struct epoll_event *events)
{
	uint64_t now_ns = lg_now_ns(), until_ns = next_end_ns(s, now_ns);
	struct timespec t = lg_timespec(until_ns - now_ns);
	int n;

	lg_stall_look(&s->cfg->stalls, now_ns, UINT64_MAX);
	if (until_ns > now_ns)
		lg_stall_over(&s->cfg->stalls, now_ns);
	lg_stall_sleep(&s->cfg->stalls, until_ns);
	n = epoll_pwait2(s->epoll_fd, events, READY_BATCH, &t, NULL);
	lg_stall_look(&s->cfg->stalls, lg_now_ns(), 0);
	return n;
}

static void look_at_all(struct server *s)
{
	for (uint32_t i = 0; i < s->cfg->n_nodes; i++)
		receive(s, &s->node[i]);
}

/* Receives only where something waits: with many servers the calls that find nothing would
 * cost more than those that do. After a silence all are looked at, whatever epoll says. */
static void look_at_ready(struct server *s)
{
	struct epoll_event events[READY_BATCH];
	int n = nap(s, events);

	if (n == 0 && lg_now_ns() - s->all_seen_ns > NAP_NS) {
		s->all_seen_ns = lg_now_ns();
		look_at_all(s);
	}
	for (int i = 0; i < n; i++)
		receive(s, &s->node[events[i].data.u32]);
}

static void loop(struct server *s)
{
	while (!*s->cfg->stop) {
		if (s->cfg->busy)
			look_at_all(s);
		else
			look_at_ready(s);
		for (uint32_t i = 0; i < s->cfg->n_nodes; i++) {
			finish(s, &s->node[i], lg_now_ns());
			outbox_flush(&s->node[i].out);
		}
	}
}

static int watch(struct server *s, uint32_t i)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->cfg->nodes[i].io->fd, &event) ? -errno : 0;
}

static int set_up(struct server *s)
{
	size_t workers = 0;
	int error = 0;

	for (uint32_t i = 0; i < s->cfg->n_nodes; i++)
		workers += s->cfg->nodes[i].workers;
	s->spare_size = workers + 4096;
	s->node = calloc(s->cfg->n_nodes, sizeof(*s->node));
	s->spare = calloc(s->spare_size, sizeof(*s->spare));
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!s->node || !s->spare || s->epoll_fd < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->cfg->n_nodes && !error; i++) {
		struct node *n = &s->node[i];

		n->pub = &s->cfg->nodes[i];
		outbox_init(&n->out, n->pub->io, &n->pub->counts.send_errors);
		lg_rng_seed(&n->rng, s->cfg->seed, 0x10000 + n->pub->sid);
		lg_dist_start(&n->pub->service, &n->rng);
		error = job_heap_init(&n->in_service, n->pub->workers + 1);
		if (!error)
			error = watch(s, i);
	}
	return error;
}

static void drop_jobs(struct node *n)
{
	while (n->in_service.count) {
		free(job_heap_pop(&n->in_service));
		n->pub->counts.abandoned++;
	}
	while (n->waiting.count) {
		free(job_queue_pop(&n->waiting));
		n->pub->counts.abandoned++;
	}
	free(n->in_service.at);
	free(n->waiting.ring);
}

static void tear_down(struct server *s)
{
	for (uint32_t i = 0; s->node && i < s->cfg->n_nodes; i++)
		drop_jobs(&s->node[i]);
	while (s->n_spare)
		free(s->spare[--s->n_spare]);
	free(s->node);
	free(s->spare);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}

int lg_server_run(struct lg_server_config *config)
{
	struct server s = {.cfg = config, .epoll_fd = -1};
	int error = set_up(&s);

	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	lg_stall_start(&config->stalls, lg_now_ns());
	if (!error)
		loop(&s);
	tear_down(&s);
	return error;
}
