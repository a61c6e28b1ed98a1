//! Refuses HTTP requests for what is on a list: the client gets a 403 and a reset, the server a reset.
//!
//! ```text
//!   clients --> [0]            [0] --> servers         requests are read here, on TCP port 80
//!               |   url_filter   |
//!   clients <-- [1]            [1] <-- servers         answers pass; ours join them
//! ```
//! | | |
//! |---|---|
//! | gates | in: 0 from clients, 1 from servers; out: 0 to servers, 1 to clients |
//! | parameters | hosts with the beginnings of paths that are refused; how many connections are watched (65,536) |
//! | commands | add, clear, replace all, list |
//! | counters | `flows` watched, `requests` read, `blocked`, `out_of_order` and `unread` |
//! | dropped | a refused request and what follows it; segments that come ahead of their turn in a request (`policy`): they come again |
//! | rate | 5.4 ns a frame of 60 bytes on one core (`make bench-pipeline`) |
//!
//! Every request of a connection is read, pipelined ones too, until one has a body of unknown length, asks for another
//! protocol, is no HTTP, or has a head of more than 8 KiB: from there on the connection passes, counted as `unread`. Hosts
//! are compared without regard to case and port; a path that begins as one on the list is refused. IP fragments pass. A
//! connection that is not seen from its beginning is read from the first segment with text on. Over IPv4 and IPv6.

mod reply;
mod watch;

use crate::layers::{PROTOCOL_TCP, Packet, u16_at};
use crate::parameter::{ParameterError, in_range};
use crate::segment::{ACK, PSH, RST, SYN};
use reply::Reply;
use std::collections::HashMap;
use tidegate_base::{DropReason, Duration, Instant};
use tidegate_packet::{Batch, Frame};
use tidegate_pipeline::{Context, GateCounts, Module};
use tidegate_table::{FlowId, Flows, key_v6};
use watch::{Request, Watch};

/// Connections that are watched at once unless told.
pub const URL_FILTER_FLOW_COUNT_DEFAULT: u64 = 65_536;
const FLOW_COUNT_MAX: u64 = 1 << 22;
/// A connection that says nothing for so long is forgotten.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// Old connections that are looked for at each batch.
const SWEEP_COUNT: usize = 16;
const HTTP_PORT: u16 = 80;

const TO_SERVERS: usize = 0;
const TO_CLIENTS: usize = 1;

const REFUSAL: &[u8] = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nForbidden\n";

/// What is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whose.
    pub host: String,
    /// How the path begins; empty for all of the host.
    pub path: String,
}

/// A connection.
struct Flow {
    /// The client's next byte.
    next_seq: u32,
    /// `None` once a request was refused.
    watch: Option<Watch>,
}

/// The module.
pub struct UrlFilter {
    refused: Vec<Url>,
    /// The same, by host in lower case.
    paths: HashMap<String, Vec<String>>,
    flows: Flows<5, Flow>,
    request_count: u64,
    blocked_count: u64,
    out_of_order_count: u64,
    unread_count: u64,
}

impl UrlFilter {
    /// Refuses `refused`, on as many connections; `seed` is drawn at random, and kept from peers.
    pub fn new(refused: Vec<Url>, flow_count: u64, seed: u64) -> Result<Self, ParameterError> {
        let capacity = in_range("the number of connections", flow_count, 1..=FLOW_COUNT_MAX)? as usize;
        let flows = Flows::new(capacity, seed).map_err(|_| ParameterError::Missing("connections"))?;
        let mut module = Self {
            refused: Vec::new(),
            paths: HashMap::new(),
            flows,
            request_count: 0,
            blocked_count: 0,
            out_of_order_count: 0,
            unread_count: 0,
        };
        module.add(refused)?;
        Ok(module)
    }

    /// Refuses these as well, all or none.
    pub fn add(&mut self, urls: Vec<Url>) -> Result<(), ParameterError> {
        if urls.iter().any(|url| url.host.is_empty()) {
            return Err(ParameterError::Missing("host of a URL"));
        }
        for url in &urls {
            self.paths.entry(url.host.to_ascii_lowercase()).or_default().push(url.path.clone());
        }
        self.refused.extend(urls);
        Ok(())
    }

    /// Refuses these and no others.
    pub fn replace(&mut self, urls: Vec<Url>) -> Result<(), ParameterError> {
        let before = (std::mem::take(&mut self.refused), std::mem::take(&mut self.paths));
        self.add(urls).inspect_err(|_| (self.refused, self.paths) = before)
    }

    /// Refuses nothing any more.
    pub fn clear(&mut self) {
        self.refused.clear();
        self.paths.clear();
    }

    /// What is refused.
    pub fn refused(&self) -> &[Url] {
        &self.refused
    }

    fn is_refused(paths: &HashMap<String, Vec<String>>, request: &Request<'_>) -> bool {
        let paths = paths.get(&request.host.to_ascii_lowercase());
        paths.is_some_and(|paths| paths.iter().any(|path| request.path.starts_with(path.as_str())))
    }

    /// Whether a segment passes; if not, from which byte on the server has nothing.
    fn read(&mut self, segment: &Text<'_>, now: Instant) -> Verdict {
        let Some(id) = self.flow_of(segment, now) else { return Verdict::Pass };
        self.flows.touch(id, now + IDLE_MAX);
        let Some(flow) = self.flows.get_mut(id) else { return Verdict::Pass };
        let Some(watch) = &mut flow.watch else { return Verdict::Drop };
        let behind = segment.seq.wrapping_sub(flow.next_seq) as i32;
        if segment.payload.is_empty() || !watch.is_reading() {
            return Verdict::Pass;
        }
        if behind > 0 {
            self.out_of_order_count += 1;
            return Verdict::Drop;
        }
        let Some(new) = segment.payload.get(behind.unsigned_abs() as usize..) else { return Verdict::Pass };
        let from = flow.next_seq;
        flow.next_seq = from.wrapping_add(new.len() as u32);
        let (paths, request_count) = (&self.paths, &mut self.request_count);
        let is_refused = watch.feed(new, |request| {
            *request_count += 1;
            Self::is_refused(paths, &request)
        });
        self.unread_count += u64::from(!watch.is_reading());
        if is_refused {
            flow.watch = None;
            self.blocked_count += 1;
            return Verdict::Refuse { from };
        }
        Verdict::Pass
    }

    /// The connection of a segment, which may begin it.
    fn flow_of(&mut self, segment: &Text<'_>, now: Instant) -> Option<FlowId> {
        let found = self.flows.lookup(&segment.key, now);
        let begins = segment.flags & (SYN | ACK) == SYN;
        match found {
            Some(id) if begins || segment.flags & RST != 0 => _ = self.flows.remove(id),
            Some(id) => return Some(id),
            None => {}
        }
        if !begins && (segment.payload.is_empty() || segment.flags & RST != 0) {
            return None;
        }
        let flow =
            Flow { next_seq: segment.seq.wrapping_add(u32::from(begins)), watch: Some(Watch::default()) };
        let inserted = self.flows.insert(segment.key, flow, now, now + IDLE_MAX, &mut |_, _| ());
        self.unread_count += u64::from(inserted.is_err());
        inserted.ok()
    }

    fn pass_request(&mut self, ctx: &mut Context<'_>, frame: Frame) {
        let Some((packet, segment)) = Text::find(frame.data()) else { return ctx.emit(TO_SERVERS, frame) };
        match self.read(&segment, ctx.now()) {
            Verdict::Pass => ctx.emit(TO_SERVERS, frame),
            Verdict::Drop => ctx.drop(frame, DropReason::Policy),
            Verdict::Refuse { from } => {
                let ack = segment.seq.wrapping_add(segment.payload.len() as u32);
                let seq = segment.ack;
                let reset_seq = seq.wrapping_add(REFUSAL.len() as u32);
                for (gate, reply) in [
                    (TO_CLIENTS, Reply { is_back: true, flags: PSH | ACK, seq, ack, text: REFUSAL }),
                    (TO_CLIENTS, Reply { is_back: true, flags: RST | ACK, seq: reset_seq, ack, text: &[] }),
                    (TO_SERVERS, Reply { is_back: false, flags: RST | ACK, seq: from, ack: seq, text: &[] }),
                ] {
                    // Without a free frame the refusal is a silent one.
                    if let Some(made) = reply.make(frame.data(), &packet, ctx.pool()) {
                        ctx.emit(gate, made);
                    }
                }
                ctx.drop(frame, DropReason::Policy);
            }
        }
    }
}

enum Verdict {
    Pass,
    Drop,
    /// The server has everything before the byte `from`.
    Refuse {
        from: u32,
    },
}

/// A TCP segment to a web server.
struct Text<'a> {
    key: [u64; 5],
    seq: u32,
    ack: u32,
    flags: u8,
    payload: &'a [u8],
}

impl<'a> Text<'a> {
    fn find(data: &'a [u8]) -> Option<(Packet, Self)> {
        let packet = Packet::find(data).filter(|it| it.protocol == PROTOCOL_TCP && !it.is_fragment)?;
        let tcp = packet.payload.start;
        let header: &[u8; 20] = data.get(tcp..)?.first_chunk()?;
        let payload_start = tcp + usize::from(header[12] >> 4) * 4;
        let payload = data.get(payload_start..packet.payload.end)?;
        let port = u16_at(data, tcp + 2)?;
        let word = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let (src, dst) = data[packet.addresses.clone()].split_at(packet.addresses.len() / 2);
        let wide = |address: &[u8]| address.iter().fold(0, |wide: u128, byte| wide << 8 | u128::from(*byte));
        let scope = u32::from(packet.is_ipv4());
        let key = key_v6(wide(src), wide(dst), u16_at(data, tcp)?, port, PROTOCOL_TCP, scope);
        let segment = Self { key, seq: word(4), ack: word(8), flags: header[13], payload };
        (port == HTTP_PORT && payload_start >= tcp + 20).then_some((packet, segment))
    }
}

impl Module for UrlFilter {
    fn class(&self) -> &'static str {
        "url_filter"
    }

    fn gates(&self) -> GateCounts {
        GateCounts { inputs: 2, outputs: 2 }
    }

    fn process(&mut self, ctx: &mut Context<'_>, gate: usize, batch: &mut Batch) {
        if gate == TO_CLIENTS {
            return ctx.emit_batch(TO_CLIENTS, batch);
        }
        self.flows.sweep(ctx.now(), SWEEP_COUNT, &mut |_, _| ());
        for frame in batch.drain() {
            self.pass_request(ctx, frame);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("flows", self.flows.len() as u64),
            ("requests", self.request_count),
            ("blocked", self.blocked_count),
            ("out_of_order", self.out_of_order_count),
            ("unread", self.unread_count),
        ]
    }
}

#[cfg(test)]
mod tests;
