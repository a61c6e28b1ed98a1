/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a stack may send: its own datagrams, whole, plain and from the NIC's address, and nothing else.
 *
 * Stricter than parse.h, which leaves to the host what it does not know: what is not known here is dropped.
 * crates/wire/src/egress.rs states the same rules in the same order; a test compares the two over any frames.
 * Not looked at: checksums, flags, sequence numbers, destinations behind the link. What is wrong in them
 * harms the stack's own flows only.
 */
#ifndef TIDEGATE_XDP_EGRESS_H
#define TIDEGATE_XDP_EGRESS_H

#include "maps.h"
#include "parse.h"
#include "steer.h"

/* RFC 9293 3.1; `len` bytes of the datagram are left. */
static __always_inline enum egress check_tcp(struct cursor *frame, __u32 len, struct tuple *source)
{
	struct tcphdr *tcp = take(frame, sizeof(*tcp));

	if (!tcp || tcp->doff * 4 < sizeof(*tcp) || tcp->doff * 4 > len)
		return EGRESS_MALFORMED_TCP;
	set_transport(source, IPPROTO_TCP, tcp->source);
	return EGRESS_SENT;
}

/* RFC 768; nothing may hide behind the datagram that the IP packet has room for. */
static __always_inline enum egress check_udp(struct cursor *frame, __u32 len, struct tuple *source)
{
	struct udphdr *udp = take(frame, sizeof(*udp));

	if (!udp || len < sizeof(*udp) || bpf_ntohs(udp->len) != len)
		return EGRESS_MALFORMED_UDP;
	set_transport(source, IPPROTO_UDP, udp->source);
	return EGRESS_SENT;
}

/* Whether a packet of `len` bytes is what the rest of the frame holds. Padding is what a frame of the least length
 * needs (IEEE 802.3 4A.2.3.2.4), and no place for anything else. */
static __always_inline int fills(const struct cursor *frame, const void *packet, __u32 len)
{
	__u32 room = frame->end - packet;

	return len == room || (len < room && room <= ETH_ZLEN - ETH_HLEN);
}

/* RFC 791 3.1. */
static __always_inline enum egress check_ipv4(struct cursor *frame, __u32 mtu, struct tuple *source)
{
	struct iphdr *ip = take(frame, sizeof(*ip));
	__u32 header_len, total_len, len;

	if (!ip || ip->version != 4)
		return EGRESS_MALFORMED_IPV4;
	header_len = ip->ihl * 4;
	total_len = bpf_ntohs(ip->tot_len);
	if (header_len < sizeof(*ip) || total_len < header_len || !fills(frame, ip, total_len))
		return EGRESS_MALFORMED_IPV4;
	if (total_len > mtu)
		return EGRESS_TOO_LONG;
	if (header_len > sizeof(*ip))
		return EGRESS_IPV4_OPTIONS;
	if (ip->frag_off & bpf_htons(IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET))
		return EGRESS_FRAGMENT;

	set_ipv4(source, ip->saddr);
	len = total_len - sizeof(*ip);
	switch (ip->protocol) {
	case IPPROTO_TCP:
		return check_tcp(frame, len, source);
	case IPPROTO_UDP:
		return check_udp(frame, len, source);
	case IPPROTO_ICMP:
		return EGRESS_ICMP;
	default:
		return EGRESS_OTHER_PROTOCOL;
	}
}

/* RFC 8200 3. */
static __always_inline enum egress check_ipv6(struct cursor *frame, __u32 mtu, struct tuple *source)
{
	struct ipv6hdr *ip = take(frame, sizeof(*ip));
	__u32 len;

	if (!ip || ip->version != 6)
		return EGRESS_MALFORMED_IPV6;
	len = bpf_ntohs(ip->payload_len);
	if (!fills(frame, ip, sizeof(*ip) + len))
		return EGRESS_MALFORMED_IPV6;
	if (sizeof(*ip) + len > mtu)
		return EGRESS_TOO_LONG;

	set_ipv6(source, &ip->saddr);
	switch (ip->nexthdr) {
	case IPPROTO_TCP:
		return check_tcp(frame, len, source);
	case IPPROTO_UDP:
		return check_udp(frame, len, source);
	case IPPROTO_ICMPV6:
		return EGRESS_ICMP;
	case NEXT_FRAGMENT:
		return EGRESS_FRAGMENT;
	default:
		return is_ipv6_extension(ip->nexthdr) ? EGRESS_IPV6_EXTENSION : EGRESS_OTHER_PROTOCOL;
	}
}

static __always_inline int is_same_mac(const __u8 *one, const __u8 *other)
{
	return __builtin_memcmp(one, other, ETH_ALEN) == 0;
}

/* One station that is neither the NIC (whose host would take what comes back for another's) nor nobody. */
static __always_inline int is_other_station(const __u8 *mac, const struct nic *out)
{
	static const __u8 nobody[ETH_ALEN] = {};

	return !(mac[0] & 1) && !is_same_mac(mac, nobody) && !is_same_mac(mac, out->mac);
}

/* A frame's form. EGRESS_SENT: nothing is wrong with it, and *source is complete. */
static __always_inline enum egress check_form(struct cursor *frame, const struct nic *out,
					      struct tuple *source)
{
	struct ethhdr *ethernet = take(frame, sizeof(*ethernet));

	if (!ethernet || !is_same_mac(ethernet->h_source, out->mac))
		return EGRESS_SOURCE_MAC;
	if (!is_other_station(ethernet->h_dest, out))
		return EGRESS_DESTINATION_MAC;
	if (is_vlan(ethernet->h_proto))
		return EGRESS_VLAN;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP))
		return check_ipv4(frame, out->mtu, source);
	if (ethernet->h_proto == bpf_htons(ETH_P_IPV6))
		return check_ipv6(frame, out->mtu, source);
	return EGRESS_NOT_IP;
}

static __always_inline int is_owned(const struct steering *found, __u32 slot)
{
	return found && found->verdict == VERDICT_DEVICE && found->slot == slot;
}

static __always_inline int is_unspecified(const struct tuple *tuple)
{
	return !tuple->address[0] && !tuple->address[1] && !tuple->address[3] &&
	       tuple->address[2] == (tuple->ip_version == 4 ? bpf_htonl(0xffff) : 0);
}

/* Who gets what is sent to a tuple, and nobody else, may send from it: the table of the demux says both. A
 * tuple for every address is found by the unspecified one, which is no address to send from. */
static __always_inline enum egress check_owner(struct tuple *source, __u32 slot)
{
	struct steering *found = bpf_map_lookup_elem(&tuples, source);
	struct address address = { .ip_version = source->ip_version };

	if (found && !is_unspecified(source))
		return is_owned(found, slot) ? EGRESS_SENT : EGRESS_NOT_OWNER;
	__builtin_memcpy(address.address, source->address, sizeof(address.address));
	forget_address(source);
	found = bpf_map_lookup_elem(&tuples, source);
	if (!is_owned(found, slot))
		return EGRESS_NOT_OWNER;
	return bpf_map_lookup_elem(&addresses, &address) ? EGRESS_SENT : EGRESS_FOREIGN_ADDRESS;
}

/* The generic cell rate algorithm (ITU-T I.371 A.1): a bucket that is full at `full_at` lacks what it fills
 * with until then. */
static __always_inline enum egress check_rate(__u32 slot, __u32 len)
{
	struct pace *pace = bpf_map_lookup_elem(&paces, &slot);
	__u64 now;

	if (!pace)
		return EGRESS_OVER_RATE;
	if (!pace->byte_cost)
		return EGRESS_SENT;
	now = bpf_ktime_get_ns() << 4;
	if (pace->full_at > now + pace->burst)
		return EGRESS_OVER_RATE;
	if (pace->full_at < now)
		pace->full_at = now;
	pace->full_at += (pace->byte_cost * len) >> 16;
	return EGRESS_SENT;
}

static __always_inline enum egress check_egress(struct cursor *frame, const struct nic *out, __u32 slot)
{
	__u32 len = frame->end - frame->at;
	struct tuple source;
	enum egress outcome;

	outcome = check_form(frame, out, &source);
	if (outcome != EGRESS_SENT)
		return outcome;
	outcome = check_owner(&source, slot);
	if (outcome != EGRESS_SENT)
		return outcome;
	return check_rate(slot, len);
}

static __always_inline void count_egress(__u32 slot, enum egress outcome, __u32 len)
{
	struct stack_counters *stack = bpf_map_lookup_elem(&stacks, &slot);

	if (!stack || outcome >= EGRESS_COUNT)
		return;
	stack->from_frames[outcome] += 1;
	if (outcome == EGRESS_SENT)
		stack->from_bytes += len;
}

#endif
