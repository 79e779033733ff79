// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two CPUs on one set of tables, a million times.
 *
 *   race TASK native               the library
 *   race TASK xdp FD               the loaded program nc_switch_in, by BPF_PROG_TEST_RUN
 *
 * pairs: each thread brings one response of every pair; of each pair exactly one is delivered.
 * ids: both threads bring requests; every REQ_ID is different and none is 0.
 * messages: each thread brings one packet of every request of two, and in between responses that
 *   change the states; both packets of a request are cloned or neither, from the same server.
 * answered: as pairs, at a client (the library alone), whose clock goes on by more than the
 *   window before the same REQ_IDs, and so the same slots and keys, come again.
 * The switch has servers 0 and 1 (10.0.1.101 and .102) in group 1. Prints what it counted;
 * status 1 if the rule does not hold. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netclone/client.h"
#include "netclone/switch.h"

#include "netclone.h"

enum {
	ROUNDS = 1000000, /* pairs, and ids in all */
	WINDOW = 512,	  /* the threads meet after so many: no pair is far apart */
	THREADS = 2,
	RECURRING = 2048,      /* answered: different REQ_IDs */
	DUPLICATE_WINDOW = 10, /* answered: ms */
	HEADER_AT = 14 + 20 + 8,
	FRAME_LEN = HEADER_AT + NC_HEADER_LEN,
};

enum task { PAIRS, IDS, MESSAGES, ANSWERED };
static const char *const task_names[] = {"pairs", "ids", "messages", "answered"};

struct run {
	enum task task;
	struct nc_env *node; /* native, else 0 */
	int program;
	pthread_barrier_t meet;
	atomic_uchar delivered[ROUNDS + 1]; /* by round */
	nc_u32 *seen[THREADS]; /* ids: REQ_ID; messages: CLO and the server, by REQ_ID */
};

struct worker {
	struct run *run;
	int number;
};

static void fill_frame(nc_u8 *frame, enum task task, int thread)
{
	const nc_u8 client[4] = {10, 0, 1, 1}, server[4] = {10, 0, 1, (nc_u8)(101 + thread)};
	struct nc_eth *eth = (void *)frame;
	struct nc_ip4 *ip = (void *)(eth + 1);
	struct nc_udp *udp = (void *)(ip + 1);
	struct nc_header *h = (void *)(udp + 1);

	memset(frame, 0, FRAME_LEN);
	eth->type = nc_htons(NC_ETH_IP4);
	ip->version_ihl = 0x45;
	ip->protocol = NC_PROTO_UDP;
	ip->total_len = nc_htons(FRAME_LEN - 14);
	udp->len = nc_htons(8 + NC_HEADER_LEN);
	h->grp = nc_htonl(1);
	if (task == MESSAGES) {
		h->flags = NC_FLAG_CLIENT_ID_VALID;
		h->client_id = nc_htons(1);
		h->pkt_index = (nc_u8)thread;
		h->pkt_count = THREADS;
	}
	if (task == PAIRS || task == ANSWERED) {
		memcpy(&ip->src, server, 4);
		memcpy(&ip->dst, client, 4);
		udp->src = nc_htons(1000);
		h->type = NC_TYPE_RESP;
		h->sid = nc_htonl((nc_u32)thread);
		h->clo = (nc_u8)(1 + thread);
	} else {
		memcpy(&ip->src, client, 4);
		udp->dst = nc_htons(1000);
	}
}

/* Whether the switch lets the frame go on; what it is then in `out`. */
static int through_native(struct run *run, const nc_u8 *frame, nc_u8 *out)
{
	struct nc_frame f = {out, out + FRAME_LEN, &f};
	struct nc_forward forward;

	memcpy(out, frame, FRAME_LEN);
	if (run->task == ANSWERED)
		return nc_client_ingress(run->node, nc_client_cfg_of(run->node), &f) !=
		       NC_CTR_dropped_already_answered;
	nc_switch_ingress(run->node, nc_switch_cfg_of(run->node), &f, 1, &forward);
	return forward.action != NC_DROP;
}

static int through_kernel(struct run *run, const nc_u8 *frame, nc_u8 *out)
{
	union bpf_attr attr = {};

	attr.test.prog_fd = (nc_u32)run->program;
	attr.test.data_in = (nc_u64)(unsigned long)frame;
	attr.test.data_size_in = FRAME_LEN;
	attr.test.data_out = (nc_u64)(unsigned long)out;
	attr.test.data_size_out = FRAME_LEN;
	attr.test.repeat = 1;
	while (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) < 0) {
		if (errno != EINTR && errno != EAGAIN) {
			perror("BPF_PROG_TEST_RUN");
			exit(2);
		}
	}
	return attr.test.retval != XDP_DROP;
}

static int through(struct run *run, const nc_u8 *frame, nc_u8 *out)
{
	return run->node ? through_native(run, frame, out) : through_kernel(run, frame, out);
}

static nc_u32 req_id_of(const nc_u8 *frame)
{
	return nc_ntohl(((const struct nc_header *)(frame + HEADER_AT))->req_id);
}

/* CLO, and the last byte of the server's address. */
static nc_u32 outcome_of(const nc_u8 *frame)
{
	return (nc_u32)((const struct nc_header *)(frame + HEADER_AT))->clo << 8 |
	       frame[HEADER_AT - 8 - 1];
}

/* A response from server `thread`, whose state changes now and then. */
static void change_state(struct run *run, int thread, nc_u32 *random)
{
	nc_u8 frame[FRAME_LEN], out[FRAME_LEN];
	struct nc_header *h = (void *)(frame + HEADER_AT);

	*random = *random * 1664525 + 1013904223;
	fill_frame(frame, PAIRS, thread);
	h->clo = NC_CLO_NONE;
	h->state = nc_htonl(*random >> 30);
	through(run, frame, out);
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* Both threads wait here; a client's clock goes on while neither has a frame. */
static void meet(struct run *run, int thread)
{
	pthread_barrier_wait(&run->meet);
	if (run->task != ANSWERED)
		return;
	if (thread == 0)
		run->node->now_ns += 2 * DUPLICATE_WINDOW * 1000000ULL;
	pthread_barrier_wait(&run->meet);
}

static nc_u32 req_id_for(enum task task, nc_u32 round)
{
	switch (task) {
	case IDS:
		return 0;
	case ANSWERED:
		return 1 + round % RECURRING;
	default:
		return 1 + round;
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct run *run = worker->run;
	nc_u8 frame[FRAME_LEN], out[FRAME_LEN];
	struct nc_header *h = (void *)(frame + HEADER_AT);
	const nc_u32 rounds = run->task == IDS ? ROUNDS / THREADS : ROUNDS;
	nc_u32 random = (nc_u32)worker->number;

	pin_to(worker->number);
	fill_frame(frame, run->task, worker->number);
	for (nc_u32 i = 0; i < rounds; i++) {
		if (i % WINDOW == 0)
			meet(run, worker->number);
		if (run->task == MESSAGES)
			change_state(run, worker->number, &random);
		h->req_id = nc_htonl(req_id_for(run->task, i));
		if (through(run, frame, out) && (run->task == PAIRS || run->task == ANSWERED))
			run->delivered[i + 1]++;
		run->seen[worker->number][i] = run->task == IDS ? req_id_of(out) : outcome_of(out);
	}
	return NULL;
}

static int judge_pairs(struct run *run)
{
	nc_u32 none = 0, both = 0;

	for (nc_u32 id = 1; id <= ROUNDS; id++) {
		none += run->delivered[id] == 0;
		both += run->delivered[id] == 2;
	}
	printf("%d pairs: %u delivered not at all, %u twice\n", ROUNDS, none, both);
	return none == 0 && both == 0;
}

static int by_value(const void *a, const void *b)
{
	const nc_u32 x = *(const nc_u32 *)a, y = *(const nc_u32 *)b;

	return (x > y) - (x < y);
}

static int judge_ids(struct run *run)
{
	const nc_u32 each = ROUNDS / THREADS;
	nc_u32 *all = malloc(ROUNDS * sizeof(*all)), repeated = 0, zero = 0;

	if (!all)
		return 0;
	for (int i = 0; i < THREADS; i++)
		memcpy(all + (nc_u32)i * each, run->seen[i], each * sizeof(*all));
	qsort(all, ROUNDS, sizeof(*all), by_value);
	for (nc_u32 i = 0; i < ROUNDS; i++) {
		zero += all[i] == 0;
		repeated += i > 0 && all[i] == all[i - 1];
	}
	printf("%d ids: %u repeated, %u zero\n", ROUNDS, repeated, zero);
	free(all);
	return repeated == 0 && zero == 0;
}

/* Cloned (to 101, as group 1 has it), to 101 or to 102 alone: all of them must have come. */
static int judge_messages(struct run *run)
{
	nc_u32 torn = 0, cloned = 0, first = 0, second = 0;

	for (nc_u32 i = 0; i < ROUNDS; i++) {
		const nc_u32 way = run->seen[0][i];

		torn += way != run->seen[1][i];
		cloned += way >> 8 == NC_CLO_ORIGINAL;
		first += way == 101;
		second += way == 102;
	}
	printf("%d messages: %u torn; %u cloned, %u to the first alone, %u to the second\n", ROUNDS,
	       torn, cloned, first, second);
	return torn == 0 && cloned > 0 && first > 0 && second > 0;
}

static struct nc_env *native_switch(void)
{
	const struct nc_switch_config cfg = {
		.ports = {.count = 1, .port = {nc_htons(1000)}},
		.flags = NC_SWITCH_RACKSCHED,
		.n_groups = 2,
		.n_filter_tables = 2,
		.filter_mask = (1 << NC_FILTER_SLOTS_LOG2) - 1,
	};
	struct nc_env *node = nc_native_switch(&cfg);

	if (!node)
		return NULL;
	node->groups[1] = (struct nc_group){0, 1};
	node->groups[2] = (struct nc_group){1, 0};
	for (nc_u32 sid = 0; sid < 2; sid++) {
		const nc_u8 ip4[4] = {10, 0, 1, (nc_u8)(101 + sid)};

		node->servers[sid].flags = NC_SERVER_VALID;
		node->servers[sid].ifindex = 1; /* by which every frame comes in */
		memcpy(&node->servers[sid].ip4, ip4, 4);
	}
	return node;
}

static struct nc_env *native_client(void)
{
	const struct nc_client_config cfg = {
		.ports = {.count = 1, .port = {nc_htons(1000)}},
		.n_groups = 2,
		.n_filter_tables = 2,
		.duplicate_window_ns = DUPLICATE_WINDOW * 1000000ULL,
	};

	return nc_native_client(&cfg);
}

static int usage(void)
{
	fprintf(stderr, "usage: race pairs|ids|messages native|xdp [FD]\n"
			"       race answered native\n");
	return 2;
}

int main(int argc, char **argv)
{
	static int (*const judges[])(struct run *) = {judge_pairs, judge_ids, judge_messages,
						      judge_pairs};
	static struct run run;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	int holds;

	if (argc == 3 && strcmp(argv[2], "native") == 0)
		run.node = strcmp(argv[1], "answered") == 0 ? native_client() : native_switch();
	else if (argc == 4 && strcmp(argv[2], "xdp") == 0)
		run.program = atoi(argv[3]);
	else
		return usage();
	while (run.task <= ANSWERED && strcmp(argv[1], task_names[run.task]) != 0)
		run.task++;
	if (run.task > ANSWERED || (run.task == ANSWERED && !run.node))
		return usage();
	pthread_barrier_init(&run.meet, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		run.seen[i] = malloc(ROUNDS * sizeof(nc_u32));
		workers[i] = (struct worker){&run, i};
		if (!run.seen[i] || pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
			fprintf(stderr, "race: no memory or no thread\n");
			return 2;
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	holds = judges[run.task](&run);
	for (int i = 0; i < THREADS; i++)
		free(run.seen[i]);
	nc_native_free(run.node);
	return holds ? 0 : 1;
}
