/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "window.h"

void sim_plan_fault(struct sim *s)
{
	const struct sim_fault *f = &s->cfg->fault[s->next_fault];
	struct sim_due due = {.kind = SIM_DUE_FAULT};

	if (s->next_fault == s->cfg->faults)
		return;
	due.time = s->window_start + sim_from_ns(f->at_ns);
	if (sim_heap_push(&s->heap, due))
		s->out_of_memory = 1;
	sim_set_next(s, SIM_DUE, sim_heap_next(&s->heap));
}

void sim_open_window(struct sim *s)
{
	sim_area_open(&s->in_system, s->now);
	sim_area_open(&s->busy, s->now);
	sim_area_open(&s->queued, s->now);
	s->window_start = s->now;
	s->in_window = 1;
	sim_plan_fault(s);
}

void sim_close_window(struct sim *s)
{
	s->res->in_system_area = sim_area_close(&s->in_system, s->now);
	s->res->busy_area = sim_area_close(&s->busy, s->now);
	s->res->queued_area = sim_area_close(&s->queued, s->now);
	s->window_end = s->now;
	s->in_window = 0;
}
