/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of the structs that the bindings in loadgen/native mirror; traffic_library.py refuses a
 * library that differs. */
#include "client.h"
#include "coordinator.h"
#include "io_xdp.h"
#include "plain_client.h"
#include "virtual_servers.h"
#include "store.h"
#include "worker_threads.h"

size_t lg_abi_size(unsigned int which)
{
	switch (which) {
	case 0:
		return sizeof(struct lg_peer);
	case 1:
		return sizeof(struct lg_mix);
	case 2:
		return sizeof(struct lg_client_config);
	case 3:
		return sizeof(struct lg_client_result);
	case 4:
		return sizeof(struct lg_server_node);
	case 5:
		return sizeof(struct lg_server_config);
	case 6:
		return sizeof(struct lg_trace_entry);
	case 7:
		return sizeof(struct lg_coordinator_server);
	case 8:
		return sizeof(struct lg_coordinator_config);
	case 9:
		return sizeof(struct lg_xdp_options);
	case 10:
		return sizeof(struct lg_plain_result);
	case 11:
		return sizeof(struct lg_worker_config);
	case 12:
		return sizeof(struct lg_store_config);
	default:
		return 0;
	}
}
