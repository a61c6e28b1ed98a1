//! Record sets into the message: whole with their signatures, or not at all.

use crate::message::{self, Class, ExtendedError, Flags, Section, Writer};
use crate::name::Name;
use crate::zone::Rrset;
use domain::base::iana::Rtype;

pub(super) use crate::message::Full;

/// The message, and what goes into it beside the data itself.
pub(super) struct Out<'w, 'b> {
    writer: &'w mut Writer<'b>,
    dnssec_ok: bool,
}

impl<'w, 'b> Out<'w, 'b> {
    pub(super) fn new(writer: &'w mut Writer<'b>, dnssec_ok: bool) -> Self {
        Out { writer, dnssec_ok }
    }

    /// Whether signatures and proofs are wanted (RFC 3225 section 3).
    pub(super) fn dnssec_ok(&self) -> bool {
        self.dnssec_ok
    }

    pub(super) fn set_authoritative(&mut self) {
        self.writer.set_flags(Flags::AA);
    }

    /// Something that belongs to the answer did not fit.
    pub(super) fn truncate(&mut self) {
        self.writer.set_flags(Flags::TC);
    }

    pub(super) fn explain(&mut self, error: ExtendedError) {
        self.writer.set_extended_error(error);
    }

    /// A set under `owner`, which is not its own where a wildcard speaks.
    pub(super) fn put(&mut self, section: Section, owner: &Name, set: Rrset<'_>) -> Result<(), Full> {
        self.put_with_ttl(section, owner, set, set.ttl())
    }

    /// The same with another TTL, which its signatures share (RFC 4034 section 3).
    pub(super) fn put_with_ttl(
        &mut self,
        section: Section,
        owner: &Name,
        set: Rrset<'_>,
        ttl: u32,
    ) -> Result<(), Full> {
        self.writer.begin(section);
        let mark = self.writer.mark();
        self.writer.rrset(owner, code(set.rtype()), Class::IN, ttl, set.rdatas())?;
        if !self.dnssec_ok {
            return Ok(());
        }
        let signed = self.writer.rrset(owner, message::Rtype::RRSIG, Class::IN, ttl, set.sigs());
        // RFC 4035 section 3.1.1: without its signatures a set is not to be had.
        signed.inspect_err(|Full| self.writer.roll_back(mark))
    }

    /// The signatures alone.
    pub(super) fn put_signatures(
        &mut self,
        section: Section,
        owner: &Name,
        set: Rrset<'_>,
    ) -> Result<(), Full> {
        self.writer.begin(section);
        self.writer.rrset(owner, message::Rtype::RRSIG, Class::IN, set.ttl(), set.sigs())
    }

    /// A record that no zone holds.
    pub(super) fn put_record(
        &mut self,
        section: Section,
        owner: &Name,
        rtype: Rtype,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Full> {
        self.writer.begin(section);
        self.writer.record(owner, code(rtype), Class::IN, ttl, rdata)
    }
}

fn code(rtype: Rtype) -> message::Rtype {
    message::Rtype(rtype.to_int())
}

/// Whether both are the same set of the same zone: then they are the same bytes in memory.
pub(super) fn is_same(one: Rrset<'_>, other: Rrset<'_>) -> bool {
    core::ptr::eq(one.first(), other.first())
}
