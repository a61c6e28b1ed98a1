// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The programs of one NIC and of the stacks that share it; their features are switched by what is in the maps.
 *
 *   NIC: tidegate
 *     frame -> own device? ----------------------------yes---> socket of this receive queue
 *                | no                                            ^           | no live socket there
 *                v                                               |           v
 *              parse -> tuples {address, port, protocol} -found--+         pass
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
#include "parse.h"
#include "steer.h"

static __always_inline int owns_device(void)
{
	__u32 first = 0;
	struct settings *current = bpf_map_lookup_elem(&settings, &first);

	return current && current->own_device;
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

char LICENSE[] SEC("license") = "Dual MIT/GPL";
