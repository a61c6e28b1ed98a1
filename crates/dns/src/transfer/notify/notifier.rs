//! Which secondaries have not yet said that they heard.
//!
//! ```text
//!   on_change(zone) -> pending (zone, target) --poll--> datagram --answer--> forgotten
//!                         ^                      | no answer in time, fewer than TRY_COUNT_MAX
//!                         +----------------------+
//! ```
//! Invariant: one pending entry for each zone and target; a change that comes while one is pending starts it
//! over, since one answer says nothing about the later change.

use super::message::{self, MESSAGE_LEN_MAX};
use crate::name::{Name, NameBuf};
use crate::transfer::relations::Remote;
use crate::tsig::Verifier;
use std::net::SocketAddr;
use tidegate_base::{Duration, Instant, Rng};

/// How often one is told (RFC 1996 section 3.6: "a reasonable number of attempts").
const TRY_COUNT_MAX: u32 = 6;
/// How long the first answer is waited for; each further one twice as long. The RFC's fixed minute would leave
/// a lost datagram unnoticed for as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);

struct Pending {
    apex: NameBuf,
    target: Remote,
    id: u16,
    tries: u32,
    next: Instant,
    verifier: Option<Verifier>,
}

/// What became of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// A target has answered.
    Answer,
    /// It answers nothing that was asked, or its signature is wrong.
    Stray,
}

/// The notifications under way.
pub(crate) struct Notifier {
    pending: Vec<Pending>,
    rng: Rng,
}

impl Notifier {
    /// `seed` is random: it makes the messages' IDs.
    pub(crate) fn new(seed: u64) -> Self {
        Self { pending: Vec::new(), rng: Rng::new(seed) }
    }

    /// A zone has changed: its targets are to be told.
    pub(crate) fn on_change(&mut self, now: Instant, apex: &Name, targets: &[Remote]) {
        self.pending.retain(|pending| *pending.apex != *apex);
        for target in targets {
            let target = target.clone();
            self.pending.push(Pending {
                apex: apex.to_owned(),
                target,
                id: 0,
                tries: 0,
                next: now,
                verifier: None,
            });
        }
    }

    /// The next datagram to send, if one is due. `message` is where it is written.
    pub(crate) fn poll<'m>(
        &mut self,
        now: Instant,
        now_s: u64,
        message: &'m mut [u8; MESSAGE_LEN_MAX],
    ) -> Option<(SocketAddr, &'m [u8])> {
        self.give_up(now);
        let due = self.pending.iter_mut().find(|pending| pending.next <= now)?;
        due.next = now + Duration::from_nanos(FIRST_WAIT.as_nanos() << due.tries);
        due.tries += 1;
        due.id = self.rng.next_u32() as u16;
        let len = message::write(message, due.id, &due.apex);
        let signed = due.target.key.as_ref().and_then(|key| Verifier::of_request(key, message, len, now_s));
        let (len, verifier) = signed.map_or((len, None), |(len, verifier)| (len, Some(verifier)));
        due.verifier = verifier;
        Some((due.target.address, &message[..len]))
    }

    fn give_up(&mut self, now: Instant) {
        self.pending.retain(|pending| {
            let is_left = pending.tries < TRY_COUNT_MAX || pending.next > now;
            if !is_left {
                let Pending { apex, target, .. } = pending;
                tracing::warn!("{} was told that {apex} has changed, and never answered", target.address);
            }
            is_left
        });
    }

    /// A datagram arrived.
    pub(crate) fn on_datagram(&mut self, from: SocketAddr, datagram: &[u8], now_s: u64) -> Heard {
        let Some(id) = message::answered_id(datagram) else { return Heard::Stray };
        let asked = |pending: &Pending| {
            pending.tries > 0 && pending.id == id && same_place(pending.target.address, from)
        };
        let Some(at) = self.pending.iter().position(asked) else { return Heard::Stray };
        let is_right = match self.pending[at].verifier.clone() {
            Some(mut verifier) => verifier.check(datagram, now_s).is_ok(),
            None => true,
        };
        if !is_right {
            return Heard::Stray;
        }
        self.pending.swap_remove(at);
        Heard::Answer
    }

    /// When [`Notifier::poll`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.next).min()
    }
}

fn same_place(a: SocketAddr, b: SocketAddr) -> bool {
    a.ip().to_canonical() == b.ip().to_canonical() && a.port() == b.port()
}
