//! The TSIG record: found at a message's end, and written there.
//!
//! ```text
//!   | key name | 250 | ANY | TTL 0 | RDLENGTH |  RFC 8945 section 4.2
//!   | algorithm name | time signed 48 | fudge 16 | MAC size 16 | MAC | original ID 16 | error 16 | other len 16 | other |
//! ```

use super::mac::{MAC_LEN_MAX, Mac};
use super::{Algorithm, FUDGE_S, Key};
use crate::message::{Cursor, HEADER_LEN, Malformed};
use crate::name::{Name, NameBuf};

const TYPE_TSIG: u16 = 250;
const CLASS_ANY: u16 = 255;
const ARCOUNT: std::ops::Range<usize> = 10..12;

/// How many bytes a TSIG record takes at most: a key's longest name, the longest algorithm's name, the
/// longest signature and a server's time. Leave so much free in a message that is to be signed.
pub const RECORD_LEN_MAX: usize = 255 + 10 + 13 + 16 + MAC_LEN_MAX + 6;

/// A TSIG record as it was received.
#[derive(Debug)]
pub(super) struct Record<'m> {
    /// Where it starts in the message.
    pub(super) start: usize,
    pub(super) key_name: NameBuf,
    pub(super) algorithm: &'m Name,
    pub(super) stamp: Stamp,
    pub(super) mac: &'m [u8],
    pub(super) original_id: [u8; 2],
    pub(super) error: u16,
    pub(super) other: &'m [u8],
}

/// When a message was signed, and how far off a clock may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) time_s: u64,
    pub(super) fudge_s: u16,
}

impl Stamp {
    pub(super) const fn at(time_s: u64) -> Self {
        Self { time_s, fudge_s: FUDGE_S }
    }

    /// Whether a clock that says `now_s` is within its fudge.
    pub(super) const fn admits(self, now_s: u64) -> bool {
        self.time_s.abs_diff(now_s) <= self.fudge_s as u64
    }

    /// Time and fudge as they stand in the record: the "timers" of RFC 8945 section 5.3.1.
    pub(super) fn bytes(self) -> [u8; 8] {
        // Seconds since 1970 fit 48 bits for some million years.
        ((self.time_s << 16) | u64::from(self.fudge_s)).to_be_bytes()
    }

    fn parse(bytes: [u8; 8]) -> Self {
        let word = u64::from_be_bytes(bytes);
        Self { time_s: word >> 16, fudge_s: word as u16 }
    }
}

/// The TSIG record of `message`, if it has one; malformed too if that is not the last one.
pub(super) fn find(message: &[u8]) -> Result<Option<Record<'_>>, Malformed> {
    let mut cursor = Cursor { message, at: HEADER_LEN };
    let counts =
        [4, 6, 8, 10].map(|at| message.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]])));
    for _ in 0..counts[0] {
        cursor.skip_name()?;
        cursor.take(4)?;
    }
    let record_count = u32::from(counts[1]) + u32::from(counts[2]) + u32::from(counts[3]);
    for number in 0..record_count {
        let start = cursor.at;
        let head = Head::read(&mut cursor)?;
        if head.kind != TYPE_TSIG {
            continue;
        }
        // RFC 8945 section 5.1: only the last record, and only in the additional section.
        let is_last = number + 1 == record_count && counts[3] > 0 && cursor.at == message.len();
        if !is_last || head.class != CLASS_ANY || head.ttl != 0 {
            return Err(Malformed);
        }
        return parse(message, start, head).map(Some);
    }
    Ok(None)
}

fn parse<'m>(message: &'m [u8], start: usize, head: Head<'m>) -> Result<Record<'m>, Malformed> {
    let mut key_name = NameBuf::new();
    key_name.decompress(message, start).map_err(|_| Malformed)?;
    // RFC 8945 section 4.2: the algorithm's name is not compressed, so it can be read by itself.
    let (algorithm, _) = Name::split_from(head.rdata).map_err(|_| Malformed)?;
    let mut rdata = Cursor { message: head.rdata, at: algorithm.wire_len() };
    let stamp = Stamp::parse(rdata.array()?);
    let mac_len = rdata.u16()?;
    let mac = rdata.take(usize::from(mac_len))?;
    let original_id = rdata.array()?;
    let error = rdata.u16()?;
    let other_len = rdata.u16()?;
    let other = rdata.take(usize::from(other_len))?;
    if rdata.at != head.rdata.len() {
        return Err(Malformed);
    }
    Ok(Record { start, key_name, algorithm, stamp, mac, original_id, error, other })
}

impl Record<'_> {
    /// Whether it was signed with that algorithm.
    pub(super) fn is_of(&self, algorithm: Algorithm) -> bool {
        self.algorithm.as_wire().eq_ignore_ascii_case(algorithm.wire_name())
    }

    /// Takes `message` into a hash as it was before this record was added (RFC 8945 section 4.3.2).
    pub(super) fn hash_message(&self, message: &[u8], mac: &mut Mac) {
        let [count_high, count_low] = [message[ARCOUNT.start], message[ARCOUNT.start + 1]];
        let count = u16::from_be_bytes([count_high, count_low]).wrapping_sub(1);
        mac.update(&self.original_id);
        mac.update(&message[2..ARCOUNT.start]);
        mac.update(&count.to_be_bytes());
        mac.update(&message[HEADER_LEN..self.start]);
    }
}

/// Takes the TSIG variables into a hash (RFC 8945 section 4.3.3).
pub(super) fn hash_variables(mac: &mut Mac, key: &Key, stamp: Stamp, error: u16, other: &[u8]) {
    mac.update(key.name().as_wire());
    mac.update(&CLASS_ANY.to_be_bytes());
    mac.update(&[0; 4]);
    mac.update(key.algorithm().wire_name());
    mac.update(&stamp.bytes());
    mac.update(&error.to_be_bytes());
    mac.update(&(other.len() as u16).to_be_bytes());
    mac.update(other);
}

/// Takes an earlier signature into a hash, its length before it (RFC 8945 section 5.3).
pub(super) fn hash_prior(mac: &mut Mac, prior: &[u8]) {
    mac.update(&(prior.len() as u16).to_be_bytes());
    mac.update(prior);
}

/// What a record to be written says.
pub(super) struct Content<'a> {
    pub(super) key_name: &'a Name,
    pub(super) algorithm: &'a [u8],
    pub(super) stamp: Stamp,
    pub(super) mac: &'a [u8],
    pub(super) error: u16,
    pub(super) other: &'a [u8],
}

impl Content<'_> {
    /// Writes the record behind the message's `len` bytes and counts it. Returns the new length; `None`,
    /// with nothing changed, if there is no room.
    pub(super) fn append(&self, message: &mut [u8], len: usize) -> Option<usize> {
        let name = self.key_name.as_wire();
        let rdata_len = self.algorithm.len() + 16 + self.mac.len() + self.other.len();
        let end = len + name.len() + 10 + rdata_len;
        let original_id = [*message.first()?, *message.get(1)?];
        let mut room = message.get_mut(len..end)?;
        let mut put = |bytes: &[u8]| {
            let (head, tail) = std::mem::take(&mut room).split_at_mut(bytes.len());
            head.copy_from_slice(bytes);
            room = tail;
        };
        put(name);
        put(&TYPE_TSIG.to_be_bytes());
        put(&CLASS_ANY.to_be_bytes());
        put(&[0; 4]);
        put(&(rdata_len as u16).to_be_bytes());
        put(self.algorithm);
        put(&self.stamp.bytes());
        put(&(self.mac.len() as u16).to_be_bytes());
        put(self.mac);
        put(&original_id);
        put(&self.error.to_be_bytes());
        put(&(self.other.len() as u16).to_be_bytes());
        put(self.other);
        let count = u16::from_be_bytes([message[ARCOUNT.start], message[ARCOUNT.start + 1]]);
        message[ARCOUNT].copy_from_slice(&count.wrapping_add(1).to_be_bytes());
        Some(end)
    }
}

struct Head<'m> {
    kind: u16,
    class: u16,
    ttl: u32,
    rdata: &'m [u8],
}

impl<'m> Head<'m> {
    fn read(cursor: &mut Cursor<'m>) -> Result<Self, Malformed> {
        cursor.skip_name()?;
        let (kind, class, ttl, len) = (cursor.u16()?, cursor.u16()?, cursor.u32()?, cursor.u16()?);
        Ok(Self { kind, class, ttl, rdata: cursor.take(usize::from(len))? })
    }
}
