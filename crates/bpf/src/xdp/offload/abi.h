/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the offload shares with its loader and with the one who writes its tables.
 *
 * The numbers of tables are those of crates/offload/src/layout.rs, where the layout is drawn; a test there compares the two.
 * The outcomes are those of offload.rs.
 */
#ifndef TIDEGATE_OFFLOAD_ABI_H
#define TIDEGATE_OFFLOAD_ABI_H

#include <linux/types.h>

/* What became of a datagram for a service. Each counts under exactly one. */
enum offload_outcome {
	OFFLOAD_ANSWERED = 0,

	/* Passed to the server. */
	OFFLOAD_MISS = 1,        /* no rule matches */
	OFFLOAD_INVALIDATED = 2, /* a rule matches that drops others */

	/* Passed although a rule might match. */
	OFFLOAD_HEADERS = 3,  /* IPv4 options, or more than one VLAN tag */
	OFFLOAD_LENGTH = 4,   /* the UDP length is not what the IP packet has room for */
	OFFLOAD_TOO_LONG = 5, /* longer than any rule can match */
	OFFLOAD_ADDRESS = 6,  /* not to the NIC's MAC address, or from an address or port that nobody answers to */
	OFFLOAD_CHECKSUM = 7, /* the IPv4 header's or the datagram's is wrong, or missing over IPv6 */
	OFFLOAD_MTU = 8,      /* the reply is longer than the NIC's MTU */
	OFFLOAD_NO_ROOM = 9,  /* the reply is longer than the request, and the frame cannot grow */
	OFFLOAD_NO_TABLE = 10, /* the service's table is gone, or makes no sense */

	OFFLOAD_COUNT = 11,
};

/* Where a datagram was looked at. */
enum offload_place {
	PLACE_XDP = 0,
	PLACE_TC = 1,

	PLACE_COUNT = 2,
};

/* Value of `services`, by tuple. */
struct service {
	__u32 table;
};

/* The one value of `offload`: what replies need to know of the NIC. */
struct offload {
	__u32 mtu; /* of IP packets; 0: nothing is looked at */
	__u8 mac[6];
	__u8 padding[2];
};

#define TABLE_MAGIC 0x544944454f464601ULL
#define TABLE_PAGE_SHIFT 16

/* Words of the first page. */
#define TABLE_HEADER_SEED 1
#define TABLE_HEADER_BUCKETS 2
#define TABLE_HEADER_HOMES 3
#define TABLE_HEADER_ANY_LEN 4
#define TABLE_HEADER_GROUPS 512
#define TABLE_HEADER_BY_LEN 1024
#define TABLE_GROUP_COUNT 256

#define TABLE_SHAPE_PAGE 1
#define TABLE_SHAPE_WORDS 16
#define TABLE_SHAPE_COUNT_MAX 1024
#define TABLE_SHAPE_REGIONS 2
#define TABLE_REGION_WORDS 3
#define TABLE_REGION_COUNT_MAX 4
#define TABLE_SHAPES_TRIED_MAX 48

#define TABLE_BUCKET_SLOTS 8
#define TABLE_MULTIPLIER 0x9e3779b97f4a7c15ULL
#define TABLE_FINISHER 0xbf58476d1ce4e5b9ULL
#define TABLE_SECOND_BUCKET 0x85ebca6b

/* Words of a record. */
#define TABLE_RECORD_EXPIRES 1
#define TABLE_RECORD_LIFE 2
#define TABLE_RECORD_PLACE 3
#define TABLE_RECORD_REPLY 4
#define TABLE_RECORD_BODY 5

#define TABLE_REQUEST_LEN_MAX 1472
#define TABLE_REPLY_LEN_MAX 1472
#define TABLE_SHORT_TEMPLATE_LEN 256
#define TABLE_COPY_COUNT_MAX 16
#define TABLE_TARGET_COUNT_MAX 8

#define TABLE_PAGE_LEN (1 << TABLE_PAGE_SHIFT)
#define TABLE_PAGE_WORDS (TABLE_PAGE_LEN / 8)

#endif
