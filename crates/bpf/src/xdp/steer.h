/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * From a tuple to whom its frames are for, and the counting of it.
 *
 * Not a lookup a stack: one or two in one table, whatever the number of stacks.
 */
#ifndef TIDEGATE_XDP_STEER_H
#define TIDEGATE_XDP_STEER_H

#include <bpf/bpf_endian.h>

#include "maps.h"

/* XDP runs with softirqs off: nothing else on this CPU writes between the read and the write of a counter. */
static __always_inline void count(enum reason reason)
{
	__u32 key = reason;
	__u64 *frames = bpf_map_lookup_elem(&counters, &key);

	if (frames)
		*frames += 1;
}

static __always_inline __u32 frame_len(const struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data;
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

static __always_inline int to_stack(struct xdp_md *ctx, __u32 slot, enum reason reason)
{
	struct stack_counters *stack = bpf_map_lookup_elem(&stacks, &slot);

	count(reason);
	if (stack) {
		stack->to_frames += 1;
		stack->to_bytes += frame_len(ctx);
	}
	return XDP_REDIRECT;
}

/* A stack's connections would not survive what the host answers, so the host gets nothing while the stack lives. */
static __always_inline int on_wrong_queue(__u32 slot)
{
	struct stack_counters *stack = bpf_map_lookup_elem(&stacks, &slot);

	count(REASON_WRONG_QUEUE);
	if (stack)
		stack->wrong_queue_frames += 1;
	return XDP_DROP;
}

static __always_inline int to_slot_socket(struct xdp_md *ctx, __u32 slot)
{
	__u32 *queue = bpf_map_lookup_elem(&slot_queues, &slot);

	if (bpf_redirect_map(&slot_sockets, slot, XDP_PASS) != XDP_REDIRECT)
		return to_host(REASON_SLOT_ABSENT);
	if (!queue || *queue != ctx->rx_queue_index)
		return on_wrong_queue(slot);
	return to_stack(ctx, slot, REASON_SLOT_SOCKET);
}

static __always_inline int to_device(struct xdp_md *ctx, __u32 slot)
{
	if (bpf_redirect_map(&devices, slot, XDP_PASS) != XDP_REDIRECT)
		return to_host(REASON_SLOT_ABSENT);
	return to_stack(ctx, slot, REASON_DEVICE);
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
	switch (found->verdict) {
	case VERDICT_SOCKET:
		return to_socket(ctx, reason);
	case VERDICT_SLOT_SOCKET:
		return to_slot_socket(ctx, found->slot);
	case VERDICT_DEVICE:
		return to_device(ctx, found->slot);
	default:
		return to_host(REASON_EXEMPT);
	}
}

#endif
