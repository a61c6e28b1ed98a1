//! Zones handed in: the messages of an AXFR or IXFR become the next version of a zone.
//!
//! ```text
//!   Begin --SOA--> Second --SOA of ours---> Removing <--> Adding --SOA of the new version--> complete
//!                    |  \\--any other record-> Whole --SOA again--> complete
//!                    \\--(nothing more, version not newer)--> up to date
//! ```
//! No I/O: signatures are verified and messages cut out before. What is checked here is that it is the answer
//! to what was asked, and that it is complete; whether the zone can be served is [`ZoneBuilder::finish`]'s.
//!
//! Invariant: nothing comes out before the closing SOA.

mod reader;

use crate::message::Malformed;
use crate::name::{Name, NameBuf};
use crate::zone::{Records, Zone, ZoneBuilder, ZoneError};
use domain::base::iana::Rtype;
use reader::Record;
pub(crate) use reader::{Reader, expire_s};
use std::sync::Arc;

/// What came of a transfer.
#[derive(Debug)]
pub(crate) enum Received {
    /// The primary has no newer version.
    UpToDate,
    /// A whole new version.
    Zone(Box<Zone>),
}

/// Why a transfer is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InboundError {
    /// Not a message, or not one that answers the question.
    #[error("an answer that is malformed, or not to this question")]
    Malformed,
    /// The primary refuses.
    #[error("the primary answers {}", rcode_name(*.0))]
    Refused(u8),
    /// The sequence of SOAs makes no sense (RFC 1995 section 4, RFC 5936 section 2.2).
    #[error("records in an order that is no transfer")]
    Disorder,
    /// The zone cannot be served.
    #[error("a zone that cannot be served: {0}")]
    Zone(#[from] ZoneError),
}

impl From<Malformed> for InboundError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

fn rcode_name(rcode: u8) -> &'static str {
    match rcode {
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        9 => "NOTAUTH",
        _ => "an error",
    }
}

/// How far it is.
enum Phase {
    Begin,
    /// The new version is known, and not yet which kind of answer it is.
    Second,
    Whole(ZoneBuilder),
    Removing(ZoneBuilder),
    Adding(ZoneBuilder, u32),
    Complete(ZoneBuilder),
    UpToDate,
}

/// A transfer that is coming in.
pub(crate) struct Inbound {
    apex: NameBuf,
    id: u16,
    /// What is here already, if changes were asked for.
    base: Option<Arc<Zone>>,
    phase: Phase,
    /// The SOA that it began with, and will end with.
    soa: Option<Soa>,
}

struct Soa {
    serial: u32,
    ttl: u32,
    rdata: Vec<u8>,
}

impl Inbound {
    /// The answer to a query with `id` for the zone `apex`: for what has changed since `base`, or all of it.
    pub(crate) fn new(id: u16, apex: &Name, base: Option<Arc<Zone>>) -> Self {
        Self { apex: apex.to_owned(), id, base, phase: Phase::Begin, soa: None }
    }

    /// Takes in the next message. True: it was the last one.
    pub(crate) fn on_message(&mut self, message: &[u8]) -> Result<bool, InboundError> {
        let mut reader = Reader::of_answer(message, self.id)?;
        if reader.rcode() != 0 {
            return Err(InboundError::Refused(reader.rcode()));
        }
        let mut rdata = Vec::new();
        while let Some(record) = reader.next_record(&mut rdata)? {
            self.on_record(&record)?;
        }
        self.settle_version();
        Ok(matches!(self.phase, Phase::Complete(_) | Phase::UpToDate))
    }

    /// What came of it, when the last message is in.
    pub(crate) fn finish(self) -> Result<Received, InboundError> {
        match self.phase {
            Phase::UpToDate => Ok(Received::UpToDate),
            Phase::Complete(builder) => Ok(Received::Zone(Box::new(builder.finish()?))),
            _ => Err(InboundError::Disorder),
        }
    }

    fn on_record(&mut self, record: &Record<'_>) -> Result<(), InboundError> {
        if !record.is_in {
            return Err(InboundError::Malformed);
        }
        let soa = (record.rtype == Rtype::SOA && record.owner == self.apex).then(|| Soa::of(record));
        match soa {
            Some(soa) => self.on_soa(soa?),
            None => self.on_other(record),
        }
    }

    fn on_soa(&mut self, soa: Soa) -> Result<(), InboundError> {
        let Some(last) = &self.soa else {
            self.soa = Some(soa);
            self.phase = Phase::Second;
            return Ok(());
        };
        let (is_last, last_serial) = (soa.serial == last.serial, last.serial);
        self.phase = match std::mem::replace(&mut self.phase, Phase::Begin) {
            Phase::Second => match self.base.as_ref().filter(|base| base.serial() == soa.serial) {
                Some(base) if !is_last => Phase::Removing(Self::without_soa(base)?),
                // A zone of nothing but its SOA is refused when it is built: it lacks its name servers.
                _ if is_last => Phase::Complete(self.with_last_soa(ZoneBuilder::new(&self.apex))?),
                _ => return Err(InboundError::Disorder),
            },
            Phase::Whole(builder) if is_last => Phase::Complete(self.with_last_soa(builder)?),
            Phase::Removing(builder) => Phase::Adding(builder, soa.serial),
            // RFC 1995 section 4: the next step starts where this one led; after the last, the SOA closes.
            Phase::Adding(builder, reached) if reached == last_serial && is_last => {
                Phase::Complete(self.with_last_soa(builder)?)
            }
            Phase::Adding(builder, reached) if reached == soa.serial => Phase::Removing(builder),
            _ => return Err(InboundError::Disorder),
        };
        Ok(())
    }

    fn on_other(&mut self, record: &Record<'_>) -> Result<(), InboundError> {
        let Record { owner, rtype, ttl, rdata, .. } = record;
        match &mut self.phase {
            Phase::Second => {
                let mut builder = ZoneBuilder::new(&self.apex);
                builder.add(owner, *rtype, *ttl, rdata)?;
                self.phase = Phase::Whole(builder);
            }
            Phase::Whole(builder) | Phase::Adding(builder, _) => builder.add(owner, *rtype, *ttl, rdata)?,
            Phase::Removing(builder) => builder.remove(owner, *rtype, rdata)?,
            Phase::Begin | Phase::Complete(_) | Phase::UpToDate => return Err(InboundError::Disorder),
        }
        Ok(())
    }

    /// RFC 1995 section 4: a single SOA that is not newer than ours says that nothing has changed.
    fn settle_version(&mut self) {
        let (Phase::Second, Some(base), Some(soa)) = (&self.phase, &self.base, &self.soa) else { return };
        if !is_newer(soa.serial, base.serial()) {
            self.phase = Phase::UpToDate;
        }
    }

    /// What is here, to be changed step by step. The one SOA of the next version is the last.
    fn without_soa(base: &Zone) -> Result<ZoneBuilder, ZoneError> {
        let mut builder = base.to_builder()?;
        if let Some(soa) = Records::soa(base) {
            builder.remove(&soa.owner, soa.rtype, soa.rdata)?;
        }
        Ok(builder)
    }

    fn with_last_soa(&self, mut builder: ZoneBuilder) -> Result<ZoneBuilder, InboundError> {
        let soa = self.soa.as_ref().ok_or(InboundError::Disorder)?;
        builder.add(&self.apex, Rtype::SOA, soa.ttl, &soa.rdata)?;
        Ok(builder)
    }
}

impl Soa {
    fn of(record: &Record<'_>) -> Result<Self, InboundError> {
        let serial = serial_of(record.rdata).ok_or(InboundError::Malformed)?;
        Ok(Self { serial, ttl: record.ttl, rdata: record.rdata.to_vec() })
    }
}

/// The version in an SOA's data, its names uncompressed.
pub(crate) fn serial_of(rdata: &[u8]) -> Option<u32> {
    let at = rdata.len().checked_sub(20)?;
    rdata.get(at..)?.first_chunk().map(|serial| u32::from_be_bytes(*serial))
}

/// The version that the sender of an IXFR query has (RFC 1995 section 3: the SOA in its authority section).
pub(crate) fn proposed_serial(query: &[u8]) -> Option<u32> {
    let mut rdata = Vec::new();
    let mut reader = Reader::of_authority(query).ok()?;
    while let Some(record) = reader.next_record(&mut rdata).ok()? {
        if record.rtype == Rtype::SOA {
            return serial_of(record.rdata);
        }
    }
    None
}

/// RFC 1982 section 3.2: whether `a` is a later version than `b`.
pub(crate) const fn is_newer(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}
