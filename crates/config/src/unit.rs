//! Sizes, spans and rates as people write them: `512MiB`, `90s`, `100Mbit`.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;
use std::str::FromStr;
use tidegate_base::Duration;

/// A number of bytes: `4096`, `"64KiB"`, `"2GiB"`. The short forms `k`, `M`, `G` are powers of 1,024 too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteSize(pub u64);

/// A span of time: `"250us"`, `"500ms"`, `"30s"`, `"5min"`, `"1h"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Span(pub Duration);

/// Bits a second: `"500kbit"`, `"100Mbit"`, `"2Gbit"`, powers of 1,000 as links are sold; the short forms `k`, `M`, `G` and a plain
/// number are the same. Bytes a second with a B at the end: `"12MB"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BitRate(pub u64);

impl FromStr for BitRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is no rate: write one as \"100Mbit\" (kbit, Mbit, Gbit) or \"12MB\" (kB, MB, GB) a second"
            )
        };
        let (number, unit) = split(text);
        let (prefix, bits) = match unit.strip_suffix('B') {
            Some(prefix) => (prefix, 8),
            None => (unit.strip_suffix("bit").unwrap_or(unit), 1),
        };
        let factor: u64 = match prefix {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return Err(wrong()),
        };
        let count: u64 = number.parse().map_err(|_| wrong())?;
        count.checked_mul(factor * bits).map(Self).ok_or_else(wrong)
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text);
        let shift = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kib" => 10,
            "m" | "mib" => 20,
            "g" | "gib" => 30,
            "t" | "tib" => 40,
            _ => return Err(format!("\"{text}\" is no size: write one as \"512MiB\" (KiB, MiB, GiB, TiB)")),
        };
        let count: u64 =
            number.parse().map_err(|_| format!("\"{text}\" is no size: write one as \"512MiB\""))?;
        count
            .checked_mul(1 << shift)
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is more than any machine has: write a smaller size"))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text);
        let nanos_per_unit: u64 = match unit {
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => {
                return Err(format!(
                    "\"{text}\" is no span of time: write one as \"30s\" (us, ms, s, min, h)"
                ));
            }
        };
        let count: u64 =
            number.parse().map_err(|_| format!("\"{text}\" is no span of time: write one as \"30s\""))?;
        Ok(Self(Duration::from_nanos(nanos_per_unit).saturating_mul(count)))
    }
}

fn split(text: &str) -> (&str, &str) {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    (number, unit.trim())
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let fits = |&&(shift, _): &&(u32, &str)| self.0 != 0 && self.0.is_multiple_of(1 << shift);
        match units.iter().find(fits) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Size;
        impl Visitor<'_> for Size {
            type Value = ByteSize;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size as \"512MiB\" or a number of bytes")
            }
            fn visit_i64<E: Error>(self, n: i64) -> Result<ByteSize, E> {
                u64::try_from(n).map(ByteSize).map_err(|_| E::custom("a size is not negative"))
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<ByteSize, E> {
                Ok(ByteSize(n))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ByteSize, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_any(Size)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}
