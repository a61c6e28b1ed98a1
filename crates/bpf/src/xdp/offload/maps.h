/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The offload's maps: services -> tables -> pages of words; and a workspace a CPU.
 *
 * A table is an array of pages that its writer has mapped, so that a rule is loaded without a system call. It is an element of
 * a map of maps: made when the first rule comes, as large as it needs to be, replaced whole, and gone with its last user.
 */
#ifndef TIDEGATE_OFFLOAD_MAPS_H
#define TIDEGATE_OFFLOAD_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "../abi.h"
#include "abi.h"

/* Words of the longest pattern, and of the longest key: each region begins a word. */
#define PATTERN_WORDS_MAX (TABLE_REQUEST_LEN_MAX / 8)
#define KEY_WORDS_MAX (PATTERN_WORDS_MAX + TABLE_REGION_COUNT_MAX)

/* Ethernet with one tag, IPv6, UDP; the network header always begins at the same place. */
#define HEAD_LEN 128
#define NETWORK_AT 32

/* A request while it is looked at, and its reply's headers. XDP and tc run with softirqs off and one after the other, so a CPU
 * needs one. Invariant: the eight bytes behind the payload are zero. */
struct workspace {
	__u8 payload[3072]; /* room for the longest copy from the last byte, as the verifier counts */
	__u64 key[256];
	__u64 seed;
	__u64 buckets;
	__u64 hash;
	__u64 last_region; /* of the shape that is tried */
	__u32 len;         /* of the payload */
	__u32 table;
	__u32 shape;
	__u32 next_shape;
	__u32 key_words;
	__u32 is_exact; /* the shape is for one length */
	__u32 forgotten;
	__u32 padding;
	__u8 head[HEAD_LEN];
	__u8 zeros[64];
};

struct table_pages {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, TABLE_PAGE_LEN);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32); /* table */
	__array(values, struct table_pages);
} tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct tuple);
	__type(value, struct service);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct offload);
} offload SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PLACE_COUNT * OFFLOAD_COUNT);
	__type(key, __u32); /* enum offload_place * OFFLOAD_COUNT + enum offload_outcome */
	__type(value, __u64);
} outcomes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct workspace);
} workspaces SEC(".maps");

#endif
