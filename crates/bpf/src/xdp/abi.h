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

	REASON_COUNT = 18,
};

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
};

/* The one value of `settings`. */
struct settings {
	__u32 own_device; /* not 0: every frame goes to the socket */
};

#endif
