/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The data plane as an ordinary library: a node is one switch, one server or one client
 * with tables and a clock of its own. The same text as the kernel's programs, from
 * include/netclone. Code that needs no frames (a simulator) includes those headers and
 * calls the decisions on a struct nc_env of its own. */
#ifndef NETCLONE_NATIVE_H
#define NETCLONE_NATIVE_H

#include <stddef.h>
#include <stdint.h>

struct nc_env; /* a node */
struct nc_switch_config;
struct nc_server_config;
struct nc_client_config;

enum {
	NC_NATIVE_MAX_FRAME = 16384, /* bytes; longer frames are refused */
	NC_NATIVE_MAX_OUT = 2,	     /* a frame leaves at most twice */
	/* A node's own stack. By it a host's frames come in that leave it, and those go out
	 * that are for it; a switch passes it what it does not touch. */
	NC_NATIVE_STACK = 0,
	NC_NATIVE_WIRE = 1, /* a host's other port */
};

struct nc_native_out {
	uint32_t port;
	uint32_t length; /* bytes of frame */
	uint8_t frame[NC_NATIVE_MAX_FRAME];
};

/* Each copies the configuration and returns a node with empty tables, or NULL when there
 * is no memory. */
struct nc_env *nc_native_switch(const struct nc_switch_config *cfg);
struct nc_env *nc_native_server(const struct nc_server_config *cfg);
struct nc_env *nc_native_client(const struct nc_client_config *cfg);
void nc_native_free(struct nc_env *node);

/* A frame comes in by `port` at time now_ns. `partial`: its L4 checksum is marked as the
 * pseudo header's only (a host's egress asks; elsewhere it is recognised by value).
 * Fills out[] and returns how many frames leave; -1 for a frame that is too long. */
int nc_native_feed(struct nc_env *node, uint32_t port, const uint8_t *frame, size_t length,
		   uint64_t now_ns, int partial, struct nc_native_out out[NC_NATIVE_MAX_OUT]);

/* The devmap program alone, on *out: a frame that the switch sends out of its port. Returns
 * whether it leaves. */
int nc_native_leave(struct nc_env *node, struct nc_native_out *out);

/* A table by its name in tables.h ("nc_groups", "nc_filter", "nc_counters", ...): its bytes,
 * to read and to write, and their number; NULL for one that the node does not have. */
void *nc_native_table(struct nc_env *node, const char *name, size_t *size);

/* Where the node's random numbers start. */
void nc_native_seed(struct nc_env *node, uint64_t seed);

#endif
