// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The programs of one NIC and of the stacks that share it; their features are switched by what is in the maps.
 *
 *   NIC: tidegate
 *     frame -> own device? ----------------------------yes---> socket of this receive queue
 *                | no                                            ^           | no live socket there
 *                v                                               |           v
 *              parse -> a rule for this UDP service matches? -yes-> its reply, back to the sender
 *                | no
 *                v
 *              tuples {address, port, protocol} ----------found--+         pass
 *                |          | not found              | found, of a stack
 *                v          v                        v
 *               pass       pass            its socket or its veth
 *
 *   a stack's veth
 *     NIC --tidegate--> host's end ===================> stack's end: stack_end --> its AF_XDP socket
 *     NIC <--host_ingress-- host's end: host_egress <== stack's end <------------- its AF_XDP socket
 *
 * What comes from outside is the host's: whatever goes wrong ends in XDP_PASS, so that an empty set of maps, or
 * a process that died and left its sockets' slots empty, is the same as no program at all. What comes from a
 * stack is nobody's until it is proved to be the stack's own: whatever goes wrong there ends in a drop.
 */
#include <linux/pkt_cls.h>

#include "egress.h"
#include "maps.h"
#include "offload/answer.h"
#include "parse.h"
#include "steer.h"

static __always_inline int owns_device(void)
{
	__u32 first = 0;
	struct settings *current = bpf_map_lookup_elem(&settings, &first);

	return current && current->own_device;
}

/* Whether the offload has made a reply of a datagram to `tuple`, whose headers were parsed. */
static __always_inline int answers(struct xdp_md *ctx, const struct cursor *frame, const struct tuple *tuple)
{
	const struct offload *nic;
	void *data;

	if (tuple->protocol != IPPROTO_UDP)
		return 0;
	nic = find_offload();
	if (!nic)
		return 0;
	data = (void *)(long)ctx->data;
	/* As a pointer: the half of it that the kernel shows cannot be kept on the stack. */
	barrier_var(data);
	return is_answered(ctx, PLACE_XDP, nic, tuple, frame->at - data, frame->end - data);
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
	if (reason == REASON_TUPLE && answers(ctx, &frame, &tuple)) {
		count(REASON_OFFLOAD);
		return XDP_TX;
	}
	return steer(ctx, &tuple, reason);
}

static __always_inline const struct nic *find_nic(void)
{
	__u32 first = 0;
	const struct nic *out = bpf_map_lookup_elem(&nic, &first);

	return out && out->ifindex ? out : NULL;
}

/* What host_egress writes before a frame that it lets through, for host_ingress to see: without the one the other lets
 * nothing through. */
#define CHECKED 0x7469646567617465ULL

/* Where there is no room for the mark, the frame is dropped as one that met an exception, which the kernel counts. */
static __always_inline int mark_checked(struct xdp_md *ctx)
{
	__u64 *mark;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*mark)))
		return XDP_ABORTED;
	mark = (void *)(long)ctx->data_meta;
	if ((void *)(mark + 1) > (void *)(long)ctx->data)
		return XDP_ABORTED;
	*mark = CHECKED;
	return XDP_PASS;
}

static __always_inline int is_checked(const struct __sk_buff *skb)
{
	const __u64 *mark = (void *)(long)skb->data_meta;

	return (void *)(mark + 1) <= (void *)(long)skb->data && *mark == CHECKED;
}

/* On the host's end of a stack's veth. A device that no stack has been given sends nothing; its own counters
 * (rx_dropped) have such frames. */
SEC("xdp")
int host_egress(struct xdp_md *ctx)
{
	struct cursor frame = {
		.at = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
	};
	__u32 ifindex = ctx->ingress_ifindex;
	__u32 *slot = bpf_map_lookup_elem(&owners, &ifindex);
	const struct nic *out = find_nic();
	enum egress outcome;

	if (!slot || !out)
		return XDP_DROP;
	outcome = check_egress(&frame, out, *slot);
	count_egress(*slot, outcome, frame_len(ctx));
	if (outcome != EGRESS_SENT)
		return XDP_DROP;
	if (out->is_redirected_by_xdp)
		return bpf_redirect_map(&way_out, 0, XDP_DROP);
	return mark_checked(ctx);
}

/* Behind host_egress on the same device: to the NIC, by its queueing discipline, or nowhere. */
SEC("tcx/ingress")
int host_ingress(struct __sk_buff *skb)
{
	const struct nic *out = find_nic();

	if (!out || !is_checked(skb))
		return TC_ACT_SHOT;
	return bpf_redirect(out->ifindex, 0);
}

/* On the stack's end, in a namespace where nobody else answers. Its number is made from its slot, for all stacks to
 * share this program and its map. */
SEC("xdp")
int stack_end(struct xdp_md *ctx)
{
	return bpf_redirect_map(&end_sockets, ctx->ingress_ifindex - STACK_END_IFINDEX_MIN, XDP_DROP);
}

/* Headers of an IPv6 datagram behind a tag: what must lie in one piece to be parsed. */
#define HEADERS_LEN (ETH_HLEN + sizeof(struct vlan_tag) + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

static __always_inline struct cursor all_of(const struct __sk_buff *skb)
{
	return (struct cursor){ .at = (void *)(long)skb->data, .end = (void *)(long)skb->data_end };
}

/* Behind the NIC's program, for what that could not answer: a reply longer than its request where the frame has no room, or
 * a device whose driver runs no XDP. The reply leaves by the way that the request came. */
SEC("tcx/ingress")
int offload_ingress(struct __sk_buff *skb)
{
	const struct offload *nic = find_offload();
	struct cursor frame = all_of(skb);
	struct tuple tuple;

	/* Datagrams that the kernel has joined (GRO) are the server's, and so is what has a tag beside the frame and one in it. */
	if (!nic || skb->gso_size || (skb->vlan_present && is_vlan(skb->protocol)))
		return TC_ACT_UNSPEC;
	if (frame.at + HEADERS_LEN > frame.end) {
		bpf_skb_pull_data(skb, skb->len < HEADERS_LEN ? skb->len : HEADERS_LEN);
		frame = all_of(skb);
	}
	if (parse_ethernet(&frame, &tuple) != REASON_TUPLE || tuple.protocol != IPPROTO_UDP)
		return TC_ACT_UNSPEC;
	if (!is_answered(skb, PLACE_TC, nic, &tuple, frame.at - (void *)(long)skb->data, skb->len))
		return TC_ACT_UNSPEC;
	return bpf_redirect(skb->ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
