/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "worker_threads.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "job.h"
#include "netclone/busy.h"

#define NAP_MS 20
/* Two readings of the clock with nothing between them are tens of ns apart, where the processor
 * is the thread's. */
#define SPIN_STALL_NS 5000
/* A request and, for a scan, the values behind it. */
#define RESPONSE_MAX LG_PAYLOAD_MAX

struct pool;

struct lg_worker {
	struct pool *pool;
	pthread_t thread;
	struct lg_rng rng;
	struct lg_dist service;
	void *context;
	struct lg_hist seen;
	struct lg_stalls stalls;
	uint64_t from_ns; /* beginning of the service */
	uint64_t answered, send_errors, busy_ns;
};

struct pool {
	struct lg_worker_config *cfg;
	const struct lg_worker_ops *ops;
	void *shared;
	struct lg_worker *worker;
	pthread_mutex_t lock; /* guards the queue, idle and done */
	pthread_cond_t filled;
	struct job_queue waiting;
	uint32_t idle; /* workers that wait for a request */
	bool done;
};

struct lg_rng *lg_worker_rng(struct lg_worker *worker)
{
	return &worker->rng;
}

struct lg_dist *lg_worker_service(struct lg_worker *worker)
{
	return &worker->service;
}

/* Requests that no idle worker is about to take: STATE. */
static uint32_t queue_length(const struct pool *p)
{
	return nc_queue_length((uint32_t)p->waiting.count, p->idle);
}

static void publish(struct pool *p)
{
	if (p->cfg->app_state)
		*p->cfg->app_state = queue_length(p);
}

/* The next request, or NULL at the end. */
static struct job *take(struct pool *p)
{
	struct job *j = NULL;

	pthread_mutex_lock(&p->lock);
	p->idle++;
	while (!p->waiting.count && !p->done) {
		if (p->cfg->busy) {
			pthread_mutex_unlock(&p->lock);
			lg_relax();
			pthread_mutex_lock(&p->lock);
		} else {
			pthread_cond_wait(&p->filled, &p->lock);
		}
	}
	p->idle--;
	if (p->waiting.count && !p->done)
		j = job_queue_pop(&p->waiting);
	publish(p);
	pthread_mutex_unlock(&p->lock);
	return j;
}

static void respond(struct lg_worker *w, const struct job *j, uint8_t *payload, uint32_t len)
{
	struct pool *p = w->pool;
	struct nc_header *h = (struct nc_header *)payload;

	h->type = NC_TYPE_RESP;
	if (p->cfg->stamp) {
		pthread_mutex_lock(&p->lock);
		h->state = nc_htonl(queue_length(p));
		pthread_mutex_unlock(&p->lock);
		h->sid = nc_htonl(p->cfg->sid);
	}
	if (sendto(p->cfg->fd, payload, len, 0, &j->peer.sa, lg_peer_len(&j->peer)) < 0)
		w->send_errors++;
	w->answered++;
}

static void *work(void *argument)
{
	struct lg_worker *w = argument;
	uint8_t payload[RESPONSE_MAX];
	struct job *j;

	while ((j = take(w->pool))) {
		uint32_t len = j->len;
		uint64_t ns;

		w->from_ns = lg_now_ns();
		memcpy(payload, j->data, len);
		len = w->pool->ops->serve(w->context, w, payload, len);
		ns = lg_now_ns() - w->from_ns;
		w->busy_ns += ns;
		lg_hist_add(&w->seen, ns);
		respond(w, j, payload, len);
		free(j);
	}
	return NULL;
}

static void answer_ping(struct pool *p, const struct lg_rx *rx)
{
	((struct nc_header *)rx->data)->type = NC_TYPE_RESP;
	p->cfg->counts.pings++;
	if (sendto(p->cfg->fd, rx->data, rx->len, 0, &rx->peer.sa, lg_peer_len(&rx->peer)) < 0)
		p->cfg->counts.send_errors++;
}

static void admit(struct pool *p, const struct lg_rx *rx)
{
	const struct nc_header *h = (const struct nc_header *)rx->data;
	struct lg_worker_config *cfg = p->cfg;
	struct job *j;

	if (rx->len < NC_HEADER_LEN || h->type != NC_TYPE_REQ) {
		cfg->counts.invalid++;
		return;
	}
	cfg->counts.received++;
	if (lg_body_asks(rx->data, rx->len, LG_OP_PING)) {
		answer_ping(p, rx);
		return;
	}
	j = malloc(sizeof(*j));
	if (j)
		job_set(j, 0, rx);
	pthread_mutex_lock(&p->lock);
	if (cfg->stamp && nc_is_dropped(h->clo, queue_length(p))) {
		cfg->counts.clones_dropped++;
		free(j);
	} else if (!j || p->waiting.count >= cfg->queue_limit || job_queue_push(&p->waiting, j)) {
		cfg->counts.rejected++;
		free(j);
	} else {
		if (queue_length(p) > cfg->counts.max_queue)
			cfg->counts.max_queue = queue_length(p);
		publish(p);
		pthread_cond_signal(&p->filled);
	}
	pthread_mutex_unlock(&p->lock);
}

static void dispatch(struct pool *p)
{
	uint8_t data[LG_PAYLOAD_MAX];
	struct lg_rx rx = {.data = data};

	while (!*p->cfg->stop) {
		socklen_t peer_len = sizeof(rx.peer.in6);
		ssize_t n = recvfrom(p->cfg->fd, data, sizeof(data), MSG_DONTWAIT, &rx.peer.sa,
				     &peer_len);

		if (n >= 0) {
			rx.len = (uint32_t)n;
			rx.ns = lg_now_ns();
			admit(p, &rx);
		} else if (!p->cfg->busy) {
			struct pollfd fd = {.fd = p->cfg->fd, .events = POLLIN};

			poll(&fd, 1, NAP_MS);
		}
	}
}

static int start_worker(struct pool *p, uint32_t i)
{
	struct lg_worker *w = &p->worker[i];
	int error;

	w->pool = p;
	w->service = p->cfg->service;
	lg_rng_seed(&w->rng, p->cfg->seed, 0x10000u + p->cfg->sid * 0x100u + i);
	lg_dist_start(&w->service, &w->rng);
	lg_hist_init(&w->seen);
	error = p->ops->open ? p->ops->open(p->shared, w, &w->context) : 0;
	if (error)
		return error;
	error = -pthread_create(&w->thread, NULL, work, w);
	if (error && p->ops->close)
		p->ops->close(w->context);
	return error;
}

static void join(struct pool *p, uint32_t started)
{
	struct lg_worker_config *cfg = p->cfg;

	pthread_mutex_lock(&p->lock);
	p->done = true;
	pthread_cond_broadcast(&p->filled);
	pthread_mutex_unlock(&p->lock);
	for (uint32_t i = 0; i < started; i++) {
		struct lg_worker *w = &p->worker[i];

		pthread_join(w->thread, NULL);
		if (p->ops->close)
			p->ops->close(w->context);
		cfg->counts.answered += w->answered;
		cfg->counts.send_errors += w->send_errors;
		cfg->counts.busy_ns += w->busy_ns;
		lg_stall_merge(&cfg->stalls, &w->stalls);
		if (cfg->service_seen)
			lg_hist_merge(cfg->service_seen, &w->seen);
	}
	while (p->waiting.count) {
		free(job_queue_pop(&p->waiting));
		cfg->counts.abandoned++;
	}
}

int lg_worker_run(struct lg_worker_config *config, const struct lg_worker_ops *ops, void *shared)
{
	struct pool p = {.cfg = config, .ops = ops, .shared = shared};
	uint32_t started = 0;
	int error = 0;

	p.worker = calloc(config->workers, sizeof(*p.worker));
	if (!p.worker)
		return -ENOMEM;
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.filled, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	while (started < config->workers && !error) {
		error = start_worker(&p, started);
		started += !error;
	}
	if (!error) {
		config->ready = 1;
		dispatch(&p);
	}
	join(&p, started);
	pthread_cond_destroy(&p.filled);
	pthread_mutex_destroy(&p.lock);
	free(p.waiting.ring);
	free(p.worker);
	return error;
}

/* Calibrated by the clock itself: no constant that is wrong on the next machine. */
static uint32_t spin(void *context, struct lg_worker *w, uint8_t *payload, uint32_t len)
{
	const struct lg_body *b = lg_body_of(payload, len);
	uint64_t now_ns = w->from_ns, before_ns, until_ns;
	double ns = lg_dist_sample(&w->service, &w->rng);

	(void)context;
	if (b && b->service_ns)
		ns = (double)le64toh(b->service_ns);
	until_ns = now_ns + (uint64_t)ns;
	do {
		before_ns = now_ns;
		lg_relax();
		now_ns = lg_now_ns();
	} while (now_ns < until_ns);
	/* Only the last reading of the clock can be late, by what came between it and the one
	 * before. */
	if (now_ns - before_ns > SPIN_STALL_NS) {
		lg_stall_add(&w->stalls, now_ns - before_ns, now_ns);
		lg_stall_holds(&w->stalls, until_ns, now_ns);
	}
	return len;
}

int lg_spin_run(struct lg_worker_config *config)
{
	static const struct lg_worker_ops ops = {.serve = spin};

	return lg_worker_run(config, &ops, NULL);
}
