//! What a NOTIFY looks like, and an answer to it.
//!
//! ```text
//!   header: opcode NOTIFY (4), AA | question: zone SOA IN     RFC 1996 section 3.7
//! ```
//! The SOA that may come with it is left out: a hint that a secondary must not trust anyway.

use crate::name::Name;
use crate::tsig::RECORD_LEN_MAX;

/// Header, a longest name, type and class, and a signature.
pub(crate) const MESSAGE_LEN_MAX: usize = 12 + 255 + 4 + RECORD_LEN_MAX;

const OPCODE_NOTIFY: u8 = 4;
const TYPE_SOA: u16 = 6;
const CLASS_IN: u16 = 1;
const QR: u8 = 0x80;
const AA: u8 = 0x04;

/// Writes a NOTIFY for `apex`, unsigned. Returns its length.
pub(super) fn write(message: &mut [u8; MESSAGE_LEN_MAX], id: u16, apex: &Name) -> usize {
    let name = apex.as_wire();
    message[..12].fill(0);
    message[..2].copy_from_slice(&id.to_be_bytes());
    message[2] = OPCODE_NOTIFY << 3 | AA;
    message[5] = 1;
    let at = 12 + name.len();
    message[12..at].copy_from_slice(name);
    message[at..at + 2].copy_from_slice(&TYPE_SOA.to_be_bytes());
    message[at + 2..at + 4].copy_from_slice(&CLASS_IN.to_be_bytes());
    at + 4
}

/// The ID that a datagram answers, if it is an answer to a NOTIFY (RFC 1996 section 3.8: any answer will do).
pub(super) fn answered_id(datagram: &[u8]) -> Option<u16> {
    let header = datagram.first_chunk::<12>()?;
    let is_answer = header[2] & QR != 0 && header[2] >> 3 & 0x0f == OPCODE_NOTIFY;
    is_answer.then(|| u16::from_be_bytes([header[0], header[1]]))
}
