/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The data plane of the simulated machines: the very C logic that the XDP programs run
 * (xdp/include/netclone), on the header of each packet. No rule is written down here; this
 * file gives every switch, server and client its tables, and calls. */
#ifndef SIM_LOGIC_H
#define SIM_LOGIC_H

/* One simulated rack is one thread: its tables need no atomic instructions. */
#define NC_SINGLE_THREAD
#include "netclone/client.h"
#include "netclone/decision.h"
#include "netclone/server.h"

#include "sim.h"

/* A switch, a server or a client: its tables and its clock. */
struct sim_host {
	struct nc_env env;
};

/* Where a request goes. */
struct sim_verdict {
	uint32_t copies; /* 0: to nobody (no candidate is left) */
	uint32_t first, second;
};

enum {
	SIM_NC_PORT = NC_DEFAULT_PORT,
	SIM_SLICE_SHIFT = 27, /* a request is forgotten after 7 slices, about 0.9 s */
	SIM_SLICES = NC_INFLIGHT_SLICES - 1,
	SIM_DUPLICATE_WINDOW_S = 1,
	SIM_STATE_TIMEOUT_S = 1, /* as the request timeout */
};

/* What the control plane does with an entry of the address table. */
void sim_switch_lists(struct sim_host *h, uint32_t sid, int listed);

int sim_switch_init(struct sim_host *h, const struct sim_config *cfg, uint32_t rack);

/* A restart loses the soft state (section 3.6); the control plane's tables are put back, and
 * it starts the sequence at random: ids of before the restart must not come round again while
 * clients remember them as answered. */
void sim_switch_clear(struct sim_host *h, const struct sim_config *cfg, struct lg_rng *rng);

int sim_server_init(struct sim_host *h, const struct sim_config *cfg, uint32_t sid);

void sim_server_clear(struct sim_host *h);

int sim_client_init(struct sim_host *h, const struct sim_config *cfg, uint32_t number);

void sim_host_free(struct sim_host *h);

/* A request leaves its client. */
void sim_client_stamps(struct sim_host *h, struct nc_header *nc, uint64_t now_ns, int write);

/* A response reaches its client: is it handed over? */
int sim_client_delivers(struct sim_host *h, const struct nc_header *nc, uint64_t now_ns);

/* A read at the switch of its client. */
struct sim_verdict sim_switch_decides(struct sim_host *h, struct nc_header *nc, uint64_t now_ns);

/* A write at the switch of its client: its destination stays. */
void sim_switch_sends_on(struct sim_host *h, struct nc_header *nc);

/* A packet on its way through the switch of another rack, which must leave it alone. */
int sim_switch_is_foreign(const struct sim_host *h, const struct nc_header *nc);

/* A response at the switch of its client: does it go on? */
int sim_switch_forwards(struct sim_host *h, const struct nc_header *nc, uint64_t now_ns);

/* A request reaches its server: is it handed over? */
int sim_server_admits(struct sim_host *h, const struct nc_header *nc, uint64_t now_ns,
		      uint32_t client, uint32_t busy, uint32_t queued);

/* A response leaves its server. */
void sim_server_stamps(struct sim_host *h, struct nc_header *nc, uint64_t now_ns, uint32_t client,
		       uint32_t busy, uint32_t queued);

#endif
