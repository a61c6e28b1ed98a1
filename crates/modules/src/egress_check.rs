//! Lets a stack that is not trusted send its own datagrams and nothing else: the rules of [`tidegate_wire::egress`], as the
//! kernel has them for stacks behind a veth.
//!
//! ```text
//!   the stack's port --> egress_check --own, plain, within its rate--> the NIC
//!                             \--> dropped, counted under the first rule that it broke
//! ```
//! | | |
//! |---|---|
//! | gates | in: 0, for frames that another module receives; out: 0, what may leave |
//! | tasks | one: receives from the stack's port, if it has one, a batch a turn and no more than there is room for downstream |
//! | parameters | the NIC's MAC address, MTU and IP addresses; a rate; the stack's port |
//! | commands | the daemon gives and takes tuples; no class of the control protocol, for whose tuples are is the registry's to say |
//! | counters | one a rule (`source_mac` ... `over_rate`), and `sent` |
//! | dropped | what breaks a rule (`policy`), what is over the rate (`rate_limited`), frames with a tail (`too_long`) |
//!
//! One or two lookups a frame, whatever the number of tuples and of stacks: each stack has a module of its own. What there is no
//! room for stays in the stack's ring, and stacks that want more than there is take turns ([`tidegate_pipeline::Worker`]).

use crate::bulk::drop_bulk;
use std::collections::HashSet;
use std::net::IpAddr;
use tidegate_base::{DropReason, Duration, FlowHasher, Instant};
use tidegate_packet::{Batch, Pool};
use tidegate_pipeline::{Context, GateCounts, Module, PortIndex, Work};
use tidegate_port::Port;
use tidegate_wire::egress::{Claim, Claims, EgressRules, EgressVerdict, Pace, Rate, Source, check};

/// How soon it looks again when there was no room: nobody says when there is.
const RETRY: Duration = Duration::from_micros(20);

/// Frames by what became of them, in the order of [`EgressVerdict::ALL`], and bytes of those that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EgressTally {
    /// Frames.
    pub frames: [u64; EgressVerdict::ALL.len()],
    /// Bytes.
    pub sent_bytes: u64,
}

/// What is a stack's.
struct Own {
    tuples: HashSet<Source, FlowHasher>,
    local: HashSet<IpAddr, FlowHasher>,
}

impl Claims for Own {
    /// Whose another stack's tuple is makes no difference: two stacks never have tuples that one frame could be of.
    fn claim(&self, source: &Source) -> Option<Claim> {
        self.tuples.contains(source).then_some(Claim::Own)
    }

    fn is_local(&self, address: IpAddr) -> bool {
        self.local.contains(&address)
    }
}

/// What decides.
struct Judge {
    rules: EgressRules,
    own: Own,
    pace: Option<Pace>,
    tally: EgressTally,
}

impl Judge {
    fn verdict(&mut self, now: Instant, frame: &[u8]) -> EgressVerdict {
        let mut verdict = check(frame, &self.rules, &self.own);
        if verdict == EgressVerdict::Sent
            && let Some(pace) = &mut self.pace
            && !pace.admits(now, frame.len())
        {
            verdict = EgressVerdict::OverRate;
        }
        self.tally.frames[verdict as usize] += 1;
        if verdict == EgressVerdict::Sent {
            self.tally.sent_bytes += frame.len() as u64;
        }
        verdict
    }

    fn pass(&mut self, ctx: &mut Context<'_>, batch: &mut Batch) {
        let now = ctx.now();
        for frame in batch.drain() {
            match self.verdict(now, frame.data()) {
                EgressVerdict::Sent => ctx.emit(0, frame),
                EgressVerdict::OverRate => ctx.drop(frame, DropReason::RateLimited),
                _ => ctx.drop(frame, DropReason::Policy),
            }
        }
    }
}

/// The module.
pub struct EgressCheck {
    judge: Judge,
    port: Option<PortIndex>,
    batch: Batch,
    /// When it looks for room again that was not there.
    looks_at: Option<Instant>,
}

impl EgressCheck {
    /// For a stack that has no tuples yet, on a NIC with `local` addresses. `seed` is that of its tables: draw it at random, for
    /// the stack chooses what is looked up.
    pub fn new(rules: EgressRules, local: impl IntoIterator<Item = IpAddr>, seed: u64) -> Self {
        let hasher = FlowHasher::new(seed);
        let mut own = Own { tuples: HashSet::with_hasher(hasher), local: HashSet::with_hasher(hasher) };
        own.local.extend(local);
        let judge = Judge { rules, own, pace: None, tally: EgressTally::default() };
        Self { judge, port: None, batch: Batch::new(), looks_at: None }
    }

    /// Has it receive from the worker's port `port` from now on.
    pub const fn receive_from(&mut self, port: PortIndex) {
        self.port = Some(port);
    }

    /// Lets the stack send from `source` from now on; its address is unspecified for every one of the NIC's.
    pub fn give(&mut self, source: Source) {
        self.judge.own.tuples.insert(source);
    }

    /// The opposite of [`give`](Self::give).
    pub fn take(&mut self, source: &Source) {
        self.judge.own.tuples.remove(source);
    }

    /// Limits what it may send; `None`: as much as its turns let it.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        self.judge.pace = rate.map(Pace::new);
    }

    /// What became of its frames.
    pub const fn tally(&self) -> EgressTally {
        self.judge.tally
    }
}

impl Module for EgressCheck {
    fn class(&self) -> &'static str {
        "egress_check"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        self.judge.pass(ctx, batch);
    }

    fn task_count(&self) -> usize {
        1
    }

    fn asks_room(&self) -> bool {
        true
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let Some(port) = self.port else { return Work::NONE };
        let wanted = ctx.batch_len().min(ctx.room(0));
        if wanted == 0 {
            self.looks_at = Some(ctx.now() + RETRY);
            return Work::NONE;
        }
        self.looks_at = None;
        let batch = &mut self.batch;
        batch.set_len_max(wanted);
        let receive = |port: &mut dyn Port, pool: &mut Pool| (port.rx(pool, batch), port.receives_bulk());
        let (packet_count, is_bulk) = ctx.with_port(port, receive).unwrap_or((0, false));
        let byte_count = batch.byte_count();
        if is_bulk {
            drop_bulk(ctx, batch);
        }
        self.judge.pass(ctx, batch);
        Work { packet_count, byte_count }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.looks_at
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let frames = self.judge.tally.frames;
        EgressVerdict::ALL.iter().map(|verdict| (verdict.name(), frames[*verdict as usize])).collect()
    }
}

#[cfg(test)]
#[path = "egress_check_tests.rs"]
mod tests;
