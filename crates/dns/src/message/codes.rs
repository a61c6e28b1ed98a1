//! Numbers that IANA gives names to: types, classes, rcodes and opcodes.
//!
//! Not enums: a number without a name is as good as any other, and goes through unchanged (RFC 3597
//! section 3). It is written `TYPE65280` then, and read so too.

use core::fmt;
use core::str::FromStr;
use thiserror::Error;

/// Text that names no such code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("not a {0}, and not {1} with a number")]
pub struct UnknownCode(&'static str, &'static str);

macro_rules! codes {
    ($(#[doc = $doc:literal])+ $kind:ident($repr:ty), $what:literal, $prefix:literal: $($name:ident = $number:literal,)+) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $kind(pub $repr);

        impl $kind {
            $(#[doc = concat!("`", stringify!($name), "`, ", stringify!($number), ".")]
            pub const $name: Self = Self($number);)+

            /// Every code that has a name.
            pub const NAMED: &'static [Self] = &[$(Self::$name),+];

            /// Its name, if it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => write!(f, concat!($prefix, "{}"), self.0),
                }
            }
        }

        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        /// Without regard to case (RFC 3597 section 5).
        impl FromStr for $kind {
            type Err = UnknownCode;

            fn from_str(text: &str) -> Result<Self, UnknownCode> {
                let named = Self::NAMED.iter().find(|code| {
                    code.name().is_some_and(|name| name.eq_ignore_ascii_case(text))
                });
                named.copied().or_else(|| numbered(text, $prefix).map(Self)).ok_or(UnknownCode($what, $prefix))
            }
        }
    };
}

/// The number behind `prefix`.
fn numbered<N: FromStr>(text: &str, prefix: &str) -> Option<N> {
    let (head, number) = text.split_at_checked(prefix.len())?;
    let digits = head.eq_ignore_ascii_case(prefix) && number.bytes().all(|octet| octet.is_ascii_digit());
    if digits { number.parse().ok() } else { None }
}

codes! {
    /// The type of a record, or what a question asks for.
    Rtype(u16), "record type", "TYPE":
    A = 1, NS = 2, MD = 3, MF = 4, CNAME = 5, SOA = 6, MB = 7, MG = 8, MR = 9, NULL = 10, WKS = 11, PTR = 12,
    HINFO = 13, MINFO = 14, MX = 15, TXT = 16, RP = 17, AFSDB = 18, X25 = 19, ISDN = 20, RT = 21, NSAP = 22,
    SIG = 24, KEY = 25, PX = 26, GPOS = 27, AAAA = 28, LOC = 29, NXT = 30, SRV = 33, NAPTR = 35, KX = 36,
    CERT = 37, A6 = 38, DNAME = 39, OPT = 41, APL = 42, DS = 43, SSHFP = 44, IPSECKEY = 45, RRSIG = 46,
    NSEC = 47, DNSKEY = 48, DHCID = 49, NSEC3 = 50, NSEC3PARAM = 51, TLSA = 52, SMIMEA = 53, HIP = 55,
    TALINK = 58, CDS = 59, CDNSKEY = 60, OPENPGPKEY = 61, CSYNC = 62, ZONEMD = 63, SVCB = 64, HTTPS = 65,
    DSYNC = 66, SPF = 99, NID = 104, L32 = 105, L64 = 106, LP = 107, EUI48 = 108, EUI64 = 109, TKEY = 249,
    TSIG = 250, IXFR = 251, AXFR = 252, MAILB = 253, MAILA = 254, ANY = 255, URI = 256, CAA = 257, AVC = 258,
    DOA = 259, AMTRELAY = 260, RESINFO = 261, WALLET = 262, TA = 32768, DLV = 32769,
}

codes! {
    /// The class of a record or a question.
    Class(u16), "class", "CLASS":
    IN = 1, CH = 3, HS = 4, NONE = 254, ANY = 255,
}

codes! {
    /// How it went. The upper eight of the twelve bits travel in the OPT record (RFC 6891 section 6.1.3).
    Rcode(u16), "rcode", "RCODE":
    NOERROR = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5, YXDOMAIN = 6, YXRRSET = 7,
    NXRRSET = 8, NOTAUTH = 9, NOTZONE = 10, BADVERS = 16, BADKEY = 17, BADTIME = 18, BADMODE = 19,
    BADNAME = 20, BADALG = 21, BADTRUNC = 22, BADCOOKIE = 23,
}

codes! {
    /// What kind of query it is.
    Opcode(u8), "opcode", "OPCODE":
    QUERY = 0, IQUERY = 1, STATUS = 2, NOTIFY = 4, UPDATE = 5, DSO = 6,
}

impl Rtype {
    /// Whether only questions have it: a transfer, ANY, MAILA, MAILB (RFC 6895 section 3.1: QTYPEs), or a
    /// record about the message itself (meta-TYPEs: OPT, TKEY, TSIG).
    pub const fn is_meta(self) -> bool {
        self.0 == Self::OPT.0 || (self.0 >= 128 && self.0 <= 255)
    }

    /// Where the record's data holds names that a writer may compress: octets before the first, and how many
    /// names. Only the types of RFC 1035 may (RFC 3597 section 4).
    #[inline]
    pub const fn compressible_names(self) -> Option<(usize, usize)> {
        match self {
            Self::NS | Self::MD | Self::MF | Self::CNAME | Self::MB | Self::MG | Self::MR | Self::PTR => {
                Some((0, 1))
            }
            Self::SOA | Self::MINFO => Some((0, 2)),
            Self::MX => Some((2, 1)),
            _ => None,
        }
    }
}
