//! A zone of any number of names and questions for it, both functions of the number alone.
//!
//! Of ten names five have an address, two have two, one has mail and text, one is an alias and one is delegated with
//! glue. Of ten questions one is for a name that does not exist, and of the others one in ten for a type that its
//! name does not have.

use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use tidegate_base::Rng;

use super::verify::Check;

/// The zone's name.
pub(crate) const APEX: &str = "bench.example.";

/// How many names a zone has below its apex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameCount(pub(crate) u32);

impl FromStr for NameCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1_000),
            None => text.strip_suffix(['m', 'M']).map_or((text, 1), |digits| (digits, 1_000_000)),
        };
        // An address in 10.0.0.0/8 for each.
        let count = digits.parse::<u32>().ok().and_then(|count| count.checked_mul(unit));
        let fits = |count: &u32| (1..1 << 24).contains(count);
        count.filter(fits).map(NameCount).ok_or_else(|| format!("{text}: say 1, 10k or 1M, at most 16M"))
    }
}

impl fmt::Display for NameCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 name"),
            count if count % 1_000_000 == 0 => write!(f, "{} M names", count / 1_000_000),
            count if count % 1_000 == 0 => write!(f, "{} k names", count / 1_000),
            count => write!(f, "{count} names"),
        }
    }
}

/// What a name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Address,
    Addresses,
    Mail,
    Alias,
    Delegation,
}

impl Kind {
    fn of(index: u32) -> Kind {
        match index % 10 {
            0..=4 => Kind::Address,
            5 | 6 => Kind::Addresses,
            7 => Kind::Mail,
            8 => Kind::Alias,
            _ => Kind::Delegation,
        }
    }

    /// Types to ask for: those that the name has, and one that it has not, where that makes a difference.
    fn types(self) -> (&'static [&'static str], &'static str) {
        match self {
            Kind::Address => (&["A"], "AAAA"),
            Kind::Addresses => (&["A", "AAAA"], "MX"),
            Kind::Mail => (&["A", "MX", "TXT"], "AAAA"),
            Kind::Alias | Kind::Delegation => (&["A"], "A"),
        }
    }
}

/// A label that tells nothing of the order in which names were made: an odd factor permutes 32 bits.
fn label(index: u32) -> String {
    format!("n{:08x}", index.wrapping_mul(0x9e37_79b1))
}

fn name(index: u32) -> String {
    format!("{}.{APEX}", label(index))
}

fn ipv4(index: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | index)
}

fn ipv6(index: u32) -> Ipv6Addr {
    Ipv6Addr::from(0xfd00_u128 << 112 | u128::from(index))
}

/// The zone file: RFC 1035 5.
pub(crate) fn write_zone(NameCount(count): NameCount, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "$ORIGIN {APEX}\n$TTL 3600\n@ SOA ns1 hostmaster 1 7200 3600 1209600 300\n@ NS ns1\n@ NS ns2\n\
         ns1 A 192.0.2.1\nns2 A 192.0.2.2"
    )?;
    (0..count).try_for_each(|index| write_records(index, out))
}

fn write_records(index: u32, out: &mut impl Write) -> io::Result<()> {
    let (label, v4, v6) = (label(index), ipv4(index), ipv6(index));
    match Kind::of(index) {
        Kind::Address => writeln!(out, "{label} A {v4}"),
        Kind::Addresses => writeln!(out, "{label} A {v4}\n{label} AAAA {v6}"),
        Kind::Mail => {
            writeln!(out, "{label} A {v4}\n{label} MX 10 {label}\n{label} TXT \"v=spf1 mx -all\"")
        }
        Kind::Alias => writeln!(out, "{label} CNAME {}", self::label(index - 8)),
        Kind::Delegation => writeln!(out, "{label} NS ns.{label}\nns.{label} A {v4}"),
    }
}

/// How many questions there are: enough to visit a quarter of the largest zone, few enough for a client to load
/// quickly.
fn question_count(count: u32) -> u32 {
    count.clamp(1_000, 1 << 18)
}

/// Questions, a name and a type each.
pub(crate) fn questions(NameCount(count): NameCount) -> impl Iterator<Item = (String, &'static str)> {
    let mut rng = Rng::new(u64::from(count));
    (0..question_count(count)).map(move |_| {
        let index = rng.below(count.into()) as u32;
        if rng.chance(0.1) { (format!("x{}", name(index)), "A") } else { question(index, &mut rng) }
    })
}

fn question(index: u32, rng: &mut Rng) -> (String, &'static str) {
    let kind = Kind::of(index);
    let (present, absent) = kind.types();
    let asked = if rng.chance(0.1) { absent } else { present[rng.below(present.len() as u64) as usize] };
    match kind {
        Kind::Delegation => (format!("www.{}", name(index)), asked),
        _ => (name(index), asked),
    }
}

/// Questions whose answers are known, one of each kind that the zone has.
pub(crate) fn checks(NameCount(count): NameCount) -> Vec<Check> {
    let check = |name: String, kind, status, holds: &str| Check { name, kind, status, holds: holds.into() };
    let mut checks = vec![
        check(name(0), "A", "NOERROR", &ipv4(0).to_string()),
        check(name(0), "AAAA", "NOERROR", "SOA"),
        check(format!("x{}", name(0)), "A", "NXDOMAIN", "SOA"),
        check(APEX.into(), "NS", "NOERROR", &format!("ns2.{APEX}")),
    ];
    if let Some(tens) = (count / 10).checked_sub(1) {
        let of = |digit: u32| tens * 10 + digit;
        checks.extend([
            check(name(of(5)), "AAAA", "NOERROR", &ipv6(of(5)).to_string()),
            check(name(of(7)), "MX", "NOERROR", &format!("10 {}", name(of(7)))),
            check(name(of(7)), "TXT", "NOERROR", "v=spf1 mx -all"),
            check(name(of(8)), "A", "NOERROR", &ipv4(of(0)).to_string()),
            check(format!("www.{}", name(of(9))), "A", "NOERROR", &format!("ns.{}", name(of(9)))),
            check(format!("www.{}", name(of(9))), "A", "NOERROR", &ipv4(of(9)).to_string()),
        ]);
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_people_write_them() {
        assert_eq!("1".parse(), Ok(NameCount(1)));
        assert_eq!("10k".parse(), Ok(NameCount(10_000)));
        assert_eq!("1M".parse(), Ok(NameCount(1_000_000)));
        assert!("0".parse::<NameCount>().is_err() && "17M".parse::<NameCount>().is_err());
        assert_eq!(NameCount(10_000).to_string(), "10 k names");
    }

    #[test]
    fn a_zone_is_the_same_every_time() {
        let zone = |count| {
            let mut text = Vec::new();
            write_zone(NameCount(count), &mut text).unwrap();
            text
        };
        assert_eq!(zone(100), zone(100));
        assert_eq!(String::from_utf8(zone(1)).unwrap().lines().last(), Some("n00000000 A 10.0.0.0"));
    }

    #[test]
    fn a_tenth_of_the_questions_is_for_names_that_are_not_there() {
        let all: Vec<_> = questions(NameCount(10_000)).collect();
        let absent = all.iter().filter(|(name, _)| name.starts_with('x')).count();
        assert!((900..1100).contains(&absent), "{absent} of {}", all.len());
        assert!(all.iter().any(|(name, _)| name.starts_with("www.")));
    }

    #[test]
    fn no_two_names_are_alike() {
        let mut labels: Vec<String> = (0..100_000).map(label).collect();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), 100_000);
    }
}
