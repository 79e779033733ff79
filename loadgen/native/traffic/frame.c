/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "frame.h"

#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <string.h>

#define TTL 64

struct frame4 {
	struct ether_header eth;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

struct frame6 {
	struct ether_header eth;
	struct ip6_hdr ip;
	struct udphdr udp;
} __attribute__((packed));

_Static_assert(sizeof(struct frame4) == LG_FRAME_HEADERS_IP4, "IPv4 headers");
_Static_assert(sizeof(struct frame6) == LG_FRAME_HEADERS_IP6, "IPv6 headers");
_Static_assert(LG_FRAME_HEADERS_IP6 <= LG_FRAME_ROOM, "headers fit in front of the payload");

/* The Internet checksum's sum may be formed in words of any width, and folded at the end. */
static uint16_t fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* Sum of `len` bytes that begin at an even place of the packet. */
static uint64_t add_bytes(uint64_t sum, const void *data, uint32_t len)
{
	const uint8_t *p = data;
	uint64_t word = 0;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		sum += (word & 0xffffffff) + (word >> 32);
	}
	if (len) {
		word = 0;
		memcpy(&word, p, len);
		sum += (word & 0xffffffff) + (word >> 32);
	}
	return sum;
}

void lg_frame_source_init(struct lg_frame_source *source, const struct lg_peer *local)
{
	memset(source, 0, sizeof(*source));
	if (local->sa.sa_family == AF_INET6) {
		struct frame6 *f = (struct frame6 *)source->header;

		source->headers = sizeof(*f);
		memcpy(f->eth.ether_shost, local->mac, ETH_ALEN);
		f->eth.ether_type = htons(ETHERTYPE_IPV6);
		f->ip.ip6_flow = htonl(6u << 28);
		f->ip.ip6_nxt = IPPROTO_UDP;
		f->ip.ip6_hlim = TTL;
		f->ip.ip6_src = local->in6.sin6_addr;
		f->udp.source = local->in6.sin6_port;
		source->pseudo_sum = fold(
			add_bytes(htons(IPPROTO_UDP) + f->udp.source, &local->in6.sin6_addr, 16));
	} else {
		struct frame4 *f = (struct frame4 *)source->header;

		source->headers = sizeof(*f);
		memcpy(f->eth.ether_shost, local->mac, ETH_ALEN);
		f->eth.ether_type = htons(ETHERTYPE_IP);
		f->ip.version = 4;
		f->ip.ihl = 5;
		f->ip.frag_off = htons(IP_DF);
		f->ip.ttl = TTL;
		f->ip.protocol = IPPROTO_UDP;
		f->ip.saddr = local->in4.sin_addr.s_addr;
		f->udp.source = local->in4.sin_port;
		source->ip_sum = fold(
			add_bytes(0, source->header + offsetof(struct frame4, ip), sizeof(f->ip)));
		source->pseudo_sum = fold(
			add_bytes(htons(IPPROTO_UDP) + f->udp.source, &local->in4.sin_addr, 4));
	}
}

/* UDP's checksum over pseudo header, header and payload, from the sum of both addresses, both
 * ports and the protocol; 0 is sent as 0xffff. */
static void finish_udp(uint16_t to_port, uint64_t sum, uint8_t *payload, uint32_t len)
{
	struct udphdr *udp = (struct udphdr *)(payload - sizeof(*udp));
	uint16_t udp_len = htons((uint16_t)(sizeof(*udp) + len)), check;

	/* The length counts twice, in the pseudo header and in the header. */
	check = (uint16_t)~fold(add_bytes(sum + 2u * udp_len, payload, len));
	udp->dest = to_port;
	udp->len = udp_len;
	udp->check = check ? check : 0xffff;
}

void lg_frame_write(const struct lg_frame_source *source, const struct lg_peer *to,
		    uint8_t *payload, uint32_t len)
{
	if (source->headers == LG_FRAME_HEADERS_IP6) {
		struct frame6 *f = (struct frame6 *)(payload - sizeof(*f));

		memcpy(f, source->header, sizeof(*f));
		memcpy(f->eth.ether_dhost, to->mac, ETH_ALEN);
		f->ip.ip6_plen = htons((uint16_t)(sizeof(f->udp) + len));
		f->ip.ip6_dst = to->in6.sin6_addr;
		finish_udp(
			to->in6.sin6_port,
			add_bytes(source->pseudo_sum + to->in6.sin6_port, &to->in6.sin6_addr, 16),
			payload, len);
	} else {
		struct frame4 *f = (struct frame4 *)(payload - sizeof(*f));
		uint32_t to_ip = to->in4.sin_addr.s_addr;
		uint16_t ip_len = htons((uint16_t)(sizeof(f->ip) + sizeof(f->udp) + len));

		memcpy(f, source->header, sizeof(*f));
		memcpy(f->eth.ether_dhost, to->mac, ETH_ALEN);
		f->ip.tot_len = ip_len;
		f->ip.daddr = to_ip;
		f->ip.check = (uint16_t)~fold((uint64_t)source->ip_sum + ip_len + to_ip);
		finish_udp(to->in4.sin_port,
			   (uint64_t)source->pseudo_sum + to->in4.sin_port + to_ip, payload, len);
	}
}

static uint8_t *read_udp(uint8_t *at, const uint8_t *end, uint16_t port, uint32_t *len,
			 uint16_t *from_port)
{
	struct udphdr *udp = (struct udphdr *)at;
	uint32_t udp_len;

	if (at + sizeof(*udp) > end || udp->dest != port)
		return NULL;
	udp_len = ntohs(udp->len);
	if (udp_len < sizeof(*udp) || at + udp_len > end)
		return NULL;
	*len = udp_len - (uint32_t)sizeof(*udp);
	*from_port = udp->source;
	return at + sizeof(*udp);
}

uint8_t *lg_frame_read(uint8_t *frame, uint32_t frame_len, uint16_t port, uint32_t *len,
		       struct lg_peer *from)
{
	struct ether_header *eth = (struct ether_header *)frame;
	uint8_t *at = frame + sizeof(*eth), *end = frame + frame_len;

	if (at > end)
		return NULL;
	memcpy(from->mac, eth->ether_shost, ETH_ALEN);
	if (eth->ether_type == htons(ETHERTYPE_IP)) {
		struct iphdr *ip = (struct iphdr *)at;

		if (at + sizeof(*ip) > end || ip->ihl < 5 || ip->protocol != IPPROTO_UDP)
			return NULL;
		from->in4.sin_family = AF_INET;
		from->in4.sin_addr.s_addr = ip->saddr;
		return read_udp(at + ip->ihl * 4, end, port, len, &from->in4.sin_port);
	}
	if (eth->ether_type == htons(ETHERTYPE_IPV6)) {
		struct ip6_hdr *ip = (struct ip6_hdr *)at;

		if (at + sizeof(*ip) > end || ip->ip6_nxt != IPPROTO_UDP)
			return NULL;
		memset(&from->in6, 0, sizeof(from->in6));
		from->in6.sin6_family = AF_INET6;
		from->in6.sin6_addr = ip->ip6_src;
		return read_udp(at + sizeof(*ip), end, port, len, &from->in6.sin6_port);
	}
	return NULL;
}
