//! Which content coding a client is sent (RFC 9110 section 12.5.3).

use crate::request::fields::Fields;

/// How a representation is coded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coding {
    /// Not at all.
    Identity,
    /// gzip (RFC 1952), from a `.gz` file.
    Gzip,
    /// Zstandard (RFC 8878), from a `.zst` file.
    Zstd,
    /// Brotli (RFC 7932), from a `.br` file.
    Brotli,
}

impl Coding {
    /// The coded ones, the one that packs best first.
    pub const CODED: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Its name in `Content-Encoding`; identity is never sent there (RFC 9110 section 8.4).
    pub const fn token(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Brotli => "br",
        }
    }

    /// What a precompressed file's name ends with.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
            Self::Brotli => ".br",
        }
    }

    fn is_named(self, token: &[u8]) -> bool {
        // RFC 9110 section 8.4.1.3: x-gzip is gzip.
        token.eq_ignore_ascii_case(self.token().as_bytes())
            || (self == Self::Gzip && token.eq_ignore_ascii_case(b"x-gzip"))
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The codings in which a document is there besides identity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CodingSet(u8);

impl CodingSet {
    /// This set and one more.
    #[must_use]
    pub const fn with(self, coding: Coding) -> Self {
        Self(self.0 | coding.bit())
    }

    /// Whether it is in the set.
    pub const fn contains(self, coding: Coding) -> bool {
        self.0 & coding.bit() != 0
    }

    /// Whether nothing is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Thousandths, 0 to 1000 (RFC 9110 section 12.4.2).
type Weight = u16;

/// What the client says of the codings it was asked about.
#[derive(Clone, Copy, Default)]
struct Weights {
    named: [Option<Weight>; 4],
    others: Option<Weight>,
}

/// Chooses among `available` and identity. If the client takes none of them identity it is, since a
/// representation is more use than a 406 (RFC 9110 section 12.5.3 leaves it to the server).
pub fn choose(fields: &Fields<'_, '_>, available: CodingSet) -> Coding {
    if available.is_empty() {
        return Coding::Identity;
    }
    let weights = read_weights(fields);
    let identity = weights.named[Coding::Identity as usize];
    let mut best = (Coding::Identity, identity.unwrap_or(0));
    for coding in Coding::CODED.into_iter().filter(|&coding| available.contains(coding)) {
        let weight = weights.named[coding as usize].or(weights.others).unwrap_or(0);
        // At equal weight the coded one is preferred to identity, and the better one to the worse.
        if weight > best.1 || (weight == best.1 && weight > 0 && best.0 == Coding::Identity) {
            best = (coding, weight);
        }
    }
    best.0
}

fn read_weights(fields: &Fields<'_, '_>) -> Weights {
    let mut weights = Weights::default();
    for member in fields.members("accept-encoding") {
        let (token, weight) = parse_member(member);
        if token == b"*" {
            weights.others = Some(weight);
        }
        let all = [Coding::Identity, Coding::Gzip, Coding::Zstd, Coding::Brotli];
        if let Some(coding) = all.into_iter().find(|coding| coding.is_named(token)) {
            weights.named[coding as usize] = Some(weight);
        }
    }
    weights
}

fn parse_member(member: &[u8]) -> (&[u8], Weight) {
    let mut parameters = member.split(|&b| b == b';').map(<[u8]>::trim_ascii);
    let token = parameters.next().unwrap_or_default();
    let weight = parameters.next().map_or(1000, |p| match p {
        [b'q' | b'Q', b'=', value @ ..] => parse_weight(value),
        _ => 0,
    });
    (token, weight)
}

/// `0[.ddd]` or `1[.000]`; anything else is as good as no.
fn parse_weight(value: &[u8]) -> Weight {
    let (whole, digits) = match value {
        [whole @ (b'0' | b'1')] => (whole, [].as_slice()),
        [whole @ (b'0' | b'1'), b'.', digits @ ..] if digits.len() <= 3 => (whole, digits),
        _ => return 0,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    let digit = |at: usize| digits.get(at).map_or(0, |d| u16::from(d - b'0'));
    let thousandths = digit(0) * 100 + digit(1) * 10 + digit(2);
    (u16::from(whole - b'0') * 1000 + thousandths).min(1000)
}
