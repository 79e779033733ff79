// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Nodes and their tables: memory, names. A switch has groups, a server has requests in
 * flight, a client has answered ones; that is how roles are told apart. */
#include <stdlib.h>
#include <string.h>

#include "netclone/table_access.h"

#include "netclone.h"

/* All the tables of a role, or none. */
static struct nc_env *checked(struct nc_env *node, int complete)
{
	if (complete)
		return node;
	nc_native_free(node);
	return NULL;
}

static size_t filter_slots(const struct nc_switch_config *cfg)
{
	return (size_t)cfg->n_filter_tables * ((size_t)cfg->filter_mask + 1);
}

struct nc_env *nc_native_switch(const struct nc_switch_config *cfg)
{
	struct nc_env *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->switch_cfg = *cfg;
	node->groups = calloc((size_t)cfg->n_groups + 1, sizeof(*node->groups));
	node->servers = calloc(NC_MAX_SERVERS, sizeof(*node->servers));
	node->state = calloc(NC_MAX_SERVERS, sizeof(*node->state));
	node->health = calloc(NC_MAX_SERVERS, sizeof(*node->health));
	node->filter = calloc(filter_slots(cfg), sizeof(*node->filter));
	node->requests = calloc(1 << NC_REQUEST_SLOTS_LOG2, sizeof(*node->requests));
	node->attempts = calloc(1 << NC_REQUEST_SLOTS_LOG2, sizeof(*node->attempts));
	node->fdb = calloc(1 << NC_FDB_SLOTS_LOG2, sizeof(*node->fdb));
	node->port_roles = calloc(NC_DEFAULT_PORT_ENTRIES, sizeof(*node->port_roles));
	return checked(node, node->groups && node->servers && node->state && node->health &&
				     node->filter && node->requests && node->attempts &&
				     node->fdb && node->port_roles);
}

struct nc_env *nc_native_server(const struct nc_server_config *cfg)
{
	struct nc_env *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->server_cfg = *cfg;
	node->inflight = calloc(1 << NC_INFLIGHT_SLOTS_LOG2, sizeof(*node->inflight));
	return checked(node, node->inflight != NULL);
}

struct nc_env *nc_native_client(const struct nc_client_config *cfg)
{
	struct nc_env *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->client_cfg = *cfg;
	node->answered = calloc(1 << NC_ANSWERED_SLOTS_LOG2, sizeof(*node->answered));
	return checked(node, node->answered != NULL);
}

void nc_native_free(struct nc_env *node)
{
	if (!node)
		return;
	free(node->groups);
	free(node->servers);
	free(node->state);
	free(node->health);
	free(node->filter);
	free(node->requests);
	free(node->attempts);
	free(node->fdb);
	free(node->port_roles);
	free(node->inflight);
	free(node->answered);
	free(node);
}

void *nc_native_table(struct nc_env *node, const char *name, size_t *size)
{
	const size_t groups = (size_t)node->switch_cfg.n_groups + 1;
	const struct {
		const char *name;
		void *at;
		size_t size;
	} tables[] = {
		{"nc_counters", node->counters, sizeof(node->counters)},
		{"nc_switch_cfg", &node->switch_cfg, sizeof(node->switch_cfg)},
		{"nc_groups", node->groups, groups * sizeof(*node->groups)},
		{"nc_servers", node->servers, NC_MAX_SERVERS * sizeof(*node->servers)},
		{"nc_state", node->state, NC_MAX_SERVERS * sizeof(*node->state)},
		{"nc_health", node->health, NC_MAX_SERVERS * sizeof(*node->health)},
		{"nc_sequence", &node->sequence, sizeof(node->sequence)},
		{"nc_filter", node->filter,
		 filter_slots(&node->switch_cfg) * sizeof(*node->filter)},
		{"nc_requests", node->requests, sizeof(*node->requests) << NC_REQUEST_SLOTS_LOG2},
		{"nc_attempts", node->attempts, sizeof(*node->attempts) << NC_REQUEST_SLOTS_LOG2},
		{"nc_fdb", node->fdb, sizeof(*node->fdb) << NC_FDB_SLOTS_LOG2},
		{"nc_port_roles", node->port_roles,
		 NC_DEFAULT_PORT_ENTRIES * sizeof(*node->port_roles)},
		{"nc_clone_tokens", &node->clone_tokens, sizeof(node->clone_tokens)},
		{"nc_server_cfg", &node->server_cfg, sizeof(node->server_cfg)},
		{"nc_inflight", node->inflight, sizeof(*node->inflight) << NC_INFLIGHT_SLOTS_LOG2},
		{"nc_slices", &node->slices, sizeof(node->slices)},
		{"nc_app_state", &node->app_queue_length, sizeof(node->app_queue_length)},
		{"nc_reserve", &node->reserve, sizeof(node->reserve)},
		{"nc_client_cfg", &node->client_cfg, sizeof(node->client_cfg)},
		{"nc_answered", node->answered, sizeof(*node->answered) << NC_ANSWERED_SLOTS_LOG2},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (strcmp(name, tables[i].name) == 0 && tables[i].at) {
			*size = tables[i].size;
			return tables[i].at;
		}
	return NULL;
}

void nc_native_seed(struct nc_env *node, uint64_t seed)
{
	node->random = seed;
}
