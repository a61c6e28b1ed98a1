//! Which content coding a client is sent (RFC 9110 section 12.5.3).

use crate::request::fields::Fields;
use tidegate_content::Encoding;

/// The coded forms, the one that packs best first.
const CODED: [Encoding; 3] = [Encoding::Brotli, Encoding::Zstd, Encoding::Gzip];

/// The codings in which a document is there besides identity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CodingSet(u8);

impl CodingSet {
    /// This set and one more.
    #[must_use]
    pub const fn with(self, coding: Encoding) -> Self {
        Self(self.0 | bit(coding))
    }

    /// Whether it is in the set.
    pub const fn contains(self, coding: Encoding) -> bool {
        self.0 & bit(coding) != 0
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
pub fn choose(fields: &Fields<'_, '_>, available: CodingSet) -> Encoding {
    if available.is_empty() {
        return Encoding::Identity;
    }
    let weights = read_weights(fields);
    let identity = weights.named[Encoding::Identity as usize];
    let mut best = (Encoding::Identity, identity.unwrap_or(0));
    for coding in CODED.into_iter().filter(|&coding| available.contains(coding)) {
        let weight = weights.named[coding as usize].or(weights.others).unwrap_or(0);
        // At equal weight the coded one is preferred to identity, and the better one to the worse.
        if weight > best.1 || (weight == best.1 && weight > 0 && best.0 == Encoding::Identity) {
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
        if let Some(coding) = Encoding::ALL.into_iter().find(|&coding| is_named(coding, token)) {
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

fn is_named(coding: Encoding, token: &[u8]) -> bool {
    // RFC 9110 section 8.4.1.3: x-gzip is gzip.
    token.eq_ignore_ascii_case(coding.token().as_bytes())
        || (coding == Encoding::Gzip && token.eq_ignore_ascii_case(b"x-gzip"))
}

const fn bit(coding: Encoding) -> u8 {
    1 << coding as u8
}
