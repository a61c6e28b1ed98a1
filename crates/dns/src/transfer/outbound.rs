//! Zones handed out: AXFR (RFC 5936) and IXFR (RFC 1995), message by message as they are taken.
//!
//! ```text
//!   AXFR   SOA | every other record | SOA
//!   IXFR   SOA new | (SOA old | removed | SOA next | added) for each step | SOA new
//!   IXFR   SOA                        the client has this version, or its datagram is too small
//! ```
//! A transfer holds the version that it began with; that a newer one is served meanwhile does not disturb it.
//!
//! Invariant: a message is never longer than the room it is made in, and holds at least one record.

mod compose;
mod place;

use crate::message::{Flags, Opt, Query, Rcode};
use crate::tcp::{Messages, NextMessage};
use crate::transfer::clock::unix_s;
use crate::transfer::journal::Delta;
use crate::tsig::Signer;
use crate::zone::Zone;
use compose::{Composer, Full, Suffixes};
use place::Place;
use std::ops::Range;
use std::sync::Arc;

/// When a message is long enough. Pointers reach its first 16 KiB, so longer ones compress worse.
const MESSAGE_LEN: usize = 16 << 10;
const QR_AA: u8 = 0x84;
const RD: u8 = 0x01;
const ANCOUNT: Range<usize> = 6..8;
const ARCOUNT: Range<usize> = 10..12;
/// What this server takes over UDP, for whoever asks over TCP.
const EDNS_UDP_SIZE: u16 = 1232;

/// What is handed out.
pub(crate) enum Script {
    /// The whole zone.
    Whole(Arc<Zone>),
    /// The way from an older version to this one.
    Steps(Arc<Zone>, Vec<Arc<Delta>>),
    /// Only what version there is.
    Version(Arc<Zone>),
}

impl Script {
    pub(crate) const fn zone(&self) -> &Arc<Zone> {
        match self {
            Self::Whole(zone) | Self::Steps(zone, _) | Self::Version(zone) => zone,
        }
    }
}

/// A transfer under way.
pub struct Outbound {
    script: Script,
    place: Place,
    id: [u8; 2],
    flags: u8,
    /// Name, type and class as they were asked; only the first message has them (RFC 5936 section 2.2.1).
    question: Option<Box<[u8]>>,
    /// Goes into the first message (RFC 5936 section 2.2.5).
    opt: Option<Opt<'static>>,
    signer: Option<Signer>,
    suffixes: Suffixes,
    /// Lives as long as the transfer does: it is one of so many.
    _ticket: Option<Ticket>,
}

/// The place of one transfer among those that may be under way at once.
pub(crate) type Ticket = Arc<()>;

impl Outbound {
    /// A transfer of `script` in answer to `query`.
    pub(crate) fn new(
        script: Script,
        query: &Query<'_>,
        signer: Option<Signer>,
        ticket: Option<Ticket>,
    ) -> Self {
        let question = &query.question;
        let mut asked = question.name.as_wire().to_vec();
        asked.extend_from_slice(&question.rtype.0.to_be_bytes());
        asked.extend_from_slice(&question.class.0.to_be_bytes());
        Self {
            id: query.id.to_be_bytes(),
            flags: QR_AA | if query.flags.has(Flags::RD) { RD } else { 0 },
            question: Some(asked.into()),
            opt: query.edns.map(|edns| Opt::new(EDNS_UDP_SIZE, edns.dnssec_ok)),
            signer,
            _ticket: ticket,
            ..Self::unasked(script)
        }
    }

    /// The same, telling for how long it may be served, in seconds, to who wants to know (RFC 7314 section 3).
    pub(crate) const fn with_expire(mut self, expire_s: Option<u32>) -> Self {
        if let Some(opt) = &mut self.opt {
            opt.expire_s = expire_s;
        }
        self
    }

    /// A transfer that nobody asked for: what is kept on disk.
    pub(crate) fn unasked(script: Script) -> Self {
        Self {
            script,
            place: Place::Start,
            id: [0; 2],
            flags: QR_AA,
            question: None,
            opt: None,
            signer: None,
            suffixes: Suffixes::new(),
            _ticket: None,
        }
    }

    /// The whole answer in one message of at most `room`, if it fits: for UDP. `None` if it does not.
    pub(crate) fn in_one_message(mut self, room: &mut [u8]) -> Option<usize> {
        match self.make(room, usize::MAX) {
            NextMessage::Last(len) => Some(len),
            NextMessage::More(_) | NextMessage::Failed => None,
        }
    }

    /// Makes the next message, of about `len_wanted` bytes.
    fn make(&mut self, room: &mut [u8], len_wanted: usize) -> NextMessage {
        let signature_len = self.signer.as_ref().map_or(0, Signer::record_len);
        let opt_len = self.opt.as_ref().map_or(0, Opt::wire_len);
        let Some(plain_len) = room.len().checked_sub(signature_len + opt_len) else {
            return NextMessage::Failed;
        };
        let Some(len) = self.fill(&mut room[..plain_len], len_wanted) else { return NextMessage::Failed };
        let len = len + self.append_opt(room, len);
        let signed = match &mut self.signer {
            Some(signer) => signer.sign(room, len, unix_s()),
            None => Some(len),
        };
        match signed {
            None => NextMessage::Failed,
            Some(len) if matches!(self.place, Place::Over) => NextMessage::Last(len),
            Some(len) => NextMessage::More(len),
        }
    }

    fn append_opt(&mut self, room: &mut [u8], len: usize) -> usize {
        let Some(opt) = self.opt.take() else { return 0 };
        let Some(opt_len) = opt.emit(Rcode::NOERROR, &mut room[len..]) else { return 0 };
        room[ARCOUNT].copy_from_slice(&1_u16.to_be_bytes());
        opt_len
    }

    /// Header, question and as many records as are wanted. `None` if not even one fits.
    fn fill(&mut self, room: &mut [u8], len_wanted: usize) -> Option<usize> {
        let question = self.question.take();
        let mut composer = Composer::new(room, &mut self.suffixes);
        put_head(&mut composer, self.id, self.flags, question.as_deref()).ok()?;
        let mut count = 0;
        // What did not fit any more goes into the next message.
        let _ = self.place.write(&self.script, &mut composer, len_wanted, &mut count);
        let len = composer.len();
        room.get_mut(ANCOUNT)?.copy_from_slice(&count.to_be_bytes());
        (count > 0).then_some(len)
    }
}

impl Messages for Box<Outbound> {
    fn next_message(&mut self, room: &mut [u8]) -> NextMessage {
        (**self).next_message(room)
    }
}

impl Messages for Outbound {
    fn next_message(&mut self, room: &mut [u8]) -> NextMessage {
        self.make(room, MESSAGE_LEN)
    }
}

fn put_head(
    composer: &mut Composer<'_>,
    id: [u8; 2],
    flags: u8,
    question: Option<&[u8]>,
) -> Result<(), Full> {
    composer.put(&id)?;
    composer.put(&[flags, 0, 0, u8::from(question.is_some())])?;
    composer.put(&[0; 6])?;
    composer.put(question.unwrap_or_default())
}
