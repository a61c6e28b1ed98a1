//! Queries of many kinds, damaged in the ways that matter to a reader of messages.
//!
//! ```text
//!   valid queries, the fuzzers' corpus --base--> any number of: bits, octets, cuts, splices, counts, flags, labels,
//!                                                pointers and loops of them, OPT, options, cookies, TSIG, repeats
//! ```

use crate::direct;
use crate::host::QUERY_LEN_MAX;
use crate::pieces;
use std::path::Path;
use tidegate_base::Rng;
use tidegate_dns::name::NameBuf;

const HEADER_LEN: usize = 12;
/// Values at which readers of lengths and kinds turn.
const OCTETS: [u8; 12] = [0, 1, 2, 0x0c, 0x3f, 0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xff];
const WORDS: [u16; 12] = [0, 1, 2, 41, 250, 255, 256, 511, 512, 0x7fff, 0xc00c, 0xffff];
/// EDNS options that are looked at, and some that are not: NSID, ECS, cookie, keep-alive, padding, unknown.
const OPTIONS: [u16; 7] = [3, 8, 10, 10, 11, 12, 65_001];

/// Makes damaged queries, always the same ones from one seed.
pub(crate) struct Mutator {
    rng: Rng,
    names: Vec<NameBuf>,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), names: pieces::owners(), corpus: corpus() }
    }

    pub(crate) const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Writes the next query to `message`.
    pub(crate) fn write(&mut self, message: &mut Vec<u8>) {
        self.write_base(message);
        // Half of them once or not at all: what is mostly right gets furthest.
        while self.rng.chance(0.5) {
            self.damage(message);
        }
        message.truncate(QUERY_LEN_MAX);
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound.max(1) as u64) as usize
    }

    fn octet(&mut self) -> u8 {
        self.rng.next_u32() as u8
    }

    fn write_base(&mut self, message: &mut Vec<u8>) {
        message.clear();
        if self.rng.chance(0.4) {
            let at = self.below(self.corpus.len());
            message.extend_from_slice(&self.corpus[at]);
        } else {
            *message = pieces::message(&mut self.rng, &self.names);
        }
        // Identifiers that tell answers apart, for those that have one.
        if let Some(id) = message.first_chunk_mut::<2>() {
            *id = (self.rng.next_u32() as u16).to_be_bytes();
        }
    }

    fn damage(&mut self, message: &mut Vec<u8>) {
        let at = self.below(message.len());
        match self.below(18) {
            0 | 1 => self.flip_bits(message),
            2 => put(message, at, &[self.octet()]),
            3 => put(message, at, &[OCTETS[self.below(OCTETS.len())]]),
            4 => self.put_word(message, at),
            5 => message.truncate(at),
            6 => self.append_noise(message),
            7 => self.splice(message, at),
            8 => self.put_count(message),
            9 => put(message, 2 + at % 2, &[self.octet()]),
            10 => self.break_label(message),
            11 | 12 => self.put_pointer(message),
            13 | 14 => self.append_opt(message),
            15 => self.append_tsig(message),
            16 => self.repeat(message, at),
            _ => message.rotate_left(at),
        }
    }

    fn flip_bits(&mut self, message: &mut [u8]) {
        for _ in 0..=self.below(8) {
            let bit = self.below(message.len() * 8);
            if let Some(octet) = message.get_mut(bit / 8) {
                *octet ^= 1 << (bit % 8);
            }
        }
    }

    fn put_word(&mut self, message: &mut [u8], at: usize) {
        let word = WORDS[self.below(WORDS.len())];
        put(message, at, &word.to_be_bytes());
    }

    fn put_count(&mut self, message: &mut [u8]) {
        let at = 4 + 2 * self.below(4);
        self.put_word(message, at);
    }

    fn append_noise(&mut self, message: &mut Vec<u8>) {
        let most = if self.rng.chance(0.05) { QUERY_LEN_MAX } else { 40 };
        let len = self.below(most);
        message.extend((0..len).map(|_| self.rng.next_u32() as u8));
    }

    /// The beginning of this one and the end of another.
    fn splice(&mut self, message: &mut Vec<u8>, at: usize) {
        let other = self.below(self.corpus.len());
        let from = self.rng.below(self.corpus[other].len().max(1) as u64) as usize;
        message.truncate(at);
        message.extend_from_slice(&self.corpus[other][from..]);
    }

    fn repeat(&mut self, message: &mut Vec<u8>, at: usize) {
        let part = message[at..].to_vec();
        let most = if self.rng.chance(0.05) { 60 } else { 3 };
        for _ in 0..=self.below(most) {
            message.extend_from_slice(&part[..part.len().min(QUERY_LEN_MAX.saturating_sub(message.len()))]);
        }
    }

    /// Where one of the question's labels begins.
    fn label_at(&mut self, message: &[u8]) -> usize {
        let mut starts = vec![HEADER_LEN];
        let mut at = HEADER_LEN;
        while let Some(len @ 1..=63) = message.get(at).copied() {
            at += usize::from(len) + 1;
            starts.push(at);
        }
        starts[self.below(starts.len())]
    }

    fn break_label(&mut self, message: &mut [u8]) {
        let at = self.label_at(message);
        let octet = if self.rng.chance(0.5) { OCTETS[self.below(OCTETS.len())] } else { self.octet() };
        put(message, at, &[octet]);
    }

    /// A pointer in the place of a label: to itself, before it, behind it, beyond the end, or a pair in a ring.
    fn put_pointer(&mut self, message: &mut Vec<u8>) {
        let at = self.label_at(message);
        let target = match self.below(5) {
            0 => at,
            1 => self.below(at + 1),
            2 => at + self.below(message.len()),
            3 => self.below(0x4000),
            _ => {
                let back = at as u16 | 0xc000;
                put(message, at + 2, &back.to_be_bytes());
                at + 2
            }
        };
        let pointer = (target as u16 & 0x3fff) | 0xc000;
        if self.rng.chance(0.5) && at <= message.len() {
            message.splice(at..at, pointer.to_be_bytes());
        } else {
            put(message, at, &pointer.to_be_bytes());
        }
    }

    /// An OPT record with options, whose lengths are right more often than not.
    fn append_opt(&mut self, message: &mut Vec<u8>) {
        let mut options = Vec::new();
        for _ in 0..self.below(4) {
            self.push_option(&mut options);
        }
        let size = if self.rng.chance(0.5) { 1232 } else { WORDS[self.below(WORDS.len())] };
        let version = if self.rng.chance(0.9) { 0 } else { self.octet() };
        let flags = if self.rng.chance(0.5) { 0x8000 } else { 0u16 };
        let len = if self.rng.chance(0.85) { options.len() as u16 } else { WORDS[self.below(WORDS.len())] };
        message.extend_from_slice(&[0, 0, 41]);
        message.extend_from_slice(&size.to_be_bytes());
        message.extend_from_slice(&[0, version]);
        message.extend_from_slice(&flags.to_be_bytes());
        message.extend_from_slice(&len.to_be_bytes());
        message.extend(options);
        count_additional(message);
    }

    fn push_option(&mut self, options: &mut Vec<u8>) {
        let code = OPTIONS[self.below(OPTIONS.len())];
        let len = if code == 10 { [8, 8, 16, 24, 40, 7, 41][self.below(7)] } else { self.below(20) };
        let said = if self.rng.chance(0.9) { len as u16 } else { WORDS[self.below(WORDS.len())] };
        options.extend_from_slice(&code.to_be_bytes());
        options.extend_from_slice(&said.to_be_bytes());
        options.extend((0..len).map(|_| self.rng.next_u32() as u8));
    }

    /// A TSIG record by the key that there is, its signature being none.
    fn append_tsig(&mut self, message: &mut Vec<u8>) {
        let mac_len = [32, 32, 16, 10, 9, 0, 64][self.below(7)];
        let mut data = b"\x0bhmac-sha256\x00".to_vec();
        data.extend((0..8).map(|_| self.rng.next_u32() as u8));
        data.extend_from_slice(&(mac_len as u16).to_be_bytes());
        data.extend((0..mac_len).map(|_| self.rng.next_u32() as u8));
        data.extend_from_slice(&[0; 6]);
        let len = if self.rng.chance(0.9) { data.len() as u16 } else { WORDS[self.below(WORDS.len())] };
        message.extend_from_slice(b"\x03key\x00\x00\xfa\x00\xff\x00\x00\x00\x00");
        message.extend_from_slice(&len.to_be_bytes());
        message.extend(data);
        count_additional(message);
    }
}

/// One record more in the header.
fn count_additional(message: &mut [u8]) {
    if let Some(count) = message.get_mut(11) {
        *count = count.wrapping_add(1);
    }
}

/// Writes what of `octets` fits over what is at `at`.
fn put(message: &mut [u8], at: usize, octets: &[u8]) {
    message.iter_mut().skip(at).zip(octets).for_each(|(to, from)| *to = *from);
}

/// Every datagram of the seeds and of the corpus that the fuzzer found.
fn corpus() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/dns_query");
    let mut paths: Vec<_> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let inputs = paths.iter().map(|path| std::fs::read(path).unwrap());
    inputs.flat_map(|input| direct::datagrams(&input).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
}
