/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * From a datagram for a service to its reply, in the frame that it came in: in XDP, and again at tc ingress for devices and
 * replies that XDP cannot serve.
 *
 *   headers -> workspace.head --checked--> payload -> workspace.payload --find--> record
 *   frame resized <- template, copies <- record, payload        head turned round, sums anew -> frame
 *
 * Invariant: up to the resize nothing of the frame is changed, so that whatever is not understood goes to the server as it came.
 * Behind it nothing can fail: every write is within the frame.
 */
#ifndef TIDEGATE_OFFLOAD_ANSWER_H
#define TIDEGATE_OFFLOAD_ANSWER_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>

#include "match.h"

/* Hops that a reply may take, as the host's own packets have. */
#define REPLY_TTL 64
#define IPV6_VERSION bpf_htonl(0x60000000)

/* What is known of a datagram that is looked at. */
struct exchange {
	__u32 l2_len;     /* with a tag, or without */
	__u32 ip_len;     /* of the IP header */
	__u32 payload_at; /* in the frame */
	__u32 frame_len;
	__u64 base_sum; /* of addresses, protocol and ports: the same both ways */
};

/* The helpers of either place; which one is known where this is compiled in. */
static __always_inline long load_bytes(void *ctx, enum offload_place place, __u32 at, void *to, __u32 len)
{
	return place == PLACE_XDP ? bpf_xdp_load_bytes(ctx, at, to, len) : bpf_skb_load_bytes(ctx, at, to, len);
}

static __always_inline void store_bytes(void *ctx, enum offload_place place, __u32 at, void *from, __u32 len)
{
	if (place == PLACE_XDP)
		bpf_xdp_store_bytes(ctx, at, from, len);
	else
		bpf_skb_store_bytes(ctx, at, from, len, BPF_F_RECOMPUTE_CSUM);
}

static __always_inline __u32 fold_sum(__u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (sum >> 16) + (sum & 0xffff);
}

/* The sum (RFC 1071) of a piece of the payload, which is counted as if it began at an even place. */
__noinline __u32 offload_sum(struct workspace *work, __u32 from, __u32 len)
{
	__u64 sum = 0, word;

	if (!work)
		return 0;
	for (__u32 i = 0; i < PATTERN_WORDS_MAX; i++, from += 8) {
		if (i * 8 + 8 > len)
			break;
		barrier_var(from);
		if (from > TABLE_REQUEST_LEN_MAX)
			return 0;
		word = load_word(work->payload + from);
		sum += (word >> 32) + (word & 0xffffffff);
	}
	from = forget(work, from);
	if (len & 7 && from <= TABLE_REQUEST_LEN_MAX) {
		word = load_word(work->payload + from) & first_bytes(len & 7);
		sum += (word >> 32) + (word & 0xffffffff);
	}
	return fold_sum(sum);
}

/* What such a sum counts for at `at`: bytes at odd places are the other half of their words. */
static __always_inline __u32 sum_at(__u32 sum, __u32 at)
{
	return at & 1 ? (sum & 0xff) << 8 | sum >> 8 : sum;
}

static __always_inline __u64 sum_words(const __u32 *words, __u32 count)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < count; i++)
		sum += words[i];
	return sum;
}

/* Nobody answers to these: "this network", loopback, multicast, reserved and broadcast (RFC 6890 2.2.2). */
static __always_inline int is_ipv4_peer(__be32 address)
{
	__u32 first = bpf_ntohl(address) >> 24;

	return first != 0 && first != 127 && first < 224;
}

/* Nor to these: unspecified, loopback and the IPv4-mapped ones, and multicast (RFC 4291 2.5, 2.7). */
static __always_inline int is_ipv6_peer(const __be32 *address)
{
	if ((bpf_ntohl(address[0]) >> 24) == 0xff)
		return 0;
	return address[0] || address[1] || (address[2] && address[2] != bpf_htonl(0xffff)) ||
	       (!address[2] && bpf_ntohl(address[3]) > 1);
}

static __always_inline int is_to_nic(const struct workspace *work, const struct offload *nic, __u32 l2_len)
{
	const __u8 *mac = work->head + NETWORK_AT - l2_len;

	return __builtin_memcmp(mac, nic->mac, ETH_ALEN) == 0;
}

/* RFC 791 3.1: 20 bytes of header, whole and intact; RFC 768: a datagram that fills the packet. */
static __always_inline enum offload_outcome check_ipv4_request(struct workspace *work, struct exchange *exchange)
{
	const struct iphdr *ip = (void *)(work->head + NETWORK_AT);
	const struct udphdr *udp = (void *)(ip + 1);

	if (ip->ihl != 5)
		return OFFLOAD_HEADERS;
	if (bpf_ntohs(udp->len) != bpf_ntohs(ip->tot_len) - sizeof(*ip))
		return OFFLOAD_LENGTH;
	if (!is_ipv4_peer(ip->saddr) || ip->saddr == ip->daddr || !udp->source)
		return OFFLOAD_ADDRESS;
	if (fold_sum(sum_words((const __u32 *)ip, 5)) != 0xffff)
		return OFFLOAD_CHECKSUM;
	exchange->base_sum = (__u64)ip->saddr + ip->daddr + *(const __u32 *)udp;
	return OFFLOAD_ANSWERED;
}

/* RFC 8200 3. */
static __always_inline enum offload_outcome check_ipv6_request(struct workspace *work, struct exchange *exchange)
{
	const struct ipv6hdr *ip = (void *)(work->head + NETWORK_AT);
	const struct udphdr *udp = (void *)(ip + 1);
	const __be32 *source = (const __be32 *)&ip->saddr, *destination = (const __be32 *)&ip->daddr;

	if (udp->len != ip->payload_len)
		return OFFLOAD_LENGTH;
	if (!is_ipv6_peer(source) || !udp->source ||
	    __builtin_memcmp(&ip->saddr, &ip->daddr, sizeof(ip->saddr)) == 0)
		return OFFLOAD_ADDRESS;
	exchange->base_sum = sum_words(source, 4) + sum_words(destination, 4) + *(const __u32 *)udp;
	return OFFLOAD_ANSWERED;
}

static __always_inline struct udphdr *udp_of(struct workspace *work, const struct exchange *exchange)
{
	return (void *)(work->head + NETWORK_AT + (exchange->ip_len == sizeof(struct iphdr) ? sizeof(struct iphdr) :
											    sizeof(struct ipv6hdr)));
}

/* Reads headers and payload; OFFLOAD_ANSWERED: they are such as can be answered. */
static __always_inline enum offload_outcome read_request(void *ctx, enum offload_place place, const struct offload *nic,
							 struct workspace *work, struct exchange *exchange)
{
	enum offload_outcome outcome;
	__u32 len;

	if (exchange->l2_len != ETH_HLEN && exchange->l2_len != ETH_HLEN + 4)
		return OFFLOAD_HEADERS;
	/* Once more, in a form that the verifier understands. */
	barrier_var(exchange->l2_len);
	if (exchange->l2_len > ETH_HLEN + 4)
		return OFFLOAD_HEADERS;
	if (exchange->ip_len == sizeof(struct iphdr)) {
		len = exchange->l2_len + sizeof(struct iphdr) + sizeof(struct udphdr);
		if (load_bytes(ctx, place, 0, work->head + NETWORK_AT - exchange->l2_len, len))
			return OFFLOAD_LENGTH;
		outcome = check_ipv4_request(work, exchange);
	} else {
		len = exchange->l2_len + sizeof(struct ipv6hdr) + sizeof(struct udphdr);
		if (load_bytes(ctx, place, 0, work->head + NETWORK_AT - exchange->l2_len, len))
			return OFFLOAD_LENGTH;
		outcome = check_ipv6_request(work, exchange);
	}
	if (outcome != OFFLOAD_ANSWERED)
		return outcome;
	if (!is_to_nic(work, nic, exchange->l2_len))
		return OFFLOAD_ADDRESS;
	exchange->base_sum += bpf_htons(IPPROTO_UDP);

	len = bpf_ntohs(udp_of(work, exchange)->len) - sizeof(struct udphdr);
	work->len = len;
	if (len > TABLE_REQUEST_LEN_MAX)
		return OFFLOAD_TOO_LONG;
	barrier_var(len);
	if (len && load_bytes(ctx, place, exchange->payload_at, work->payload, len))
		return OFFLOAD_LENGTH;
	*(__u64 *)(work->payload + len) = 0;
	return OFFLOAD_ANSWERED;
}

/* RFC 768: over IPv4 a datagram need not have one; RFC 8200 8.1: over IPv6 it must. */
static __always_inline int has_good_checksum(struct workspace *work, const struct exchange *exchange)
{
	struct udphdr *udp = udp_of(work, exchange);
	__u64 sum;

	if (!udp->check)
		return exchange->ip_len == sizeof(struct iphdr);
	sum = exchange->base_sum + 2 * (__u64)udp->len + udp->check + offload_sum(work, 0, work->len);
	return fold_sum(sum) == 0xffff;
}

/* Makes the frame `len` bytes long: at the tail where there is room, else at the head. */
static __always_inline long resize(void *ctx, enum offload_place place, __u32 from, __u32 len)
{
	int more = len - from;

	if (place == PLACE_TC)
		return bpf_skb_change_tail(ctx, len, 0);
	if (!more || !bpf_xdp_adjust_tail(ctx, more))
		return 0;
	return more > 0 ? bpf_xdp_adjust_head(ctx, -more) : -1;
}

/* Copies the template, whose end the verifier must see in the page. */
static __always_inline void store_template(void *ctx, enum offload_place place, __u32 to, __u64 *page, __u32 at, __u32 len)
{
	__u32 from = (at & (TABLE_PAGE_WORDS - 1)) * 8;

	if (!len)
		return;
	barrier_var(len);
	if (len <= TABLE_SHORT_TEMPLATE_LEN && from <= TABLE_PAGE_LEN - TABLE_SHORT_TEMPLATE_LEN)
		store_bytes(ctx, place, to, (void *)page + from, len);
	else if (len <= TABLE_REPLY_LEN_MAX && from <= TABLE_PAGE_LEN - TABLE_REPLY_LEN_MAX)
		store_bytes(ctx, place, to, (void *)page + from, len);
}

/* Copies what the reply repeats of the request; its sum. */
static __always_inline __u32 store_copies(void *ctx, enum offload_place place, struct workspace *work, __u32 payload_at,
					  __u32 at, __u32 count)
{
	__u64 *page = page_of(work->table, at);
	__u32 sum = 0;

	for (__u32 i = 0; i < TABLE_COPY_COUNT_MAX; i++) {
		__u64 *copy = i < count ? words_in(page, at + i, 1) : NULL;
		__u32 from, to, len;

		if (!copy)
			break;
		from = part16(*copy, 0);
		to = part16(*copy, 1);
		len = part16(*copy, 2);
		barrier_var(from);
		if (len > TABLE_REQUEST_LEN_MAX || from > TABLE_REQUEST_LEN_MAX)
			break;
		barrier_var(len);
		if (!len)
			break;
		store_bytes(ctx, place, payload_at + to, work->payload + from, len);
		sum += sum_at(offload_sum(work, from, len), to);
	}
	return sum;
}

/* Functions of their own, for the loop in them to be checked once. */
__noinline __u32 offload_copy_in_xdp(struct xdp_md *ctx, struct workspace *work, __u32 payload_at, __u32 at, __u32 count)
{
	return work ? store_copies(ctx, PLACE_XDP, work, payload_at, at, count) : 0;
}

__noinline __u32 offload_copy_in_tc(struct __sk_buff *ctx, struct workspace *work, __u32 payload_at, __u32 at, __u32 count)
{
	return work ? store_copies(ctx, PLACE_TC, work, payload_at, at, count) : 0;
}

static __always_inline void turn_ethernet(struct workspace *work, __u32 l2_len)
{
	struct ethhdr *ethernet = (void *)(work->head + NETWORK_AT - l2_len);
	__u8 mac[ETH_ALEN];

	__builtin_memcpy(mac, ethernet->h_dest, ETH_ALEN);
	__builtin_memcpy(ethernet->h_dest, ethernet->h_source, ETH_ALEN);
	__builtin_memcpy(ethernet->h_source, mac, ETH_ALEN);
}

static __always_inline void turn_udp(struct udphdr *udp, const struct exchange *exchange, __u32 len, __u64 payload_sum)
{
	__be16 port = udp->source;
	__u64 sum = exchange->base_sum + 2 * (__u64)bpf_htons(len) + payload_sum;

	udp->source = udp->dest;
	udp->dest = port;
	udp->len = bpf_htons(len);
	udp->check = ~fold_sum(sum);
	/* RFC 768: none, and a sum of zero, are not the same. */
	if (!udp->check)
		udp->check = 0xffff;
}

/* RFC 6864 4: the identification tells fragments apart. A client's own number does, with the checksum for those that send none;
 * a reply may be fragmented on its way, as a name server's. */
static __always_inline void turn_ipv4(struct workspace *work, __u32 udp_len)
{
	struct iphdr *ip = (void *)(work->head + NETWORK_AT);
	struct udphdr *udp = (void *)(ip + 1);
	__be32 address = ip->saddr;

	ip->tos = 0;
	ip->tot_len = bpf_htons(sizeof(*ip) + udp_len);
	ip->id = ip->id + udp->check;
	ip->frag_off = 0;
	ip->ttl = REPLY_TTL;
	ip->saddr = ip->daddr;
	ip->daddr = address;
	ip->check = 0;
	ip->check = ~fold_sum(sum_words((const __u32 *)ip, 5));
}

static __always_inline void turn_ipv6(struct workspace *work, __u32 udp_len)
{
	struct ipv6hdr *ip = (void *)(work->head + NETWORK_AT);
	struct in6_addr address = ip->saddr;

	*(__be32 *)ip = IPV6_VERSION;
	ip->payload_len = bpf_htons(udp_len);
	ip->hop_limit = REPLY_TTL;
	ip->saddr = ip->daddr;
	ip->daddr = address;
}

/* Writes the reply's headers over the request's; the frame's and the head's are of one length. */
static __always_inline void store_head(void *ctx, enum offload_place place, struct workspace *work,
				       const struct exchange *exchange, __u32 udp_len, __u64 payload_sum)
{
	void *head = work->head + NETWORK_AT - exchange->l2_len;

	turn_ethernet(work, exchange->l2_len);
	if (exchange->ip_len == sizeof(struct iphdr)) {
		turn_ipv4(work, udp_len);
		turn_udp(udp_of(work, exchange), exchange, udp_len, payload_sum);
		store_bytes(ctx, place, 0, head, exchange->l2_len + sizeof(struct iphdr) + sizeof(struct udphdr));
	} else {
		turn_ipv6(work, udp_len);
		turn_udp(udp_of(work, exchange), exchange, udp_len, payload_sum);
		store_bytes(ctx, place, 0, head, exchange->l2_len + sizeof(struct ipv6hdr) + sizeof(struct udphdr));
	}
}

/* Makes the reply of the frame. Ethernet's least length (IEEE 802.3 4A.2.3.2.4) is kept where the request had it. */
static __always_inline enum offload_outcome write_reply(void *ctx, enum offload_place place, const struct offload *nic,
							struct workspace *work, struct exchange *exchange, __u64 *page, __u32 at)
{
	__u64 *record = words_in(page, at, TABLE_RECORD_BODY), reply, sum;
	__u32 reply_len, udp_len, len, frame_len, copies_at, copy_count;

	if (!record)
		return OFFLOAD_NO_TABLE;
	reply = record[TABLE_RECORD_REPLY];
	reply_len = part16(reply, 0);
	udp_len = sizeof(struct udphdr) + reply_len;
	if (reply_len > TABLE_REPLY_LEN_MAX)
		return OFFLOAD_NO_TABLE;
	if (exchange->ip_len + udp_len > nic->mtu)
		return OFFLOAD_MTU;
	len = exchange->payload_at + reply_len;
	frame_len = len >= ETH_ZLEN || exchange->frame_len < ETH_ZLEN ? len : ETH_ZLEN;
	if (resize(ctx, place, exchange->frame_len, frame_len))
		return OFFLOAD_NO_ROOM;

	store_template(ctx, place, exchange->payload_at, page, at + TABLE_RECORD_BODY, reply_len);
	sum = part16(reply, 1);
	copies_at = behind_rest(at, record, work->key_words);
	copy_count = part16(reply, 2) & 0xff;
	sum += place == PLACE_XDP ? offload_copy_in_xdp(ctx, work, exchange->payload_at, copies_at, copy_count) :
				    offload_copy_in_tc(ctx, work, exchange->payload_at, copies_at, copy_count);
	store_head(ctx, place, work, exchange, udp_len, sum);
	if (frame_len > len && frame_len - len <= sizeof(work->zeros))
		store_bytes(ctx, place, len, work->zeros, frame_len - len);
	__sync_fetch_and_add(record, 1);
	return OFFLOAD_ANSWERED;
}

/* What becomes of a datagram for a service; answered, the frame is the reply. */
static __always_inline enum offload_outcome serve(void *ctx, enum offload_place place, const struct offload *nic,
						  struct workspace *work, struct exchange *exchange)
{
	enum offload_outcome outcome = read_request(ctx, place, nic, work, exchange);
	__u64 *page, *record, reply;
	__u32 at;

	if (outcome != OFFLOAD_ANSWERED)
		return outcome;
	at = offload_find(work);
	if (!at)
		return page_of(work->table, 0) ? OFFLOAD_MISS : OFFLOAD_NO_TABLE;
	if (!has_good_checksum(work, exchange))
		return OFFLOAD_CHECKSUM;
	page = page_of(work->table, at);
	record = words_in(page, at, TABLE_RECORD_BODY);
	if (!record)
		return OFFLOAD_NO_TABLE;
	reply = record[TABLE_RECORD_REPLY];
	if (part16(reply, 0))
		return write_reply(ctx, place, nic, work, exchange, page, at);
	__sync_fetch_and_add(record, 1);
	offload_invalidate(work, behind_rest(at, record, work->key_words), part16(reply, 2) >> 8);
	return OFFLOAD_INVALIDATED;
}

static __always_inline void count_outcome(enum offload_place place, enum offload_outcome outcome)
{
	__u32 key = place * OFFLOAD_COUNT + outcome;
	__u64 *frames = bpf_map_lookup_elem(&outcomes, &key);

	if (frames)
		*frames += 1;
}

/* Whether the frame, a datagram to `tuple` whose payload is at `payload_at`, has become a reply. */
static __always_inline int is_answered(void *ctx, enum offload_place place, const struct offload *nic,
				       const struct tuple *tuple, __u32 payload_at, __u32 frame_len)
{
	struct service *service = bpf_map_lookup_elem(&services, tuple);
	__u32 ip_len = tuple->ip_version == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr), first = 0;
	struct exchange exchange = {
		.l2_len = payload_at - ip_len - sizeof(struct udphdr),
		.ip_len = ip_len,
		.payload_at = payload_at,
		.frame_len = frame_len,
	};
	struct workspace *work;
	enum offload_outcome outcome;

	if (!service)
		return 0;
	work = bpf_map_lookup_elem(&workspaces, &first);
	if (!work)
		return 0;
	work->table = service->table;
	outcome = serve(ctx, place, nic, work, &exchange);
	count_outcome(place, outcome);
	return outcome == OFFLOAD_ANSWERED;
}

static __always_inline const struct offload *find_offload(void)
{
	__u32 first = 0;
	const struct offload *nic = bpf_map_lookup_elem(&offload, &first);

	return nic && nic->mtu ? nic : NULL;
}

#endif
