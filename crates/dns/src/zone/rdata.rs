//! Where domain names lie inside the data of a record, type by type.
//!
//! What it is not: a parser of every type. A server hands most data out as it is; only the names in it matter,
//! because some may be compressed, some point at addresses worth adding, and two names that differ in case
//! only are the same name. The invariant: data that passed [`check`] has whole names where [`Shape`] says.

use domain::base::iana::Rtype;

use crate::name::Name;

/// The names inside the data of one type: `prefix` bytes, then `names` names, then anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes before the first name.
    pub prefix: u8,
    /// How many names follow each other.
    pub names: u8,
    /// Bytes after the names: exactly so many, or any number.
    pub rest: Rest,
    /// A sender may compress the names: only where RFC 1035 itself defines the type (RFC 3597 section 4).
    pub compressible: bool,
    /// The names are compared and signed in lower case (RFC 4034 section 6.2, RFC 6840 section 5.1).
    pub folds: bool,
}

/// What may follow the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Exactly so many bytes.
    Exact(u8),
    /// At least so many bytes.
    AtLeast(u8),
}

impl Shape {
    const OPAQUE: Shape =
        Shape { prefix: 0, names: 0, rest: Rest::AtLeast(0), compressible: false, folds: false };

    const fn well_known(prefix: u8, names: u8, rest: u8) -> Shape {
        Shape { prefix, names, rest: Rest::Exact(rest), compressible: true, folds: true }
    }

    const fn folding(prefix: u8, names: u8, rest: Rest) -> Shape {
        Shape { prefix, names, rest, compressible: false, folds: true }
    }

    const fn kept(prefix: u8, names: u8, rest: Rest) -> Shape {
        Shape { prefix, names, rest, compressible: false, folds: false }
    }

    const fn sized(rest: Rest) -> Shape {
        Shape { rest, ..Shape::OPAQUE }
    }

    /// The shape of a type's data; a type that holds no name, or that nobody knows, is opaque.
    ///
    /// NAPTR and HIP have their names after fields of varying length: see [`names_at`].
    pub fn of(rtype: Rtype) -> Shape {
        match rtype {
            Rtype::NS | Rtype::CNAME | Rtype::PTR => Shape::well_known(0, 1, 0),
            Rtype::MB | Rtype::MD | Rtype::MF | Rtype::MG | Rtype::MR => Shape::well_known(0, 1, 0),
            Rtype::SOA => Shape::well_known(0, 2, 20),
            Rtype::MINFO => Shape::well_known(0, 2, 0),
            Rtype::MX => Shape::well_known(2, 1, 0),
            Rtype::RP => Shape::folding(0, 2, Rest::Exact(0)),
            Rtype::AFSDB | Rtype::RT | Rtype::KX => Shape::folding(2, 1, Rest::Exact(0)),
            Rtype::PX => Shape::folding(2, 2, Rest::Exact(0)),
            Rtype::SRV => Shape::folding(6, 1, Rest::Exact(0)),
            Rtype::DNAME => Shape::folding(0, 1, Rest::Exact(0)),
            Rtype::RRSIG | Rtype::SIG => Shape::folding(18, 1, Rest::AtLeast(1)),
            Rtype::NSEC => Shape::kept(0, 1, Rest::AtLeast(0)),
            Rtype::SVCB | Rtype::HTTPS => Shape::kept(2, 1, Rest::AtLeast(0)),
            Rtype::LP => Shape::kept(2, 1, Rest::Exact(0)),
            Rtype::TALINK => Shape::kept(0, 2, Rest::Exact(0)),
            Rtype::DSYNC => Shape::kept(5, 1, Rest::Exact(0)),
            Rtype::A => Shape::sized(Rest::Exact(4)),
            Rtype::AAAA => Shape::sized(Rest::Exact(16)),
            Rtype::DS | Rtype::CDS | Rtype::DNSKEY | Rtype::CDNSKEY => Shape::sized(Rest::AtLeast(4)),
            Rtype::NSEC3 => Shape::sized(Rest::AtLeast(7)),
            Rtype::NSEC3PARAM => Shape::sized(Rest::AtLeast(5)),
            Rtype::TXT | Rtype::SPF => Shape::sized(Rest::AtLeast(1)),
            _ => Shape::OPAQUE,
        }
    }
}

/// Where the names in one piece of data lie: offset of the first, how many there are, and the offset just
/// after the last; `None` if the data does not have the shape of its type.
pub(super) fn names_at(rtype: Rtype, rdata: &[u8]) -> Option<(usize, usize)> {
    let shape = Shape::of(rtype);
    let start = match rtype {
        Rtype::NAPTR => skip_strings(rdata, 4, 3)?,
        _ => usize::from(shape.prefix),
    };
    let count = if rtype == Rtype::NAPTR { 1 } else { shape.names };
    let mut end = start;
    for _ in 0..count {
        end += name_len(rdata.get(end..)?)?;
    }
    let rest = rdata.len().checked_sub(end)?;
    let fits = match shape.rest {
        Rest::Exact(len) => rest == usize::from(len),
        Rest::AtLeast(len) => rest >= usize::from(len),
    };
    fits.then_some((start, end))
}

/// Whether data has the shape of its type: what everything that reads it later relies on.
pub(super) fn check(rtype: Rtype, rdata: &[u8]) -> bool {
    rdata.len() <= usize::from(u16::MAX) && names_at(rtype, rdata).is_some()
}

/// The name that a record points at and whose addresses help whoever asked (RFC 1034 section 4.3.2 step 6,
/// RFC 2782, RFC 9460 section 4.1).
pub fn target(rtype: Rtype, rdata: &[u8]) -> Option<&Name> {
    let at = match rtype {
        Rtype::NS | Rtype::MB | Rtype::MD | Rtype::MF => 0,
        Rtype::MX | Rtype::AFSDB | Rtype::RT | Rtype::KX | Rtype::SVCB | Rtype::HTTPS => 2,
        Rtype::SRV => 6,
        _ => return None,
    };
    first_name(rdata.get(at..)?)
}

/// The name at the start of `bytes`.
pub(super) fn first_name(bytes: &[u8]) -> Option<&Name> {
    Name::from_wire(bytes.get(..name_len(bytes)?)?).ok()
}

/// The type that an RRSIG covers (RFC 4034 section 3.1.1).
pub fn covered_type(rrsig: &[u8]) -> Option<Rtype> {
    let bytes = rrsig.first_chunk::<2>()?;
    Some(Rtype::from_int(u16::from_be_bytes(*bytes)))
}

/// Writes the form in which equal data is equal bytes: names in lower case where the type folds them.
pub(super) fn canonical_into(rtype: Rtype, rdata: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(rdata);
    if !Shape::of(rtype).folds && rtype != Rtype::NAPTR {
        return;
    }
    if let Some((first, end)) = names_at(rtype, rdata) {
        // A length byte is at most 63, below 'A': folding every byte of a name leaves its labels alone.
        out[start + first..start + end].make_ascii_lowercase();
    }
}

fn name_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let len = usize::from(*bytes.get(at)?);
        at += 1 + len;
        match len {
            0 => return (at <= 255).then_some(at),
            1..=63 => {}
            _ => return None,
        }
    }
}

fn skip_strings(bytes: &[u8], start: usize, count: usize) -> Option<usize> {
    (0..count).try_fold(start, |at, _| Some(at + 1 + usize::from(*bytes.get(at)?)))
}
