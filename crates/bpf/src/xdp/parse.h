/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * From a frame to the tuple that it is for.
 *
 * Not a validator of all that RFCs ask for: no checksum, address or flag is looked at, the stack does
 * that. What is checked is what a wrong tuple could come from: versions, lengths, fragments.
 * A parser here returns REASON_TUPLE or REASON_ICMP_QUOTE with *tuple complete, or the reason to pass.
 *
 * Invariant: no byte outside the frame, and none outside the length that the IP header states (bytes
 * behind it are Ethernet padding), decides anything.
 */
#ifndef TIDEGATE_XDP_PARSE_H
#define TIDEGATE_XDP_PARSE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

#define VLAN_TAGS_MAX 2

#define IPV4_MORE_FRAGMENTS 0x2000
#define IPV4_FRAGMENT_OFFSET 0x1fff

/* IPv6 extension headers, RFC 8200 4.1 and the IANA registry of them. */
#define NEXT_HOP_BY_HOP 0
#define NEXT_ROUTING 43
#define NEXT_FRAGMENT 44
#define NEXT_ESP 50
#define NEXT_AH 51
#define NEXT_DESTINATION 60
#define NEXT_MOBILITY 135
#define NEXT_HIP 139
#define NEXT_SHIM6 140

/* ICMP errors, which quote the datagram that they are about: RFC 792, RFC 4443 2.1. <linux/icmp.h>
 * would bring the C library's headers of another machine in. */
#define ICMP_UNREACHABLE 3
#define ICMP_TIME_EXCEEDED 11
#define ICMP_PARAMETER_PROBLEM 12
#define ICMPV6_UNREACHABLE 1
#define ICMPV6_PACKET_TOO_BIG 2
#define ICMPV6_TIME_EXCEEDED 3
#define ICMPV6_PARAMETER_PROBLEM 4

struct icmp {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest;
};

struct vlan_tag {
	__be16 control;
	__be16 ethertype;
};

struct ports {
	__be16 source;
	__be16 destination;
};

/* What is left of the frame. */
struct cursor {
	void *at;
	void *end;
};

/* The next `len` bytes, or NULL where the frame ends within them. */
static __always_inline void *take(struct cursor *frame, __u32 len)
{
	void *header = frame->at;

	if (header + len > frame->end)
		return NULL;
	frame->at = header + len;
	return header;
}

static __always_inline void set_ipv4(struct tuple *tuple, __be32 address)
{
	tuple->address[0] = 0;
	tuple->address[1] = 0;
	tuple->address[2] = bpf_htonl(0xffff);
	tuple->address[3] = address;
	tuple->ip_version = 4;
}

static __always_inline void set_ipv6(struct tuple *tuple, const struct in6_addr *address)
{
	tuple->address[0] = address->in6_u.u6_addr32[0];
	tuple->address[1] = address->in6_u.u6_addr32[1];
	tuple->address[2] = address->in6_u.u6_addr32[2];
	tuple->address[3] = address->in6_u.u6_addr32[3];
	tuple->ip_version = 6;
}

static __always_inline void set_transport(struct tuple *tuple, __u8 protocol, __be16 port)
{
	tuple->protocol = protocol;
	tuple->port = port;
}

/* RFC 9293 3.1; `len` bytes of the datagram are left. */
static __always_inline enum reason parse_tcp(struct cursor *frame, __u32 len, struct tuple *tuple)
{
	struct tcphdr *tcp = take(frame, sizeof(*tcp));

	if (!tcp || tcp->doff * 4 < sizeof(*tcp) || tcp->doff * 4 > len)
		return REASON_MALFORMED_TCP;
	set_transport(tuple, IPPROTO_TCP, tcp->dest);
	return REASON_TUPLE;
}

/* RFC 768; a length of 0 (a jumbogram, RFC 2675) cannot come without a hop-by-hop header. */
static __always_inline enum reason parse_udp(struct cursor *frame, __u32 len, struct tuple *tuple)
{
	struct udphdr *udp = take(frame, sizeof(*udp));

	if (!udp || bpf_ntohs(udp->len) < sizeof(*udp) || bpf_ntohs(udp->len) > len)
		return REASON_MALFORMED_UDP;
	set_transport(tuple, IPPROTO_UDP, udp->dest);
	return REASON_TUPLE;
}

/* The sender's end of a quoted datagram: RFC 792 and RFC 4443 2.4 quote at least the ports. */
static __always_inline enum reason parse_quoted_ports(struct cursor *frame, __u8 protocol, __u32 len,
						      struct tuple *tuple)
{
	struct ports *ports;

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return REASON_ICMP_UNRELATED;
	ports = take(frame, sizeof(*ports));
	if (!ports || len < sizeof(*ports))
		return REASON_MALFORMED_ICMP;
	set_transport(tuple, protocol, ports->source);
	return REASON_ICMP_QUOTE;
}

static __always_inline enum reason parse_quoted_ipv4(struct cursor *frame, __u32 len, struct tuple *tuple)
{
	struct iphdr *ip = take(frame, sizeof(*ip));
	__u32 header_len;

	if (!ip || len < sizeof(*ip) || ip->version != 4)
		return REASON_MALFORMED_ICMP;
	header_len = ip->ihl * 4;
	if (header_len < sizeof(*ip) || header_len > len)
		return REASON_MALFORMED_ICMP;
	if (ip->frag_off & bpf_htons(IPV4_FRAGMENT_OFFSET))
		return REASON_ICMP_UNRELATED;
	set_ipv4(tuple, ip->saddr);
	frame->at = (void *)ip + header_len;
	return parse_quoted_ports(frame, ip->protocol, len - header_len, tuple);
}

static __always_inline enum reason parse_quoted_ipv6(struct cursor *frame, __u32 len, struct tuple *tuple)
{
	struct ipv6hdr *ip = take(frame, sizeof(*ip));

	if (!ip || len < sizeof(*ip) || ip->version != 6)
		return REASON_MALFORMED_ICMP;
	set_ipv6(tuple, &ip->saddr);
	return parse_quoted_ports(frame, ip->nexthdr, len - sizeof(*ip), tuple);
}

static __always_inline enum reason parse_icmp(struct cursor *frame, __u32 len, struct tuple *tuple)
{
	struct icmp *icmp = take(frame, sizeof(*icmp));

	if (!icmp || len < sizeof(*icmp))
		return REASON_MALFORMED_ICMP;
	switch (icmp->type) {
	case ICMP_UNREACHABLE:
	case ICMP_TIME_EXCEEDED:
	case ICMP_PARAMETER_PROBLEM:
		return parse_quoted_ipv4(frame, len - sizeof(*icmp), tuple);
	default:
		return REASON_ICMP_UNRELATED;
	}
}

static __always_inline enum reason parse_icmpv6(struct cursor *frame, __u32 len, struct tuple *tuple)
{
	struct icmp *icmp = take(frame, sizeof(*icmp));

	if (!icmp || len < sizeof(*icmp))
		return REASON_MALFORMED_ICMP;
	switch (icmp->type) {
	case ICMPV6_UNREACHABLE:
	case ICMPV6_PACKET_TOO_BIG:
	case ICMPV6_TIME_EXCEEDED:
	case ICMPV6_PARAMETER_PROBLEM:
		return parse_quoted_ipv6(frame, len - sizeof(*icmp), tuple);
	default:
		return REASON_ICMP_UNRELATED;
	}
}

/* RFC 791 3.1. Options are stepped over: the stack reads them. */
static __always_inline enum reason parse_ipv4(struct cursor *frame, struct tuple *tuple)
{
	struct iphdr *ip = take(frame, sizeof(*ip));
	__u32 header_len, total_len, len;

	if (!ip || ip->version != 4)
		return REASON_MALFORMED_IPV4;
	header_len = ip->ihl * 4;
	total_len = bpf_ntohs(ip->tot_len);
	if (header_len < sizeof(*ip) || total_len < header_len || total_len > frame->end - (void *)ip)
		return REASON_MALFORMED_IPV4;
	if (ip->frag_off & bpf_htons(IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET))
		return REASON_FRAGMENT;

	set_ipv4(tuple, ip->daddr);
	frame->at = (void *)ip + header_len;
	len = total_len - header_len;
	switch (ip->protocol) {
	case IPPROTO_TCP:
		return parse_tcp(frame, len, tuple);
	case IPPROTO_UDP:
		return parse_udp(frame, len, tuple);
	case IPPROTO_ICMP:
		return parse_icmp(frame, len, tuple);
	default:
		return REASON_OTHER_PROTOCOL;
	}
}

/* Whether it is one other than a fragment's. */
static __always_inline int is_ipv6_extension(__u8 next_header)
{
	switch (next_header) {
	case NEXT_HOP_BY_HOP:
	case NEXT_ROUTING:
	case NEXT_ESP:
	case NEXT_AH:
	case NEXT_DESTINATION:
	case NEXT_MOBILITY:
	case NEXT_HIP:
	case NEXT_SHIM6:
		return 1;
	default:
		return 0;
	}
}

/* RFC 8200 3. Frames with extension headers are left to the host. */
static __always_inline enum reason parse_ipv6(struct cursor *frame, struct tuple *tuple)
{
	struct ipv6hdr *ip = take(frame, sizeof(*ip));
	__u32 len;

	if (!ip || ip->version != 6)
		return REASON_MALFORMED_IPV6;
	len = bpf_ntohs(ip->payload_len);
	if (len > frame->end - frame->at)
		return REASON_MALFORMED_IPV6;

	set_ipv6(tuple, &ip->daddr);
	switch (ip->nexthdr) {
	case IPPROTO_TCP:
		return parse_tcp(frame, len, tuple);
	case IPPROTO_UDP:
		return parse_udp(frame, len, tuple);
	case IPPROTO_ICMPV6:
		return parse_icmpv6(frame, len, tuple);
	case NEXT_FRAGMENT:
		return REASON_FRAGMENT;
	default:
		return is_ipv6_extension(ip->nexthdr) ? REASON_IPV6_EXTENSION : REASON_OTHER_PROTOCOL;
	}
}

static __always_inline int is_vlan(__be16 ethertype)
{
	return ethertype == bpf_htons(ETH_P_8021Q) || ethertype == bpf_htons(ETH_P_8021AD);
}

/* IEEE 802.1Q: up to two tags (QinQ) before the type of what follows. */
static __always_inline enum reason parse_ethernet(struct cursor *frame, struct tuple *tuple)
{
	struct ethhdr *ethernet = take(frame, sizeof(*ethernet));
	struct vlan_tag *tag;
	__be16 ethertype;

	if (!ethernet)
		return REASON_MALFORMED_ETHERNET;
	ethertype = ethernet->h_proto;
#pragma unroll
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		if (!is_vlan(ethertype))
			break;
		tag = take(frame, sizeof(*tag));
		if (!tag)
			return REASON_MALFORMED_ETHERNET;
		ethertype = tag->ethertype;
	}
	if (ethertype == bpf_htons(ETH_P_IP))
		return parse_ipv4(frame, tuple);
	if (ethertype == bpf_htons(ETH_P_IPV6))
		return parse_ipv6(frame, tuple);
	return REASON_NOT_IP;
}

#endif
