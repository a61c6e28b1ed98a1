//! Why records are no zone, and what is odd about those that are one.

use std::fmt;

use domain::base::iana::Rtype;

use crate::name::Name;

/// Where a record was read: which of the reader's files, and the line. All zero: nowhere that has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The number that the reader gave the file.
    pub file: u16,
    /// The line, from 1.
    pub line: u32,
}

/// A zone cannot be built.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{owner} {rtype}: {fault}")]
pub struct ZoneError {
    /// What is wrong.
    pub fault: Fault,
    /// The name that it is wrong at, as text.
    pub owner: String,
    /// The type of the record that it was noticed with.
    pub rtype: Rtype,
    /// Where that record was read.
    pub place: Place,
}

impl ZoneError {
    pub(super) fn new(fault: Fault, owner: &Name, rtype: Rtype, place: Place) -> Self {
        ZoneError { fault, owner: owner.to_string(), rtype, place }
    }
}

/// What is wrong with a record, or with the zone for want of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The owner is not at or below the apex.
    #[error(
        "the name is outside the zone {apex}; move the record to its own zone, or end the name without a dot"
    )]
    OutOfZone {
        /// The zone's name.
        apex: String,
    },
    /// Questions and messages have this type, data does not.
    #[error("this type cannot stand in a zone; remove the record")]
    MetaType,
    /// The data is not what the type demands.
    #[error("the data is malformed for its type")]
    BadData,
    /// An arena would pass 4 GiB.
    #[error("the zone is larger than 4 GiB in memory; split it")]
    TooLarge,
    /// More than 65,535 records of one name and type.
    #[error("more than 65,535 records in one set; no message can carry them")]
    SetTooLarge,
    /// No SOA at the apex.
    #[error("the zone has no SOA record; add one at its top")]
    NoSoa,
    /// Two different records where there can be one.
    #[error("there is more than one such record at this name; keep one")]
    NotSingle,
    /// An SOA below the apex.
    #[error("an SOA record stands below the top of the zone {apex}; remove it or split the zone")]
    SoaBelowApex {
        /// The zone's name.
        apex: String,
    },
    /// No NS at the apex.
    #[error("the zone has no NS record at its top; name its servers there")]
    NoApexNs,
    /// RFC 1034 section 3.6.2, RFC 2181 section 10.1.
    #[error("a CNAME record allows no other data at its name, and there is {other}; remove one of them")]
    CnameAndOther {
        /// The type beside it.
        other: Rtype,
    },
}

/// The zone is served, but something in it is probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What is odd.
    pub oddity: Oddity,
    /// The name that it is odd at.
    pub owner: String,
    /// The type that it is odd with.
    pub rtype: Rtype,
    /// Where the record was read.
    pub place: Place,
}

/// What is odd about a zone that can be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Oddity {
    /// RFC 2181 section 5.2.
    #[error("records of one set differ in TTL; the least, {ttl}, is served")]
    TtlsDiffer {
        /// The TTL that is served.
        ttl: u32,
    },
    /// RFC 4034 section 3: an RRSIG has the TTL of what it covers.
    #[error("a signature's TTL differs from that of the set it covers; the set's, {ttl}, is served")]
    SigTtlDiffers {
        /// The TTL that is served.
        ttl: u32,
    },
    /// Data below a cut that is no address, or data below a DNAME.
    #[error("the name is hidden below {above}; it is never an answer")]
    Occluded {
        /// The cut or the owner of the DNAME.
        above: String,
    },
    /// An RRSIG over a type that the name does not have.
    #[error("a signature covers records that are not there")]
    StraySignature,
    /// The name of a server inside the zone has no address.
    #[error("{target} is inside the zone and has no address record")]
    NoAddress {
        /// The name pointed at.
        target: String,
    },
    /// RFC 2181 section 10.3.
    #[error("{target} is an alias; the name of a server must not be")]
    TargetIsAlias {
        /// The name pointed at.
        target: String,
    },
    /// RFC 4035 section 2.4.
    #[error("a DS record stands where the zone does not delegate")]
    StrayDs,
    /// NSEC3PARAM names a chain of which there is nothing.
    #[error("NSEC3PARAM names parameters that no NSEC3 record has; denials go unproven")]
    NoChain,
    /// Signed, and neither NSEC nor NSEC3.
    #[error("the zone is signed and has no chain of NSEC or NSEC3 records; denials go unproven")]
    NoDenial,
    /// RFC 9276 section 3.1.
    #[error("{iterations} NSEC3 iterations; resolvers may refuse more than 0 (RFC 9276)")]
    Iterations {
        /// How many.
        iterations: u16,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.owner, self.rtype, self.oddity)
    }
}
