/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fault.h"

#include "server.h"
#include "window.h"

static void sim_apply_fault(struct sim *s, const struct sim_fault *f)
{
	switch (f->kind) {
	case SIM_SERVER_DOWN:
		if (s->servers[f->id].up)
			sim_server_stop(s, f->id);
		break;
	case SIM_SERVER_UP:
		sim_server_clear(&s->servers[f->id].host);
		s->servers[f->id].up = 1;
		break;
	case SIM_SWITCH_DOWN:
		s->racks[f->id].up = 0;
		break;
	case SIM_SWITCH_UP:
		sim_switch_clear(&s->racks[f->id].host, s->cfg, &s->rng[SIM_STREAM_LOSS]);
		s->racks[f->id].up = 1;
		break;
	case SIM_SERVER_REMOVED:
	case SIM_SERVER_ADDED:
		for (uint32_t r = 0; r < s->cfg->racks; r++)
			sim_switch_lists(&s->racks[r].host, f->id, f->kind == SIM_SERVER_ADDED);
		break;
	}
}

void sim_faults(struct sim *s)
{
	sim_apply_fault(s, &s->cfg->fault[s->next_fault++]);
	sim_plan_fault(s);
}
