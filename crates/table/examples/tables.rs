//! Lookups a second of each table, at the sizes that a dataplane meets, beside a plain way to do the same.
//!
//! `cargo run --release -p tidegate-table --example tables [NAME...]`: only the tables whose line has a NAME in it.
//! Every figure is the best of several rounds; keys are drawn before, at random or skewed (nine of ten from a
//! hundredth of the keys). One thread, batches of 32.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "it is what this program is for")]

use std::collections::HashMap;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::Instant as Clock;
use tidegate_base::{Duration, FlowHasher, Instant, Rng};
use tidegate_table::{
    Acl, BATCH_LEN_MAX, Exact, Field, Fields, Flows, Gate, Header, Keys, Lpm, MacTable, Pacer, PacerLimits,
    PortRange, Prefix, Rule, Wildcard, key_v4,
};

/// Keys drawn for a measurement.
const KEY_COUNT: usize = 1 << 18;
const ROUND_COUNT: usize = 7;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    println!("{:<58}{:>10}{:>10}{:>14}", "million lookups a second", "random", "skewed", "plain, random");
    let tables: [(&str, fn()); 9] = [
        ("lpm-v4", v4_routes),
        ("lpm-v6", v6_routes),
        ("exact-small", || [&[4, 4][..], &[4, 4, 2, 2, 1]].into_iter().for_each(|sizes| exact(256, sizes))),
        ("exact-large", || {
            [&[4, 4][..], &[4, 4, 2, 2, 1]].into_iter().for_each(|sizes| exact(1 << 20, sizes))
        }),
        ("wildcard", wildcard),
        ("acl", access_list),
        ("flows", flows),
        ("pacer", pacing),
        ("l2", mac_addresses),
    ];
    tables.iter().filter(|(name, _)| is_wanted(name)).for_each(|(_, measure)| measure());
}

/// The best of several rounds over `count` lookups, in millions a second.
fn best(count: usize, mut round: impl FnMut()) -> f64 {
    let rounds = (0..ROUND_COUNT).map(|_| {
        let start = Clock::now();
        round();
        count as f64 / start.elapsed().as_secs_f64() / 1e6
    });
    rounds.fold(0.0, f64::max)
}

fn line(name: &str, random: f64, skewed: f64, plain: f64) {
    let shown = |rate: f64| if rate.is_nan() { "-".to_owned() } else { format!("{rate:.1}") };
    println!("{name:<58}{:>10}{:>10}{:>14}", shown(random), shown(skewed), shown(plain));
}

/// `count` places in a list of `len` keys, drawn at random, or nine of ten from its first hundredth.
fn picks(count: usize, len: usize, is_skewed: bool) -> Vec<usize> {
    let mut rng = Rng::new(77);
    let few = (len / 100).max(1) as u64;
    let mut pick = || match is_skewed && rng.chance(0.9) {
        true => rng.below(few) as usize,
        false => rng.below(len as u64) as usize,
    };
    (0..count).map(|_| pick()).collect()
}

/// How many keys are drawn from a list of `len`: for a small one so few that they stay in the nearest cache, as the
/// headers of a batch do.
const fn drawn_count(len: usize) -> usize {
    if len <= 1 << 14 { 1 << 12 } else { KEY_COUNT }
}

/// Looks up batches of a list's keys, drawn at random and skewed.
fn both<K: Copy>(keys: &[K], mut look_up: impl FnMut(&[K])) -> (f64, f64) {
    let mut rate = |is_skewed| {
        let picks = picks(drawn_count(keys.len()), keys.len(), is_skewed);
        let drawn: Vec<K> = picks.into_iter().map(|at| keys[at]).collect();
        let turns = KEY_COUNT / drawn.len();
        best(KEY_COUNT, || (0..turns).for_each(|_| drawn.chunks(BATCH_LEN_MAX).for_each(&mut look_up)))
    };
    (rate(false), rate(true))
}

/// One at a time, for what `both` is compared with.
fn plain<K: Copy>(keys: &[K], count: usize, mut look_up: impl FnMut(&K)) -> f64 {
    let picks = picks(drawn_count(keys.len()).min(count), keys.len(), false);
    let drawn: Vec<K> = picks.into_iter().map(|at| keys[at]).collect();
    let turns = count / drawn.len();
    best(turns * drawn.len(), || (0..turns).for_each(|_| drawn.iter().for_each(&mut look_up)))
}

/// A million routes with lengths as the Internet has them: three of five are /24, few are longer.
fn internet(rng: &mut Rng) -> Vec<(Prefix<u32>, Gate)> {
    let mut draw = || {
        let len = match rng.below(1_000) {
            0..600 => 24,
            600..700 => 22,
            700..780 => 23,
            780..850 => 20 + rng.below(2) as u8,
            850..990 => 12 + rng.below(8) as u8,
            _ => 25 + rng.below(8) as u8,
        };
        (Prefix::containing(rng.next_u32(), len), rng.below(64) as Gate)
    };
    (0..1_000_000).map(|_| draw()).collect()
}

fn v4_routes() {
    let mut rng = Rng::new(1);
    let routes = internet(&mut rng);
    let mut table = Lpm::new(1_000_000, 20_000);
    let start = Clock::now();
    routes.iter().for_each(|(prefix, gate)| table.add(*prefix, *gate).or_stop());
    println!(
        "  ({} IPv4 routes added in {:.2} s, {} groups)",
        table.len(),
        start.elapsed().as_secs_f64(),
        table.group_count()
    );
    let mut by_len: Vec<HashMap<u32, Gate, FlowHasher>> = vec![HashMap::with_hasher(FlowHasher::new(3)); 33];
    for (prefix, gate) in &routes {
        by_len[usize::from(prefix.len())].insert(prefix.address(), *gate);
    }
    let addresses: Vec<u32> = (0..KEY_COUNT).map(|_| rng.next_u32()).collect();
    let mut gates = [0; BATCH_LEN_MAX];
    let (random, skewed) =
        both(&addresses, |batch| table.lookup_batch(black_box(batch), black_box(&mut gates)));
    let slow = plain(&addresses, KEY_COUNT, |address| {
        let mut lens = (0..=32).rev();
        black_box(
            lens.find_map(|len| by_len[usize::from(len)].get(&Prefix::containing(*address, len).address())),
        );
    });
    line("lpm, IPv4, 1 M routes, any address (a map a length)", random, skewed, slow);
    let inside: Vec<u32> = routes.iter().map(|(prefix, _)| prefix.address()).take(KEY_COUNT).collect();
    let (random, skewed) = both(&inside, |batch| table.lookup_batch(black_box(batch), black_box(&mut gates)));
    line("lpm, IPv4, 1 M routes, addresses in them", random, skewed, f64::NAN);
}

/// IPv6 routes as they are given out: 20,000 blocks of 32 bits, in each ten networks of up to 48.
fn v6_routes() {
    let mut rng = Rng::new(8);
    let mut table = Lpm::<u128>::new(220_000, 400_000);
    let mut addresses = Vec::new();
    for _ in 0..20_000 {
        let block = 0x2000 << 112 | u128::from(rng.next_u32() & 0x0fff_ffff) << 96;
        for number in 0..11 {
            let len = if number == 0 { 32 } else { [36, 40, 44, 48][rng.below(4) as usize] };
            let prefix = Prefix::containing(block | u128::from(rng.next_u32()) << 64, len);
            table.add(prefix, rng.below(64) as Gate).or_stop();
            addresses.push(prefix.address() | u128::from(rng.next_u64()));
        }
    }
    let mut gates = [0; BATCH_LEN_MAX];
    let (random, skewed) =
        both(&addresses, |batch| table.lookup_batch(black_box(batch), black_box(&mut gates)));
    line(
        &format!("lpm, IPv6, {} routes, {} groups", table.len(), table.group_count()),
        random,
        skewed,
        f64::NAN,
    );
}

fn exact(rule_count: usize, sizes: &[u8]) {
    let mut rng = Rng::new(2);
    let list: Vec<_> = sizes.iter().map(|size| Field::new(*size)).collect();
    let fields = Fields::new(&list).or_stop();
    let mut table = Exact::new(fields.clone(), 0, 99);
    let mut map = HashMap::with_hasher(FlowHasher::new(99));
    let mut rules = Vec::new();
    for gate in 0..rule_count {
        let values: Vec<u64> = list.iter().map(|field| rng.next_u64() & field.mask).collect();
        table.add(&values, gate as Gate).or_stop();
        let mut rule = [0; 5];
        rule[..values.len()].copy_from_slice(&values);
        map.insert(rule, gate as Gate);
        rules.push(rule);
    }
    let (mut keys, mut gates) = (Keys::new(&fields), [0; BATCH_LEN_MAX]);
    let (random, skewed) = both(&rules, |batch| {
        keys.reset(batch.len());
        (0..list.len()).for_each(|field| fields.fill(&mut keys, field, |packet| batch[packet][field]));
        table.lookup(black_box(&keys), black_box(&mut gates));
    });
    let slow = plain(&rules, KEY_COUNT, |rule| {
        black_box(map.get(rule));
    });
    line(&format!("exact, {rule_count} rules of fields {sizes:?} (a map)"), random, skewed, slow);
}

fn wildcard() {
    for (rule_count, mask_count) in [(256, 4), (10_000, 8), (10_000, 32)] {
        wildcard_of(rule_count, mask_count);
    }
}

fn wildcard_of(rule_count: usize, mask_count: usize) {
    let mut rng = Rng::new(3);
    let fields = Fields::new(&[Field::new(4), Field::new(4)]).or_stop();
    let mut table = Wildcard::new(fields.clone(), 0, 99);
    let mut rules = Vec::new();
    for number in 0..rule_count {
        let kind = (number % mask_count) as u32;
        let masks = [u64::from(u32::MAX << (kind % 8)), u64::from(u32::MAX << (kind / 8))];
        let values = [u64::from(rng.next_u32()) & masks[0], u64::from(rng.next_u32()) & masks[1]];
        let priority = i64::from(kind) + i64::from(number as u32 % 2);
        table.add(&values, &masks, priority, number as Gate).or_stop();
        rules.push((values, masks, priority));
    }
    let packets: Vec<[u64; 2]> = rules.iter().map(|(values, ..)| *values).collect();
    let (mut keys, mut gates) = (Keys::new(&fields), [0; BATCH_LEN_MAX]);
    let (random, skewed) = both(&packets, |batch| {
        keys.reset(batch.len());
        (0..2).for_each(|field| fields.fill(&mut keys, field, |packet| batch[packet][field]));
        table.lookup(black_box(&keys), black_box(&mut gates));
    });
    let slow = plain(&packets, 2_000, |packet| {
        let matching =
            rules.iter().filter(|(value, mask, _)| (0..2).all(|f| packet[f] & mask[f] == value[f]));
        black_box(matching.max_by_key(|rule| rule.2));
    });
    line(&format!("wildcard, {rule_count} rules, {mask_count} masks (linear search)"), random, skewed, slow);
}

/// Rules as in a firewall: networks to networks, a service each.
fn acl_rules(rng: &mut Rng, count: usize) -> Vec<Rule> {
    let mut draw = || {
        let network = |rng: &mut Rng| Prefix::containing(rng.next_u32(), 8 + rng.below(25) as u8);
        let port = [0, 22, 53, 80, 443, 3306, 8080][rng.below(7) as usize];
        Rule {
            src: if rng.chance(0.3) { Prefix::containing(0, 0) } else { network(rng) },
            dst: network(rng),
            src_ports: PortRange::ANY,
            dst_ports: PortRange::one_or_any(port),
            protocol: Some(if rng.chance(0.7) { 6 } else { 17 }),
            established: false,
        }
    };
    (0..count).map(|_| draw()).collect()
}

fn access_list() {
    for (rule_count, is_met) in [(1_000, true), (1_000, false), (10_000, true)] {
        access_list_of(rule_count, is_met);
    }
}

fn access_list_of(rule_count: usize, is_met: bool) {
    let mut rng = Rng::new(4);
    let rules = acl_rules(&mut rng, rule_count);
    let acl = Acl::new(&rules).or_stop();
    let header = |index: usize| {
        let rule = &rules[index % rule_count];
        let (src, dst) = match is_met {
            true => (rule.src.address(), rule.dst.address()),
            false => (rng.next_u32(), rng.next_u32()),
        };
        let protocol = rule.protocol.unwrap_or(6);
        Header { src, dst, src_port: 4_000, dst_port: rule.dst_ports.last, protocol, established: true }
    };
    let headers: Vec<_> = (0..KEY_COUNT).map(header).collect();
    let mut found = [0; BATCH_LEN_MAX];
    let (random, skewed) = both(&headers, |batch| acl.lookup_batch(black_box(batch), black_box(&mut found)));
    let slow = plain(&headers, 5_000, |header| {
        black_box(rules.iter().position(|rule| rule.admits(header)));
    });
    let which = if is_met { "each meets one" } else { "random headers" };
    line(&format!("acl, {rule_count} rules, {which} (linear search)"), random, skewed, slow);
}

fn flows() {
    const FLOW_COUNT: usize = 1 << 20;
    let (now, later) = (Instant::from_millis(1), Instant::from_millis(900_000));
    let mut rng = Rng::new(5);
    let mut table = Flows::<2, u64>::new(FLOW_COUNT, 7).or_stop();
    let mut map = HashMap::with_hasher(FlowHasher::new(7));
    let mut draw = || key_v4(rng.next_u32(), rng.next_u32(), rng.next_u32() as u16, 443, 6, 0);
    let keys: Vec<_> = (0..FLOW_COUNT).map(|_| draw()).collect();
    let mut slowest = std::time::Duration::ZERO;
    let start = Clock::now();
    for (value, key) in (0..).zip(&keys) {
        let before = Clock::now();
        let _ = table.insert(*key, value, now, later, &mut |_, _| ());
        slowest = slowest.max(before.elapsed());
        map.insert(*key, value);
    }
    let took = start.elapsed().as_secs_f64();
    println!(
        "  ({} flows, with those of the map, in {took:.2} s; the slowest insertion took {slowest:?})",
        table.len()
    );
    let mut ids = [None; BATCH_LEN_MAX];
    let (random, skewed) = both(&keys, |batch| {
        table.lookup_batch(black_box(batch), now, &mut ids);
        ids.iter().flatten().for_each(|id| table.touch(*id, later));
    });
    let slow = plain(&keys, KEY_COUNT, |key| {
        black_box(map.get(key));
    });
    line("flows, 1 M, look up and touch (a map, look up)", random, skewed, slow);
    let (mut next, mut gone) = (0, 0);
    let churn = best(KEY_COUNT, || {
        for _ in 0..KEY_COUNT {
            let key = keys[next % FLOW_COUNT];
            next += 1;
            let Some(id) = table.lookup(&key, now) else { continue };
            gone += usize::from(table.remove(id).is_some());
            let _ = black_box(table.insert(key, 1, now, later, &mut |_, _| ()));
        }
    });
    line("flows, 1 M, remove one and insert one", churn, f64::NAN, f64::NAN);
    let sweep = best(FLOW_COUNT, || table.sweep(now, FLOW_COUNT, &mut |_, _| gone += 1));
    line("flows, entries swept", sweep, f64::NAN, f64::NAN);
}

fn pacing() {
    for flow_count in [1_024u32, 8_192, 65_536] {
        let slot = Duration::from_nanos(1_024);
        let queued_max = flow_count as usize * 2;
        let limits = PacerLimits { flow_count: flow_count as usize, queued_max, queued_max_a_flow: 2, slot };
        let mut pacer = Pacer::new(limits).or_stop();
        for flow in 0..flow_count {
            let rate = NonZeroU64::new(1_000_000 + u64::from(flow) * 10_000 % 10_000_000);
            rate.into_iter().for_each(|rate| pacer.set_rate(flow, rate).or_stop());
            (0..2).for_each(|_| {
                pacer.enqueue(flow, 0u32, 1_500, Instant::ZERO).map_err(|refused| refused.why).or_stop()
            });
        }
        let mut now = Instant::ZERO;
        let mut left = Vec::new();
        let rate = best(KEY_COUNT, || {
            let mut count = 0;
            while count < KEY_COUNT {
                now += Duration::from_micros(20);
                left.clear();
                count += pacer.poll(now, BATCH_LEN_MAX, &mut |flow, item| left.push((flow, item)));
                left.drain(..).for_each(|(flow, item)| {
                    pacer.enqueue(flow, item, 1_500, now).map_err(|refused| refused.why).or_stop()
                });
            }
        });
        line(
            &format!("pacer, {flow_count} flows of 1-11 Mbit/s, poll and enqueue"),
            rate,
            f64::NAN,
            f64::NAN,
        );
    }
}

/// A result that is always good here; if it is not, the program ends with the reason.
trait OrStop<T> {
    fn or_stop(self) -> T;
}

impl<T, E: std::fmt::Display> OrStop<T> for Result<T, E> {
    fn or_stop(self) -> T {
        self.unwrap_or_else(|why| panic!("{why}"))
    }
}

fn mac_addresses() {
    for count in [1_000, 100_000, 1_000_000] {
        let mut rng = Rng::new(6);
        let mut table = MacTable::new(count, 7).or_stop();
        let mut map = HashMap::with_hasher(FlowHasher::new(7));
        let addresses: Vec<u64> = (0..count).map(|_| rng.next_u64() >> 16).collect();
        for address in &addresses {
            table.add(*address, 1).or_stop();
            map.insert(*address, 1 as Gate);
        }
        let mut gates = [0; BATCH_LEN_MAX];
        let (random, skewed) =
            both(&addresses, |batch| table.lookup_batch(black_box(batch), black_box(&mut gates)));
        let slow = plain(&addresses, KEY_COUNT, |address| {
            black_box(map.get(address));
        });
        line(&format!("l2, {count} addresses (a map)"), random, skewed, slow);
    }
}
