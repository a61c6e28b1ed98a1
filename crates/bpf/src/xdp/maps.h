/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The maps: all state that there is, written by the loader, but for the counters and the paces.
 *
 *   demux    tuples -> sockets                            a service of the daemon
 *                   -> slot_sockets (+ slot_queues)       a stack on a queue of its own
 *                   -> devices ==veth==> end_sockets      a stack behind a veth of its own
 *   egress   owners (which stack) -> nic, tuples, addresses (may it) -> paces (now) -> way_out
 *
 * A slot is a stack's number on this NIC. Sizes are the loader's to change before the load.
 */
#ifndef TIDEGATE_XDP_MAPS_H
#define TIDEGATE_XDP_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct tuple);
	__type(value, struct steering);
} tuples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32); /* receive queue */
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

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32); /* slot */
	__type(value, __u32);
} slot_sockets SEC(".maps");

/* The kernel takes a socket's frames from its own queue only, and loses others without a word. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32); /* slot */
	__type(value, __u32); /* the queue that its socket is bound to */
} slot_queues SEC(".maps");

/* A device that goes leaves its place by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 64);
	__type(key, __u32); /* slot */
	__type(value, __u32); /* the host's end of the stack's veth */
} devices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32); /* slot */
	__type(value, __u32); /* the socket on the stack's end of its veth */
} end_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32); /* slot */
	__type(value, struct stack_counters);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32); /* index of the host's end of a veth */
	__type(value, __u32); /* slot of the stack at the other end */
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32); /* slot */
	__type(value, struct pace);
} paces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct address);
	__type(value, __u32);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nic);
} nic SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* the NIC, where XDP redirects to it */
} way_out SEC(".maps");

#endif
