/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "frame.h"

#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <string.h>

#define TTL 64

static uint32_t add_bytes(uint32_t sum, const void *data, uint32_t len)
{
	const uint8_t *p = data;
	uint64_t wide = 0;

	for (; len >= 4; p += 4, len -= 4) {
		uint32_t word;

		memcpy(&word, p, 4);
		wide += word;
	}
	if (len >= 2) {
		uint16_t half;

		memcpy(&half, p, 2);
		wide += half;
		p += 2;
		len -= 2;
	}
	if (len)
		wide += htons((uint16_t)(*p << 8));
	wide += sum;
	wide = (wide & 0xffffffff) + (wide >> 32);
	return (uint32_t)((wide & 0xffffffff) + (wide >> 32));
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* UDP's checksum over pseudo header, header and payload; 0 is sent as 0xffff. */
static void fill_udp(struct udphdr *udp, uint32_t address_sum, uint16_t from, uint16_t to,
		     uint32_t len)
{
	uint32_t udp_len = len + sizeof(*udp), sum;
	uint16_t check;

	udp->source = from;
	udp->dest = to;
	udp->len = htons((uint16_t)udp_len);
	udp->check = 0;
	/* 16-bit words of the sum may be added in any position of a 32-bit one. */
	sum = add_bytes(address_sum, udp, udp_len);
	sum = (sum & 0xffff) + (sum >> 16) + htons(IPPROTO_UDP) + udp->len;
	check = fold(sum);
	udp->check = check ? check : 0xffff;
}

static void write_ip4(const struct lg_peer *from, const struct lg_peer *to, uint8_t *payload,
		      uint32_t len)
{
	struct udphdr *udp = (struct udphdr *)(payload - sizeof(*udp));
	struct iphdr *ip = (struct iphdr *)((uint8_t *)udp - sizeof(*ip));

	memset(ip, 0, sizeof(*ip));
	ip->version = 4;
	ip->ihl = 5;
	ip->tot_len = htons((uint16_t)(sizeof(*ip) + sizeof(*udp) + len));
	ip->frag_off = htons(IP_DF);
	ip->ttl = TTL;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = from->in4.sin_addr.s_addr;
	ip->daddr = to->in4.sin_addr.s_addr;
	ip->check = fold(add_bytes(0, ip, sizeof(*ip)));
	fill_udp(udp, add_bytes(0, &ip->saddr, 8), from->in4.sin_port, to->in4.sin_port, len);
}

static void write_ip6(const struct lg_peer *from, const struct lg_peer *to, uint8_t *payload,
		      uint32_t len)
{
	struct udphdr *udp = (struct udphdr *)(payload - sizeof(*udp));
	struct ip6_hdr *ip = (struct ip6_hdr *)((uint8_t *)udp - sizeof(*ip));

	ip->ip6_flow = htonl(6u << 28);
	ip->ip6_plen = htons((uint16_t)(sizeof(*udp) + len));
	ip->ip6_nxt = IPPROTO_UDP;
	ip->ip6_hlim = TTL;
	ip->ip6_src = from->in6.sin6_addr;
	ip->ip6_dst = to->in6.sin6_addr;
	fill_udp(udp, add_bytes(0, &ip->ip6_src, 32), from->in6.sin6_port, to->in6.sin6_port, len);
}

void lg_frame_write(const struct lg_frame_source *source, const struct lg_peer *to,
		    uint8_t *payload, uint32_t len)
{
	const struct lg_peer *from = &source->local;
	bool ip6 = from->sa.sa_family == AF_INET6;
	struct ether_header *eth =
		(struct ether_header *)(payload - lg_frame_headers(from->sa.sa_family));

	memcpy(eth->ether_dhost, to->mac, ETH_ALEN);
	memcpy(eth->ether_shost, from->mac, ETH_ALEN);
	eth->ether_type = htons(ip6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	if (ip6)
		write_ip6(from, to, payload, len);
	else
		write_ip4(from, to, payload, len);
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
