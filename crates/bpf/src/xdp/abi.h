/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the XDP program and its loader share: the maps' keys, values and numbers.
 *
 * The Rust side is abi.rs; a test compares the two, the numbers here as text (one enumerator a line)
 * and the structs by the object's BTF, and fails when a name or a number differs. Numbers are stable for as long as a pinned program
 * may be met by a newer loader: append, never renumber.
 */
#ifndef TIDEGATE_XDP_ABI_H
#define TIDEGATE_XDP_ABI_H

#include <linux/types.h>

/* Who gets a frame. */
enum verdict {
	VERDICT_PASS = 0,   /* the host's stack */
	VERDICT_SOCKET = 1, /* the AF_XDP socket of the receive queue */
	VERDICT_SLOT_SOCKET = 2, /* the AF_XDP socket of a stack's slot, on the one queue that it is bound to */
	VERDICT_DEVICE = 3, /* the device of a stack's slot: the host's end of its veth */
	VERDICT_DROP = 4, /* nobody; no registration says so */
	VERDICT_ANSWER = 5, /* the sender: the frame has become a reply; no registration says so */
};

/* Why a frame got its verdict. Each frame counts under exactly one reason. */
enum reason {
	/* To the socket. */
	REASON_TUPLE = 0,      /* destination is a registered tuple */
	REASON_WILDCARD = 1,   /* destination is a registered tuple without an address */
	REASON_ICMP_QUOTE = 2, /* an ICMP error about a frame that a registered tuple sent */
	REASON_OWN_DEVICE = 3, /* the stack owns the device: no frame is looked at */

	/* Passed although claimed. */
	REASON_SOCKET_ABSENT = 4, /* no live socket on this receive queue */
	REASON_EXEMPT = 5,        /* a registered tuple whose verdict is pass */

	/* Passed because nobody claimed it. */
	REASON_UNREGISTERED = 6,   /* UDP or TCP to a tuple that is not registered */
	REASON_ICMP_UNRELATED = 7, /* ICMP that quotes no registered tuple */
	REASON_OTHER_PROTOCOL = 8, /* IP, but neither UDP, TCP nor ICMP */
	REASON_FRAGMENT = 9,       /* a fragment, the first one too: the host reassembles */
	REASON_IPV6_EXTENSION = 10, /* an extension header other than a fragment's */
	REASON_NOT_IP = 11,        /* ARP, a third VLAN tag, anything else */

	/* Passed because it is malformed: cut short, or a length field that cannot be true. */
	REASON_MALFORMED_ETHERNET = 12, /* Ethernet header or VLAN tag */
	REASON_MALFORMED_IPV4 = 13,
	REASON_MALFORMED_IPV6 = 14,
	REASON_MALFORMED_TCP = 15,
	REASON_MALFORMED_UDP = 16,
	REASON_MALFORMED_ICMP = 17, /* the message or the datagram that it quotes */

	/* Frames of a stack that has a slot, by whatever the first three reasons say. */
	REASON_SLOT_SOCKET = 18, /* to the socket of the slot */
	REASON_DEVICE = 19,      /* to the device of the slot */
	REASON_SLOT_ABSENT = 20, /* passed: the slot has no socket or device, its stack has died */
	REASON_WRONG_QUEUE = 21, /* dropped: not on the queue of the slot's socket, which lives */

	/* Turned round: the offload answered. */
	REASON_OFFLOAD = 22,

	REASON_COUNT = 23,
};

/* What became of a frame that a stack sent through its own veth. Each counts under exactly one; all but
 * the first are drops. */
enum egress {
	EGRESS_SENT = 0,

	/* Ethernet. */
	EGRESS_SOURCE_MAC = 1,      /* not the NIC's address */
	EGRESS_DESTINATION_MAC = 2, /* a group, nobody (all zero) or the NIC itself */
	EGRESS_VLAN = 3,            /* a tag */
	EGRESS_NOT_IP = 4,          /* ARP, anything else that is not IP */

	/* IP. */
	EGRESS_MALFORMED_IPV4 = 5, /* a cut header, or a version or length that cannot be true */
	EGRESS_MALFORMED_IPV6 = 6,
	EGRESS_IPV4_OPTIONS = 7, /* any option: source routes among them */
	EGRESS_IPV6_EXTENSION = 8,
	EGRESS_FRAGMENT = 9,
	EGRESS_TOO_LONG = 10, /* longer than the NIC's MTU */
	EGRESS_ICMP = 11,
	EGRESS_OTHER_PROTOCOL = 12,

	/* Transport. */
	EGRESS_MALFORMED_TCP = 13,
	EGRESS_MALFORMED_UDP = 14,
	EGRESS_NOT_OWNER = 15,        /* the source is no tuple of this stack */
	EGRESS_FOREIGN_ADDRESS = 16, /* its port for every address, but the address is not the NIC's */

	EGRESS_OVER_RATE = 17, /* its own, but more than its rate */

	EGRESS_COUNT = 18,
};

/* The number of slot 0's stack's end in its namespace, where the loopback device is 1; slot 1's is the next. */
#define STACK_END_IFINDEX_MIN 2

/* Key of `tuples`: one end of a flow, in network byte order. All zero in `address` behind the mapped
 * prefix means every address of that IP version. */
struct tuple {
	__be32 address[4]; /* IPv4 as ::ffff:a.b.c.d (RFC 4291 2.5.5.2) */
	__be16 port;
	__u8 protocol;   /* IPPROTO_UDP or IPPROTO_TCP */
	__u8 ip_version; /* 4 or 6: an IPv6 frame to ::ffff:a.b.c.d is not an IPv4 one */
};

/* Value of `tuples`. */
struct steering {
	enum verdict verdict;
	__u32 slot; /* of a verdict that names a slot */
};

/* Value of `stacks`, by slot and CPU: what went to and came from a stack. Bytes are whole frames'. */
struct stack_counters {
	__u64 to_frames; /* redirected; a full ring behind it may still lose them */
	__u64 to_bytes;
	__u64 wrong_queue_frames;
	__u64 from_bytes; /* of frames sent */
	__u64 from_frames[EGRESS_COUNT]; /* enum egress */
};

/* The one value of `nic`: what all stacks of a NIC send through. */
struct nic {
	__u32 ifindex; /* 0: nothing leaves */
	__u32 mtu;     /* of IP packets */
	__u8 mac[6];
	__u8 is_redirected_by_xdp; /* not 0: straight from XDP to the NIC, which must take that */
	__u8 padding;
};

/* Value of `paces`, by slot: a token bucket that says when it is full instead of how full it is, in
 * sixteenths of a nanosecond of the monotonic clock (36 years until they wrap). One CPU at a time
 * writes one: a stack's veth has one queue. */
struct pace {
	__u64 byte_cost; /* time a byte takes, in 2^-20 ns; 0: no limit */
	__u64 burst;     /* how far `full_at` may lie ahead */
	__u64 full_at;
};

/* Key of `addresses`: the NIC's own, which a wildcard tuple may send from. */
struct address {
	__be32 address[4]; /* as in a tuple */
	__u32 ip_version;
};

/* The one value of `settings`. */
struct settings {
	__u32 own_device; /* not 0: every frame goes to the socket */
};

#endif
