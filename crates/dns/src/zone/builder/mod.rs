//! Records in any order become a [`Zone`].
//!
//! ```text
//!   add, remove --> staged records (owner by number, data in one arena)
//!   finish: owners sorted -> records sorted by (owner, type, data) -> one sweep lays the zone out
//! ```
//!
//! What it is not: a reader of files or of messages. What it refuses, it refuses with the owner, the type and,
//! if whoever added the record said so, the place the record came from. The invariant it hands on is the
//! zone's: see the module above.

mod error;
mod layout;
mod lint;
mod owners;
mod staged;

use domain::base::iana::Rtype;

pub use error::{Fault, Oddity, Place, Warning, ZoneError};

use self::owners::Owners;
use self::staged::{Op, Staged};
use super::{Zone, rdata};
use crate::name::{Folded, Name, NameBuf};

/// The largest TTL; a greater value counts as 0 (RFC 2181 section 8).
const TTL_MAX: u32 = i32::MAX as u32;

/// Collects the records of one zone.
///
/// A record that is added twice counts once. One that is removed after it was added is gone, so a zone and
/// an incremental transfer make the next version: [`Zone::to_builder`], then `remove` and `add` in order.
pub struct ZoneBuilder {
    apex: NameBuf,
    owners: Owners,
    records: Vec<Staged>,
    rdata: Vec<u8>,
}

impl ZoneBuilder {
    /// A zone of this name without records.
    pub fn new(apex: &Name) -> Self {
        let apex = Folded::of(apex).name().to_owned();
        ZoneBuilder { owners: Owners::new(), records: Vec::new(), rdata: Vec::new(), apex }
    }

    /// The zone's name, in lower case.
    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// Adds a record; names inside `rdata` are uncompressed.
    pub fn add(&mut self, owner: &Name, rtype: Rtype, ttl: u32, rdata: &[u8]) -> Result<(), ZoneError> {
        self.stage(owner, rtype, ttl, rdata, Op::Add, Place::default())
    }

    /// As [`ZoneBuilder::add`], for a record that stands at a known place: errors will name it.
    pub fn add_from(
        &mut self,
        place: Place,
        owner: &Name,
        rtype: Rtype,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), ZoneError> {
        self.stage(owner, rtype, ttl, rdata, Op::Add, place)
    }

    /// Takes a record out again, whatever its TTL; one that is not there is none the less not there.
    pub fn remove(&mut self, owner: &Name, rtype: Rtype, rdata: &[u8]) -> Result<(), ZoneError> {
        self.stage(owner, rtype, 0, rdata, Op::Remove, Place::default())
    }

    /// The zone, or the first reason why it is none.
    pub fn finish(self) -> Result<Zone, ZoneError> {
        self.finish_with_warnings().map(|(zone, _)| zone)
    }

    /// As [`ZoneBuilder::finish`], with what a zone's keeper should look at though it can be served.
    pub fn finish_with_warnings(self) -> Result<(Zone, Vec<Warning>), ZoneError> {
        layout::lay_out(self)
    }

    fn stage(
        &mut self,
        owner: &Name,
        rtype: Rtype,
        ttl: u32,
        rdata: &[u8],
        op: Op,
        place: Place,
    ) -> Result<(), ZoneError> {
        self.admit(owner, rtype, rdata).map_err(|fault| ZoneError::new(fault, owner, rtype, place))?;
        let owner = self.owners.intern(owner);
        let rdata_at = self.rdata.len() as u32;
        self.rdata.extend_from_slice(rdata);
        let ttl = if ttl > TTL_MAX { 0 } else { ttl };
        self.records.push(Staged { owner, rdata_at, ttl, rtype, rdata_len: rdata.len() as u16, op, place });
        Ok(())
    }

    fn admit(&self, owner: &Name, rtype: Rtype, rdata: &[u8]) -> Result<(), Fault> {
        if !owner.is_within(&self.apex) {
            return Err(Fault::OutOfZone { apex: self.apex.to_string() });
        }
        if is_meta(rtype) {
            return Err(Fault::MetaType);
        }
        if !rdata::check(rtype, rdata) {
            return Err(Fault::BadData);
        }
        let room = u32::MAX as usize;
        if self.rdata.len() + rdata.len() > room || self.owners.bytes() + 255 > room {
            return Err(Fault::TooLarge);
        }
        Ok(())
    }
}

impl Zone {
    /// A builder that holds every record of this zone, to make its next version of.
    pub fn to_builder(&self) -> Result<ZoneBuilder, ZoneError> {
        let mut builder = ZoneBuilder::new(&self.apex);
        for record in self.records() {
            builder.add(&record.owner, record.rtype, record.ttl, record.rdata)?;
        }
        Ok(builder)
    }
}

/// Types that stand for questions or for parts of a message, never for data (RFC 6895 section 3.1).
fn is_meta(rtype: Rtype) -> bool {
    matches!(rtype.to_int(), 0 | 41 | 128..=255)
}
