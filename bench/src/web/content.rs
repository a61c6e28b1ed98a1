//! What is served: files in memory, the same bytes for every server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;
use tidegate_testbed::ScratchDir;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Body {
    /// One file of that many bytes.
    Bytes(u64),
    /// Any of [`MIX_COUNT`] files, sized like the requests to Yahoo!'s CDN: nine in ten below 25 KB, the
    /// largest near 20 MB (Sandstorm, section 3.2).
    Mix,
}

impl Body {
    pub(crate) const ALL: &[Body] = &[
        Body::Bytes(64),
        Body::Bytes(1 << 10),
        Body::Bytes(4 << 10),
        Body::Bytes(16 << 10),
        Body::Bytes(64 << 10),
        Body::Bytes(256 << 10),
        Body::Bytes(1 << 20),
        Body::Mix,
    ];
    pub(crate) const QUICK: &[Body] = &[Body::Bytes(64), Body::Bytes(16 << 10)];

    /// The paths, below the root, that a client asks for in turn.
    pub(crate) fn paths(self) -> Vec<String> {
        match self {
            Body::Bytes(size) => vec![format!("bytes/{size}")],
            Body::Mix => mix_order().map(|index| format!("mix/{index}")).collect(),
        }
    }

    fn sizes(self) -> Vec<u64> {
        match self {
            Body::Bytes(size) => vec![size],
            Body::Mix => mix_order().map(|index| mix_size((index as f64 + 0.5) / MIX_COUNT as f64)).collect(),
        }
    }
}

/// Files in the mix.
pub(crate) const MIX_COUNT: usize = 1000;

/// The files from small to large, scattered: a client that goes through them meets all sizes early.
fn mix_order() -> impl Iterator<Item = usize> {
    const STEP: usize = 617; // prime, and so every index comes once
    (0..MIX_COUNT).map(|position| position * STEP % MIX_COUNT)
}

/// The size at a quantile: log-uniform from 200 B to 25 kB, then a Pareto tail.
fn mix_size(quantile: f64) -> u64 {
    const SMALLEST: f64 = 200.0;
    const NINTH_DECILE: f64 = 25_000.0;
    const TAIL_EXPONENT: f64 = 0.8;
    let size = if quantile < 0.9 {
        SMALLEST * (NINTH_DECILE / SMALLEST).powf(quantile / 0.9)
    } else {
        NINTH_DECILE * ((1.0 - quantile) / 0.1).powf(-1.0 / TAIL_EXPONENT)
    };
    size as u64
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Body::Mix => f.pad("mix"),
            Body::Bytes(size) if size >= 1 << 20 && size % (1 << 20) == 0 => {
                f.pad(&format!("{} MiB", size >> 20))
            }
            Body::Bytes(size) if size >= 1 << 10 && size % (1 << 10) == 0 => {
                f.pad(&format!("{} KiB", size >> 10))
            }
            Body::Bytes(size) => f.pad(&format!("{size} B")),
        }
    }
}

impl FromStr for Body {
    type Err = String;

    fn from_str(text: &str) -> Result<Body, String> {
        if text == "mix" {
            return Ok(Body::Mix);
        }
        let (digits, shift) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 10),
            None => text.strip_suffix(['m', 'M']).map_or((text, 0), |digits| (digits, 20)),
        };
        let size = digits.parse::<u64>().ok().filter(|&size| (1..=1 << 12).contains(&size) || shift == 0);
        size.map(|size| Body::Bytes(size << shift)).ok_or_else(|| format!("{text}: say 64, 4K, 1M or mix"))
    }
}

impl Serialize for Body {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Body::Bytes(size) => serializer.serialize_u64(size),
            Body::Mix => serializer.serialize_str("mix"),
        }
    }
}

/// The files, in memory, gone when dropped.
#[derive(Debug)]
pub(crate) struct Content {
    directory: ScratchDir,
}

impl Content {
    pub(crate) fn write(bodies: &[Body]) -> anyhow::Result<Content> {
        let directory = ScratchDir::in_memory()?;
        for body in bodies {
            for (path, size) in body.paths().iter().zip(body.sizes()) {
                directory.write(path, noise(size))?;
            }
        }
        Ok(Content { directory })
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }
}

/// Bytes that no coding makes shorter, a function of the size alone.
fn noise(size: u64) -> Vec<u8> {
    let mut state = size | 1;
    let step = || {
        // Marsaglia's xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(step).take(size as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_in_ten_of_the_mix_are_below_25_kb() {
        let sizes = Body::Mix.sizes();
        assert_eq!(sizes.iter().filter(|&&size| size < 25_000).count(), MIX_COUNT * 9 / 10);
        let largest = *sizes.iter().max().unwrap();
        assert!((10_000_000..21_000_000).contains(&largest), "{largest}");
    }

    #[test]
    fn sizes_as_people_write_them() {
        assert_eq!("64".parse(), Ok(Body::Bytes(64)));
        assert_eq!("4K".parse(), Ok(Body::Bytes(4096)));
        assert_eq!("1M".parse(), Ok(Body::Bytes(1 << 20)));
        assert_eq!("mix".parse(), Ok(Body::Mix));
        assert!("many".parse::<Body>().is_err());
        assert_eq!(Body::Bytes(16 << 10).to_string(), "16 KiB");
    }
}
