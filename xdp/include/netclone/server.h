/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The server's side (section 3.4, "State tracking"): which clones are dropped, and which
 * state a response carries. */
#ifndef NETCLONE_SERVER_H
#define NETCLONE_SERVER_H

#include "busy.h"
#include "checksum.h"
#include "extensions/reserve.h"
#include "fragment.h"
#include "host.h"
#include "inflight.h"
#include "parse.h"
#include "segments.h"

/* Requests that wait: those in flight beyond the workers, or what the application says. */
NC_INLINE nc_u32 nc_requests_waiting(struct nc_env *env, const struct nc_server_config *cfg,
				     nc_u32 slice)
{
	if (cfg->state_source == NC_STATE_APP)
		return nc_app_queue_length(env);
	return nc_queue_length(nc_inflight_total(env, cfg, slice), cfg->workers);
}

/* Requests that the server holds, waiting or in work. With the reserve rule, that is what the
 * application says. */
NC_INLINE nc_u32 nc_requests_held(struct nc_env *env, const struct nc_server_config *cfg,
				  nc_u32 slice)
{
	if (cfg->state_source == NC_STATE_APP)
		return nc_app_queue_length(env);
	return nc_inflight_total(env, cfg, slice);
}

/* Whether a clone that arrives now is dropped. */
NC_INLINE int nc_refuses_clone(struct nc_env *env, const struct nc_server_config *cfg,
			       const struct nc_header *clone, nc_u32 slice)
{
	if (nc_unlikely(cfg->flags & NC_HOST_RESERVE)) {
		nc_u32 dither = nc_ntohl(clone->req_id);
		nc_u32 held = nc_requests_held(env, cfg, slice);

		return nc_reserve_refuses(nc_reserve_of(env), cfg->workers, held, dither);
	}
	return nc_is_dropped(NC_CLO_CLONE, nc_requests_waiting(env, cfg, slice));
}

/* The averages of the reserve rule, when a request is admitted. */
NC_INLINE void nc_note_admitted(struct nc_env *env, const struct nc_server_config *cfg, int clone,
				nc_u32 slice)
{
	struct nc_reserve *r = nc_reserve_of(env);
	nc_u32 held;

	if (!r)
		return;
	nc_note_share(r, clone);
	if (clone)
		return;
	held = nc_requests_held(env, cfg, slice);
	nc_note_busy(r, cfg->workers, held);
}

/* STATE of a response. */
NC_INLINE nc_u32 nc_server_state(struct nc_env *env, const struct nc_server_config *cfg,
				 const struct nc_header *response, nc_u32 slice)
{
	if (nc_unlikely(cfg->flags & NC_HOST_RESERVE)) {
		nc_u32 held = nc_requests_held(env, cfg, slice);

		return nc_reserve_state(nc_reserve_of(env), cfg->workers, held,
					nc_ntohl(response->req_id));
	}
	return nc_requests_waiting(env, cfg, slice);
}

/* A request arrives. key: its identity (nc_inflight_key), slice: nc_slice_now.
 * Only a clone is ever dropped. A later packet of a multi-packet clone is treated
 * as its message was. */
NC_INLINE enum nc_counter nc_server_request(struct nc_env *env, const struct nc_server_config *cfg,
					    const struct nc_header *h, nc_u64 key, nc_u32 slice)
{
	int clone = h->clo == NC_CLO_CLONE;

	if (nc_unlikely(clone && nc_is_multi_packet(h) && h->pkt_index > 0)) {
		if (!nc_inflight_has(env, cfg, key, slice))
			return NC_CTR_dropped_server_busy;
	} else if (clone && nc_refuses_clone(env, cfg, h, slice)) {
		return NC_CTR_dropped_server_busy;
	}
	if (nc_unlikely(cfg->flags & NC_HOST_RESERVE))
		nc_note_admitted(env, cfg, clone, slice);
	nc_inflight_admit(env, cfg, key, slice);
	return clone ? NC_CTR_clone_admitted : NC_CTR_request_admitted;
}

/* A response leaves: what its header becomes. */
NC_INLINE void nc_server_response(struct nc_env *env, const struct nc_server_config *cfg,
				  struct nc_header *h, nc_u64 key, nc_u32 slice)
{
	nc_inflight_finish(env, cfg, key, slice);
	h->sid = nc_htonl(cfg->sid);
	h->state = nc_htonl(nc_server_state(env, cfg, h, slice));
	/* Ordered filter tables (section 3.7): both servers give packet k the same table. */
	if (nc_unlikely(nc_is_multi_packet(h)) && cfg->n_filter_tables)
		h->idx = h->pkt_index % cfg->n_filter_tables;
}

/* An IPv6 address in 32 bits. A macro: fields of a packed structure have no alignment. */
#define nc_word_of(ip6) ((ip6)[0] ^ (ip6)[1] ^ (ip6)[2] ^ (ip6)[3])

/* A server does not know how many groups there are. */
NC_INLINE struct nc_ranges nc_server_ranges(const struct nc_server_config *cfg)
{
	return (struct nc_ranges){
		.n_groups = NC_MAX_GROUPS,
		.n_filter_tables = cfg->n_filter_tables,
	};
}

/* Identity of the request that a packet is, or answers. */
NC_INLINE nc_u64 nc_key_of_request(const struct nc_packet *p)
{
	const struct nc_ip6 *ip6 = nc_ip6_of(p);

	return nc_inflight_key(p->nc, ip6 ? nc_word_of(ip6->src) : nc_ip4_of(p)->src, p->src_port);
}

/* The client's address, in 32 bits. */
NC_INLINE nc_be32 nc_client_word(const struct nc_packet *response)
{
	const struct nc_ip6 *ip6 = nc_ip6_of(response);

	return ip6 ? nc_word_of(ip6->dst) : nc_ip4_of(response)->dst;
}

NC_INLINE nc_u64 nc_key_of_response(const struct nc_packet *p)
{
	return nc_inflight_key(p->nc, nc_client_word(p), p->dst_port);
}

/* A frame arrives. dropped_server_busy, dropped_from_server_port: drop it; else the server gets it,
 * unmodified. A response for the application would be answered, and two servers never stop. */
NC_INLINE enum nc_counter nc_server_ingress(struct nc_env *env, const struct nc_server_config *cfg,
					    const struct nc_frame *frame)
{
	const struct nc_ranges ranges = nc_server_ranges(cfg);
	struct nc_packet p = {};
	enum nc_counter reason = nc_parse(frame, &cfg->ports, &ranges, &p);

	if (reason != NC_PARSED)
		return reason;
	if (nc_unlikely(!nc_is_for(&cfg->host, &p)))
		return NC_CTR_not_for_host;
	if (nc_unlikely(p.nc->type != NC_TYPE_REQ))
		return nc_is_port(&cfg->ports, p.dst_port) ? NC_CTR_dropped_from_server_port
							   : NC_CTR_other_direction;
	return nc_server_request(env, cfg, p.nc, nc_key_of_request(&p), nc_slice_now(env, cfg));
}

/* A fragment leaves. If it is the first one of a response, its request is no longer in flight. It
 * is not stamped: who puts the fragments together would find another checksum. */
NC_INLINE enum nc_counter nc_server_fragment(struct nc_env *env, const struct nc_server_config *cfg,
					     const struct nc_frame *frame)
{
	const struct nc_ranges ranges = nc_server_ranges(cfg);
	struct nc_packet p = {};

	if (nc_parse_first_fragment(frame, &cfg->ports, &ranges, &p) != NC_PARSED ||
	    p.nc->type != NC_TYPE_RESP)
		return NC_CTR_fragment;
	nc_inflight_finish(env, cfg, nc_key_of_response(&p), nc_slice_now(env, cfg));
	return NC_CTR_response_fragmented;
}

/* One of several segments that leave in one buffer, to a client whose address comes to `client`
 * (nc_client_word). */
NC_INLINE enum nc_counter nc_server_segment(struct nc_env *env, const struct nc_server_config *cfg,
					    const struct nc_packet *all, struct nc_header *h,
					    nc_u32 client)
{
	const struct nc_ranges ranges = nc_server_ranges(cfg);
	enum nc_counter reason = nc_check_segment(all, h, &cfg->ports, &ranges);

	if (reason != NC_PARSED)
		return reason;
	if (h->type != NC_TYPE_RESP)
		return NC_CTR_other_direction;
	nc_server_response(env, cfg, h, nc_inflight_key(h, client, all->dst_port),
			   nc_slice_now(env, cfg));
	return NC_CTR_response_stamped;
}

/* A frame leaves. response_stamped: its checksum is the caller's to update. */
NC_INLINE enum nc_counter nc_server_egress(struct nc_env *env, const struct nc_server_config *cfg,
					   const struct nc_frame *frame, struct nc_egress *out)
{
	const struct nc_ranges ranges = nc_server_ranges(cfg);
	struct nc_packet *p = &out->packet;
	enum nc_counter reason = nc_parse(frame, &cfg->ports, &ranges, p);
	struct nc_header old;

	if (nc_unlikely(reason == NC_CTR_fragment))
		return nc_server_fragment(env, cfg, frame);
	if (reason != NC_PARSED)
		return reason;
	if (p->nc->type != NC_TYPE_RESP)
		return NC_CTR_other_direction;
	old = *p->nc;
	nc_server_response(env, cfg, p->nc, nc_key_of_response(p), nc_slice_now(env, cfg));
	out->diff = nc_header_diff(&old, p->nc);
	return NC_CTR_response_stamped;
}

#endif
