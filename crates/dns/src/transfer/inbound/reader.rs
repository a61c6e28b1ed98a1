//! One section of a message, record by record, with names uncompressed.
//!
//! Not the parser of queries: that one is on the data path and looks at one question.

use crate::message::{Cursor, EdnsOptions, HEADER_LEN, Malformed, OptionCode};
use crate::name::NameBuf;
use crate::zone::rdata::Shape;
use domain::base::iana::Rtype;

const CLASS_IN: u16 = 1;

/// One record.
pub(crate) struct Record<'r> {
    pub(crate) owner: NameBuf,
    pub(crate) rtype: Rtype,
    pub(crate) is_in: bool,
    pub(crate) ttl: u32,
    /// Its data, names uncompressed.
    pub(crate) rdata: &'r [u8],
}

/// Seconds that the zone in `message` may be served, if its sender says (RFC 7314 section 2).
pub(crate) fn expire_s(message: &[u8]) -> Option<u32> {
    let mut rdata = Vec::new();
    let mut reader = Reader::of_all(message).ok()?;
    while let Some(record) = reader.next_record(&mut rdata).ok()? {
        if record.rtype == Rtype::OPT {
            let option = EdnsOptions::of(record.rdata).find(|option| option.code == OptionCode::EXPIRE)?;
            return option.data.try_into().ok().map(u32::from_be_bytes);
        }
    }
    None
}

/// A message that is read from front to back.
pub(crate) struct Reader<'m> {
    cursor: Cursor<'m>,
    left: u16,
}

impl<'m> Reader<'m> {
    /// The answers of `message`, which must be a whole answer to the query with `id`.
    pub(crate) fn of_answer(message: &'m [u8], id: u16) -> Result<Self, Malformed> {
        let header = message.first_chunk::<HEADER_LEN>().ok_or(Malformed)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        // QR set, opcode QUERY, not truncated.
        if word(0) != id || header[2] & 0xfa != 0x80 {
            return Err(Malformed);
        }
        // RFC 5936 section 2.2.1: the question may be there, or not.
        Self::behind_questions(message, word(4), word(6))
    }

    /// The authority section of `message`, which has no answers: a query.
    pub(crate) fn of_authority(message: &'m [u8]) -> Result<Self, Malformed> {
        let header = message.first_chunk::<HEADER_LEN>().ok_or(Malformed)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        if word(6) != 0 {
            return Err(Malformed);
        }
        Self::behind_questions(message, word(4), word(8))
    }

    /// All records of `message`, whichever section they are in.
    fn of_all(message: &'m [u8]) -> Result<Self, Malformed> {
        let header = message.first_chunk::<HEADER_LEN>().ok_or(Malformed)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        Self::behind_questions(message, word(4), word(6).saturating_add(word(8)).saturating_add(word(10)))
    }

    fn behind_questions(message: &'m [u8], question_count: u16, left: u16) -> Result<Self, Malformed> {
        let mut cursor = Cursor { message, at: HEADER_LEN };
        for _ in 0..question_count {
            cursor.name()?;
            cursor.take(4)?;
        }
        Ok(Self { cursor, left })
    }

    /// How the query fared.
    pub(crate) fn rcode(&self) -> u8 {
        self.cursor.message.get(3).map_or(0, |flags| flags & 0x0f)
    }

    /// The next record of the section; its data is kept in `rdata`.
    pub(crate) fn next_record<'r>(
        &mut self,
        rdata: &'r mut Vec<u8>,
    ) -> Result<Option<Record<'r>>, Malformed> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let owner = self.cursor.name()?;
        let rtype = Rtype::from_int(self.cursor.u16()?);
        let is_in = self.cursor.u16()? == CLASS_IN;
        let ttl = self.cursor.u32()?;
        let len = self.cursor.u16()?;
        let end = self.cursor.at + usize::from(len);
        rdata.clear();
        self.rdata(rtype, end, rdata)?;
        Ok(Some(Record { owner, rtype, is_in, ttl, rdata }))
    }

    /// The data up to `end`. RFC 3597 section 4: names are uncompressed wherever a type may have them, also
    /// where a sender should not have compressed them.
    fn rdata(&mut self, rtype: Rtype, end: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let shape = Shape::of(rtype);
        out.extend_from_slice(self.cursor.take(usize::from(shape.prefix))?);
        for _ in 0..shape.names {
            out.extend_from_slice(self.cursor.name()?.as_wire());
        }
        let rest = end.checked_sub(self.cursor.at).ok_or(Malformed)?;
        out.extend_from_slice(self.cursor.take(rest)?);
        Ok(())
    }
}
