/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * From a request to the record of the rule that decides about it. crates/offload/src/lookup.rs is the same in Rust.
 *
 * Loops stand each in a function that is not inlined, which the verifier checks once, with any arguments: one within another it
 * would walk through as often as the product of their lengths. They take numbers and the workspace; what is read of a table is
 * looked up again, for its pages cannot be handed over. A barrier_var() keeps the compiler from counting with another variable
 * than the one whose bounds were checked, which is the one that the verifier knows.
 *
 * Invariant: no word of a table is trusted to be in range. Whatever is in it, nothing outside its pages is read, and a request
 * is answered only by a record whose key it has.
 */
#ifndef TIDEGATE_OFFLOAD_MATCH_H
#define TIDEGATE_OFFLOAD_MATCH_H

#include "maps.h"

#define EACH_BYTE 0x0101010101010101ULL

/* The page of a table that has the word `at`. */
static __always_inline __u64 *page_of(__u32 table, __u32 at)
{
	__u32 page = at / TABLE_PAGE_WORDS;
	void *pages = bpf_map_lookup_elem(&tables, &table);

	return pages ? bpf_map_lookup_elem(pages, &page) : NULL;
}

/* Where `count` words at `at` are in their page, or NULL if it has not all of them. */
static __always_inline __u64 *words_in(__u64 *page, __u32 at, __u32 count)
{
	__u32 index = at & (TABLE_PAGE_WORDS - 1);

	barrier_var(index);
	if (!page || index > TABLE_PAGE_WORDS - count)
		return NULL;
	/* Or it is added to before it was looked at. */
	barrier_var(page);
	return page + index;
}

static __always_inline __u64 *words_at(__u32 table, __u32 at, __u32 count)
{
	return words_in(page_of(table, at), at, count);
}

static __always_inline __u32 part16(__u64 word, __u32 number)
{
	return word >> 16 * number & 0xffff;
}

/* The eight bytes at `at`: not aligned, which the program's memory does not ask for. */
static __always_inline __u64 load_word(const void *at)
{
	return *(const __u64 *)at;
}

/* The first `len` bytes of a word as they lie in memory. */
static __always_inline __u64 first_bytes(__u32 len)
{
	if (len >= 8)
		return ~0ULL;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (1ULL << 8 * len) - 1;
#else
	return len ? ~0ULL << (64 - 8 * len) : 0;
#endif
}

/* With its ASCII capitals made small where `fold` has bits. */
static __always_inline __u64 folded(__u64 word, __u64 fold)
{
	__u64 low_bits = word & 0x7f * EACH_BYTE;
	__u64 above = low_bits + (0x7f - 'Z') * EACH_BYTE;
	__u64 from = low_bits + (0x80 - 'A') * EACH_BYTE;

	return word | (((from ^ above) & ~word & 0x80 * EACH_BYTE) >> 2 & fold);
}

/* For a region {offset | len << 16 | is_folded << 32}: all bits, or none. */
static __always_inline __u64 fold_of(__u64 region)
{
	return -(region >> 32 & 1);
}

/* Adds a word to the key and to its hash. */
static __always_inline __u64 append(struct workspace *work, __u32 to, __u64 word, __u64 hash)
{
	work->key[to] = word;
	hash = (hash ^ word) * TABLE_MULTIPLIER;
	return hash ^ hash >> 32;
}

/* A number as if it were unknown: what follows a loop is then checked once, not once for each of its ends. */
static __always_inline __u32 forget(struct workspace *work, __u32 number)
{
	*(volatile __u32 *)&work->forgotten = number;
	return *(volatile __u32 *)&work->forgotten;
}

/* Appends a region to the key, from its word `to` on, and to its hash; the number of words then. */
__noinline __u32 offload_gather(struct workspace *work, __u64 region, __u32 to)
{
	__u32 at = part16(region, 0), len = part16(region, 1);
	__u64 fold = fold_of(region), hash;

	if (!work)
		return 0;
	hash = work->hash;
	for (__u32 i = 0; i < PATTERN_WORDS_MAX; i++, at += 8, to++) {
		if (i * 8 + 8 > len)
			break;
		barrier_var(at);
		barrier_var(to);
		if (at > TABLE_REQUEST_LEN_MAX || to >= KEY_WORDS_MAX)
			return 0;
		hash = append(work, to, folded(load_word(work->payload + at), fold), hash);
	}
	at = forget(work, at);
	to = forget(work, to);
	if (len & 7 && at <= TABLE_REQUEST_LEN_MAX && to < KEY_WORDS_MAX) {
		hash = append(work, to, folded(load_word(work->payload + at) & first_bytes(len & 7), fold), hash);
		to++;
	}
	work->hash = hash;
	return to;
}

/* Whether the table has the key at `at`. */
__noinline int offload_same_key(const struct workspace *work, __u32 at)
{
	__u32 index = at & (TABLE_PAGE_WORDS - 1);
	__u64 *page;

	if (!work)
		return 0;
	page = page_of(work->table, at);
	if (!page)
		return 0;
	for (__u32 i = 0; i < KEY_WORDS_MAX; i++, index++) {
		if (i >= work->key_words)
			return 1;
		barrier_var(index);
		if (index >= TABLE_PAGE_WORDS || page[index] != work->key[i])
			return 0;
	}
	return work->key_words == KEY_WORDS_MAX;
}

/* Whether the request has in a region what the table has at `at`. */
__noinline int offload_same_rest(struct workspace *work, __u64 region, __u32 at)
{
	__u32 from = part16(region, 0), len = part16(region, 1);
	__u32 index = at & (TABLE_PAGE_WORDS - 1);
	__u64 fold = fold_of(region), *page;

	if (!work || from + len > work->len)
		return 0;
	page = page_of(work->table, at);
	if (!page)
		return 0;
	for (__u32 i = 0; i < PATTERN_WORDS_MAX; i++, index++, from += 8) {
		if (i * 8 + 8 > len)
			break;
		barrier_var(index);
		barrier_var(from);
		if (index >= TABLE_PAGE_WORDS || from > TABLE_REQUEST_LEN_MAX)
			return 0;
		if (page[index] != folded(load_word(work->payload + from), fold))
			return 0;
	}
	if (!(len & 7))
		return 1;
	index = forget(work, index);
	from = forget(work, from);
	if (index >= TABLE_PAGE_WORDS || from > TABLE_REQUEST_LEN_MAX)
		return 0;
	return page[index] == folded(load_word(work->payload + from) & first_bytes(len & 7), fold);
}

static __always_inline int is_alive(__u32 table, const __u64 *record, __u32 group)
{
	__u32 generation = record[TABLE_RECORD_LIFE];
	__u64 *header = page_of(table, 0);
	__u64 expires = record[TABLE_RECORD_EXPIRES];

	if (!header || !generation || group >= TABLE_GROUP_COUNT)
		return 0;
	if (header[TABLE_HEADER_GROUPS + group] != generation)
		return 0;
	return !expires || bpf_ktime_get_ns() < expires;
}

/* 0, or 1 more than the length of the rest, if the record is of a rule that the request matches. */
__noinline __u32 offload_matches(struct workspace *work, __u32 at)
{
	__u64 *record, place;
	__u32 key_at, rest_len;

	if (!work)
		return 0;
	record = words_at(work->table, at, TABLE_RECORD_BODY);
	if (!record)
		return 0;
	place = record[TABLE_RECORD_PLACE];
	rest_len = part16(place, 3);
	if (part16(place, 1) != work->shape || !is_alive(work->table, record, part16(place, 0)))
		return 0;
	key_at = at + TABLE_RECORD_BODY + (part16(record[TABLE_RECORD_REPLY], 0) + 7) / 8;
	if (!offload_same_key(work, key_at))
		return 0;
	if (rest_len) {
		__u64 is_folded = work->last_region & 1ULL << 32;
		__u64 rest = part16(place, 2) | (__u64)rest_len << 16 | is_folded;

		if (!offload_same_rest(work, rest, key_at + work->key_words))
			return 0;
	}
	return rest_len + 1;
}

/* The record in one of the key's buckets that matches with the longest rest, if that is longer than one found before:
 * address | length plus 1 << 32. */
__noinline __u64 offload_probe(struct workspace *work, __u32 at, __u32 tag, __u64 best)
{
	__u64 *bucket, slot;
	__u32 matched;

	if (!work)
		return 0;
	bucket = words_at(work->table, at, TABLE_BUCKET_SLOTS);
	if (!bucket)
		return best;
	for (__u32 i = 0; i < TABLE_BUCKET_SLOTS; i++) {
		slot = *(volatile __u64 *)(bucket + i);
		if (!(__u32)slot || slot >> 32 != tag)
			continue;
		matched = offload_matches(work, slot);
		if (matched > best >> 32)
			best = (__u32)slot | (__u64)matched << 32;
	}
	return best;
}

/* The record that the request's key leads to, 0 if there is none. */
static __always_inline __u32 find_record(struct workspace *work)
{
	__u32 count = work->buckets, first = (work->buckets >> 32) * TABLE_PAGE_WORDS, tag, second;
	__u64 hash = work->hash, best;

	hash = (hash ^ hash >> 29) * TABLE_FINISHER;
	hash ^= hash >> 32;
	tag = hash >> 32;
	second = tag * TABLE_SECOND_BUCKET;
	best = offload_probe(work, first + (((hash & 0xffffffff) * count) >> 32) * TABLE_BUCKET_SLOTS, tag, 0);
	/* Rules for one length have no rest, so that no other one matches as well. */
	if (best && work->is_exact)
		return best;
	return offload_probe(work, first + (((__u64)second * count) >> 32) * TABLE_BUCKET_SLOTS, tag, best);
}

/* Whether the request's region begins as all rules of the shape want it. */
static __always_inline int is_anchored(const struct workspace *work, const __u64 *region)
{
	__u64 what = region[2], word;
	__u32 at = part16(what, 0);

	barrier_var(at);
	if (at > TABLE_REQUEST_LEN_MAX)
		return 0;
	/* The anchor's mask has no byte behind the region. */
	word = folded(load_word(work->payload + at), fold_of(what));
	return !((word ^ region[0]) & region[1]);
}

/* The record of a rule of this shape that the request matches, 0 if there is none. */
__noinline __u32 offload_try_shape(struct workspace *work, __u32 index)
{
	__u64 *shape, head;
	__u32 count, key_words = 0;

	if (!work || index >= TABLE_SHAPE_COUNT_MAX)
		return 0;
	work->next_shape = 0;
	shape = words_at(work->table, TABLE_SHAPE_PAGE * TABLE_PAGE_WORDS + index * TABLE_SHAPE_WORDS, TABLE_SHAPE_WORDS);
	if (!shape)
		return 0;
	head = *(volatile __u64 *)shape;
	count = part16(head, 0);
	work->next_shape = part16(head, 3);
	if (part16(head, 2) > work->len)
		return 0;
	for (__u32 i = 0; i < TABLE_REGION_COUNT_MAX && i < count; i++) {
		if (!is_anchored(work, shape + TABLE_SHAPE_REGIONS + i * TABLE_REGION_WORDS))
			return 0;
	}
	work->shape = index;
	work->hash = work->seed * (2 * index + 1);
	for (__u32 i = 0; i < TABLE_REGION_COUNT_MAX && i < count; i++) {
		__u64 region = shape[TABLE_SHAPE_REGIONS + i * TABLE_REGION_WORDS + 2];

		key_words = offload_gather(work, region, key_words);
		work->last_region = region;
	}
	work->key_words = key_words;
	return find_record(work);
}

/* The record of the rule that decides about the request, 0 if none does. */
__noinline __u32 offload_find(struct workspace *work)
{
	__u32 next, found, len;
	__u64 *header;

	if (!work)
		return 0;
	len = work->len;
	barrier_var(len);
	if (len > TABLE_REQUEST_LEN_MAX)
		return 0;
	header = page_of(work->table, 0);
	if (!header || header[0] != TABLE_MAGIC)
		return 0;
	work->seed = header[TABLE_HEADER_SEED];
	work->buckets = header[TABLE_HEADER_BUCKETS];
	work->is_exact = 1;
	next = header[TABLE_HEADER_BY_LEN + len];
	for (__u32 i = 0; i < TABLE_SHAPES_TRIED_MAX + 1; i++) {
		if (!next) {
			if (!work->is_exact)
				break;
			work->is_exact = 0;
			next = header[TABLE_HEADER_ANY_LEN];
			if (!next)
				break;
		}
		found = offload_try_shape(work, next - 1);
		if (found)
			return found;
		next = work->next_shape;
	}
	return 0;
}

/* Where a record's copies or targets begin. */
static __always_inline __u32 behind_rest(__u32 at, const __u64 *record, __u32 key_words)
{
	__u32 reply_words = (part16(record[TABLE_RECORD_REPLY], 0) + 7) / 8;
	__u32 rest_words = (part16(record[TABLE_RECORD_PLACE], 3) + 7) / 8;

	return at + TABLE_RECORD_BODY + reply_words + key_words + rest_words;
}

/* The ticket first: a rule that is just being put is refused from then on, or its home leads to it. */
static __always_inline void invalidate_rule(__u32 table, __u64 homes, __u32 id)
{
	__u64 *home, *record;
	__u32 at;

	if (id >= (__u32)homes)
		return;
	home = words_at(table, (homes >> 32) * TABLE_PAGE_WORDS + id, 1);
	if (!home)
		return;
	at = __sync_fetch_and_and(home, 0xffffffffULL);
	record = at ? words_at(table, at, TABLE_RECORD_BODY) : NULL;
	if (record)
		__sync_fetch_and_and(record + TABLE_RECORD_LIFE, ~0xffffffffULL);
}

/* Drops what a record's targets name. */
__noinline int offload_invalidate(const struct workspace *work, __u32 at, __u32 count)
{
	__u64 *header, *target;

	if (!work)
		return 0;
	header = page_of(work->table, 0);
	if (!header)
		return 0;
	for (__u32 i = 0; i < TABLE_TARGET_COUNT_MAX && i < count; i++) {
		target = words_at(work->table, at + i, 1);
		if (!target)
			break;
		if (*target >> 32)
			header[TABLE_HEADER_GROUPS + (*target & (TABLE_GROUP_COUNT - 1))] = 0;
		else
			invalidate_rule(work->table, header[TABLE_HEADER_HOMES], *target);
	}
	return 0;
}

#endif
