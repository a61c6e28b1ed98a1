//! Asking a primary over the host's own TCP: which version it has, and then for it.
//!
//! ```text
//!   connect --SOA?--> not newer: done
//!                 \-> newer --IXFR?--> steps, or all of it      both on the same connection
//!                               \-> refused --AXFR?--> all of it    (a connection of its own)
//! ```
//! The SOA is asked for over TCP too: one way for all, and nobody can forge an answer from off the path.

use super::clock::unix_s;
use super::inbound::{Inbound, InboundError, Received, expire_s, is_newer, serial_of};
use super::relations::Remote;
use crate::message::{HEADER_LEN, OptionCode};
use crate::name::Name;
use crate::tsig::{RECORD_LEN_MAX, Verifier, VerifyError};
use crate::zone::Zone;
use domain::base::iana::Rtype;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

const CLASS_IN: u16 = 1;
/// What an OPT record has to say, though nothing comes over UDP.
const UDP_SIZE: u16 = 1232;
const FORMERR: u8 = 1;
const NOTIMP: u8 = 4;

/// How long a primary may take.
#[derive(Clone, Copy, Debug)]
pub struct ClientPatience {
    /// To take a connection, and from one message to the next.
    pub message: Duration,
    /// For a whole transfer.
    pub transfer: Duration,
}

impl Default for ClientPatience {
    fn default() -> Self {
        Self { message: Duration::from_secs(10), transfer: Duration::from_secs(3600) }
    }
}

/// Why a primary was asked in vain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The network, or nobody there.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The answer is not what was asked for.
    #[error("{0}")]
    Inbound(#[from] InboundError),
    /// The answer cannot be believed.
    #[error("{0}")]
    Verify(#[from] VerifyError),
    /// It has an older version than this server.
    #[error("it has version {theirs}, older than {ours} here")]
    Older {
        /// The version that the primary has.
        theirs: u32,
        /// The version that is here.
        ours: u32,
    },
    /// It takes too long.
    #[error("the transfer took longer than it may")]
    TooLong,
}

/// What a primary has.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The zone, or that there is none newer.
    pub(crate) received: Received,
    /// Seconds that it may be served, if the primary says: it may be a copy itself (RFC 7314).
    pub(crate) expire_s: Option<u32>,
}

/// What `primary` has that is newer than `base`, if that is here already.
pub(crate) fn fetch(
    primary: &Remote,
    apex: &Name,
    base: Option<&Arc<Zone>>,
    patience: ClientPatience,
) -> Result<Fetched, ClientError> {
    match fetch_by(primary, apex, base, patience, true) {
        // RFC 6891 section 7: so answers who does not know OPT.
        Err(ClientError::Inbound(InboundError::Refused(FORMERR | NOTIMP))) => {
            fetch_by(primary, apex, base, patience, false)
        }
        fetched => fetched,
    }
}

fn fetch_by(
    primary: &Remote,
    apex: &Name,
    base: Option<&Arc<Zone>>,
    patience: ClientPatience,
    has_edns: bool,
) -> Result<Fetched, ClientError> {
    let open = || Conversation::open(primary, apex, patience, has_edns);
    let mut conversation = open()?;
    let Some(base) = base else { return conversation.transfer(None) };
    let (serial, expire_s) = conversation.version()?;
    if serial == base.serial() {
        return Ok(Fetched { received: Received::UpToDate, expire_s });
    }
    if !is_newer(serial, base.serial()) {
        return Err(ClientError::Older { theirs: serial, ours: base.serial() });
    }
    match conversation.transfer(Some(base)) {
        Ok(fetched) => Ok(fetched),
        // RFC 1995 section 4: whatever went wrong with the steps, all of it may still be had.
        Err(error) => {
            tracing::debug!("IXFR of {apex} from {}: {error}; trying AXFR", primary.address);
            open()?.transfer(None)
        }
    }
}

/// A connection to a primary.
struct Conversation<'a> {
    stream: TcpStream,
    primary: &'a Remote,
    apex: &'a Name,
    deadline: Instant,
    has_edns: bool,
    id: u16,
}

impl<'a> Conversation<'a> {
    fn open(
        primary: &'a Remote,
        apex: &'a Name,
        patience: ClientPatience,
        has_edns: bool,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&primary.address, patience.message)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience.message))?;
        stream.set_write_timeout(Some(patience.message))?;
        let deadline = Instant::now() + patience.transfer;
        Ok(Self { stream, primary, apex, deadline, has_edns, id: 0 })
    }

    /// Asks for the SOA: its serial, and for how long that version may be served.
    fn version(&mut self) -> Result<(u32, Option<u32>), ClientError> {
        let mut verifier = self.ask(Rtype::SOA, None)?;
        let message = self.receive(&mut verifier)?;
        finish(verifier)?;
        let mut rdata = Vec::new();
        let mut reader = super::inbound::Reader::of_answer(&message, self.id).map_err(InboundError::from)?;
        if reader.rcode() != 0 {
            return Err(InboundError::Refused(reader.rcode()).into());
        }
        while let Some(record) = reader.next_record(&mut rdata).map_err(InboundError::from)? {
            if record.rtype == Rtype::SOA && *record.owner == *self.apex {
                let serial = serial_of(record.rdata).ok_or(InboundError::Malformed)?;
                return Ok((serial, expire_s(&message)));
            }
        }
        Err(InboundError::Malformed.into())
    }

    /// Asks for the steps from `base`, or for all of it.
    fn transfer(&mut self, base: Option<&Arc<Zone>>) -> Result<Fetched, ClientError> {
        let rtype = if base.is_some() { Rtype::IXFR } else { Rtype::AXFR };
        let mut verifier = self.ask(rtype, base)?;
        let mut inbound = Inbound::new(self.id, self.apex, base.cloned());
        let mut said_s = None;
        while {
            let message = self.receive(&mut verifier)?;
            said_s = said_s.or_else(|| expire_s(&message));
            !inbound.on_message(&message)?
        } {
            if Instant::now() > self.deadline {
                return Err(ClientError::TooLong);
            }
        }
        finish(verifier)?;
        Ok(Fetched { received: inbound.finish()?, expire_s: said_s })
    }

    /// Sends a query, signed if there is a key.
    fn ask(&mut self, rtype: Rtype, base: Option<&Arc<Zone>>) -> io::Result<Option<Verifier>> {
        self.id = self.id.wrapping_add(1);
        let mut message = query(self.id, self.apex, rtype, base);
        if self.has_edns {
            put_opt(&mut message);
        }
        let len = message.len();
        let mut verifier = None;
        if let Some(key) = &self.primary.key {
            message.resize(len + RECORD_LEN_MAX, 0);
            let signed = Verifier::of_request(key, &mut message, len, unix_s());
            let (signed_len, verifies) = signed.ok_or_else(|| io::Error::other("no room for a signature"))?;
            message.truncate(signed_len);
            verifier = Some(verifies);
        }
        let mut framed = (message.len() as u16).to_be_bytes().to_vec();
        framed.extend_from_slice(&message);
        self.stream.write_all(&framed)?;
        Ok(verifier)
    }

    /// The next message, its signature verified and cut off.
    fn receive(&mut self, verifier: &mut Option<Verifier>) -> Result<Vec<u8>, ClientError> {
        let mut prefix = [0; 2];
        self.stream.read_exact(&mut prefix)?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(prefix))];
        self.stream.read_exact(&mut message)?;
        if let Some(verifier) = verifier {
            let plain_len = verifier.check(&message, unix_s())?;
            message.truncate(plain_len);
        }
        Ok(message)
    }
}

fn finish(verifier: Option<Verifier>) -> Result<(), VerifyError> {
    verifier.map_or(Ok(()), Verifier::finish)
}

/// A query for `apex`; an IXFR says in its authority section what is here (RFC 1995 section 3).
pub(super) fn query(id: u16, apex: &Name, rtype: Rtype, base: Option<&Arc<Zone>>) -> Vec<u8> {
    let soa = base.and_then(|base| base.apex_node().rrset(Rtype::SOA));
    let mut message = vec![0; HEADER_LEN];
    message[..2].copy_from_slice(&id.to_be_bytes());
    message[5] = 1;
    message[9] = u8::from(soa.is_some());
    put_head(&mut message, apex, rtype);
    if let Some(soa) = soa {
        put_head(&mut message, apex, Rtype::SOA);
        message.extend_from_slice(&soa.ttl().to_be_bytes());
        message.extend_from_slice(&(soa.first().len() as u16).to_be_bytes());
        message.extend_from_slice(soa.first());
    }
    message
}

/// An OPT record that asks for how long the zone may be served (RFC 7314 section 2).
pub(super) fn put_opt(message: &mut Vec<u8>) {
    let [size_high, size_low] = UDP_SIZE.to_be_bytes();
    let [code_high, code_low] = OptionCode::EXPIRE.0.to_be_bytes();
    let [type_high, type_low] = Rtype::OPT.to_int().to_be_bytes();
    message[11] = 1;
    message
        .extend([0, type_high, type_low, size_high, size_low, 0, 0, 0, 0, 0, 4, code_high, code_low, 0, 0]);
}

fn put_head(message: &mut Vec<u8>, owner: &Name, rtype: Rtype) {
    message.extend_from_slice(owner.as_wire());
    message.extend_from_slice(&rtype.to_int().to_be_bytes());
    message.extend_from_slice(&CLASS_IN.to_be_bytes());
}
