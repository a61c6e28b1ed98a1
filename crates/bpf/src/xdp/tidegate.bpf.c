// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The XDP program: one a NIC, its features switched by what is in its maps.
 *
 *   frame -> own device? ----------------------------yes---> socket of this receive queue
 *              | no                                            ^           | no live socket there
 *              v                                               |           v
 *            parse -> tuples {address, port, protocol} -found--+         pass
 *              |          | not found
 *              v          v
 *             pass       pass
 *
 * Not a filter: nothing is dropped, modified or answered. Whatever goes wrong ends in XDP_PASS, so
 * that an empty set of maps, or a process that died and left its sockets' slots empty, is the same
 * as no program at all.
 */
#include "abi.h"
#include "parse.h"

/* Sizes are the loader's to change before the load. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct tuple);
	__type(value, struct steering);
} tuples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REASON_COUNT);
	__type(key, __u32); /* enum reason */
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(enum reason reason)
{
	__u32 key = reason;
	__u64 *frames = bpf_map_lookup_elem(&counters, &key);

	/* XDP runs with softirqs off: nothing else on this CPU writes between the read and the write. */
	if (frames)
		*frames += 1;
}

static __always_inline int to_host(enum reason reason)
{
	count(reason);
	return XDP_PASS;
}

/* The flags of bpf_redirect_map() are what it returns for an empty slot: a socket that died leaves
 * one, and the host answers again with the next frame. */
static __always_inline int to_socket(struct xdp_md *ctx, enum reason reason)
{
	int action = bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);

	count(action == XDP_REDIRECT ? reason : REASON_SOCKET_ABSENT);
	return action;
}

static __always_inline int owns_device(void)
{
	__u32 first = 0;
	struct settings *current = bpf_map_lookup_elem(&settings, &first);

	return current && current->own_device;
}

static __always_inline void forget_address(struct tuple *tuple)
{
	tuple->address[0] = 0;
	tuple->address[1] = 0;
	tuple->address[2] = tuple->ip_version == 4 ? bpf_htonl(0xffff) : 0;
	tuple->address[3] = 0;
}

/* The more specific registration wins, as with the host's own sockets. */
static __always_inline struct steering *find_steering(struct tuple *tuple, enum reason *reason)
{
	struct steering *found = bpf_map_lookup_elem(&tuples, tuple);

	if (found)
		return found;
	forget_address(tuple);
	found = bpf_map_lookup_elem(&tuples, tuple);
	if (found && *reason == REASON_TUPLE)
		*reason = REASON_WILDCARD;
	return found;
}

static __always_inline int steer(struct xdp_md *ctx, struct tuple *tuple, enum reason reason)
{
	struct steering *found = find_steering(tuple, &reason);

	if (!found)
		return to_host(reason == REASON_TUPLE ? REASON_UNREGISTERED : REASON_ICMP_UNRELATED);
	if (found->verdict == VERDICT_SOCKET)
		return to_socket(ctx, reason);
	return to_host(REASON_EXEMPT);
}

SEC("xdp")
int tidegate(struct xdp_md *ctx)
{
	struct cursor frame = {
		.at = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
	};
	struct tuple tuple;
	enum reason reason;

	if (owns_device())
		return to_socket(ctx, REASON_OWN_DEVICE);
	reason = parse_ethernet(&frame, &tuple);
	if (reason != REASON_TUPLE && reason != REASON_ICMP_QUOTE)
		return to_host(reason);
	return steer(ctx, &tuple, reason);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
