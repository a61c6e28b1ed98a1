//! Taking requests from a connection's bytes, one behind the other, as long as they may be answered.
//!
//! Invariant: bytes that wait for something other than more bytes are on the peer's account.

use super::intake::{Awaited, Intake, Waiting};
use super::planner::{Planned, Rules};
use super::{Parked, Phase, Shared, Site, SiteConn};
use crate::memo::Era;
use crate::request::body::Skipped;
use crate::request::scan::Scanned;

impl Site {
    /// Takes in `data` behind what the connection has received before.
    pub(super) fn take_in(&mut self, conn: &mut SiteConn<'_>, data: &[u8]) {
        let Some(mut intake) = conn.state().intake.take() else {
            let mut intake = Intake::default();
            let used = self.feed(conn, &mut intake, data);
            return self.keep(conn, intake, &data[used..]);
        };
        intake.bytes.extend_from_slice(data);
        self.resume(conn, *intake);
    }

    /// Goes on with a connection's input, unless it still waits.
    pub(super) fn resume(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake) {
        let bytes = std::mem::take(&mut intake.bytes);
        let used = if intake.waiting == Waiting::Input { self.feed(conn, &mut intake, &bytes) } else { 0 };
        self.put_back(conn, intake, bytes, used);
    }

    /// Answers as many requests of `bytes` as may be answered now. Returns how many bytes those were.
    fn feed(&mut self, conn: &mut SiteConn<'_>, intake: &mut Intake, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() && intake.waiting == Waiting::Input {
            if conn.state().phase.is_over() {
                return bytes.len();
            }
            match self.feed_one(conn, intake, &bytes[used..]) {
                0 => break,
                step => used += step,
            }
        }
        used
    }

    /// One request, or one stretch of a body. Zero: nothing that can be taken now.
    fn feed_one(&mut self, conn: &mut SiteConn<'_>, intake: &mut Intake, bytes: &[u8]) -> usize {
        if let Some(skip) = &mut intake.body {
            return match skip.advance(bytes) {
                Skipped::All => bytes.len(),
                Skipped::Done(len) => {
                    (intake.body, intake.since) = (None, None);
                    len
                }
                // Its request is answered already; where the next one starts is not known.
                Skipped::Refused(_) => {
                    self.end(conn);
                    bytes.len()
                }
            };
        }
        if conn.unsent_count() >= self.shared.bounds.pipelined_max {
            intake.waiting = Waiting::Room;
            return 0;
        }
        match intake.scan.advance(bytes, &self.shared.bounds.head) {
            Scanned::Partial => 0,
            Scanned::Refused(status) => {
                self.refuse(conn, status, &bytes[..intake.scan.scanned_len()]);
                bytes.len()
            }
            Scanned::Whole(len) => self.on_head(conn, intake, &bytes[..len]),
        }
    }

    /// Answers one whole head, or has the connection wait. Returns how many bytes were taken.
    fn on_head(&mut self, conn: &mut SiteConn<'_>, intake: &mut Intake, head: &[u8]) -> usize {
        let era = self.era();
        let planned = match self.planner.recall(head, era).filter(|_| intake.awaited.is_none()) {
            Some(answer) => {
                self.tally.repeated_count.add(1);
                Planned::Answer(answer, None)
            }
            None => self.plan(head, era, intake.awaited.take()),
        };
        (intake.scan, intake.since) = Default::default();
        match planned {
            Planned::Answer(answer, body) => {
                intake.body = body;
                self.answer(conn, answer, head);
                head.len()
            }
            Planned::Refuse(status) => {
                self.refuse(conn, status, head);
                head.len()
            }
            Planned::Await(document, encoding) => {
                self.tally.awaited_count.add(1);
                self.parked.insert(self.last_ticket, Parked { id: conn.id(), document, encoding });
                intake.waiting = Waiting::Load;
                0
            }
        }
    }

    fn plan(&mut self, head: &[u8], era: Era, awaited: Option<Awaited>) -> Planned {
        let Shared { naming, heads, pages, bounds, .. } = &*self.shared;
        let rules = Rules { naming, heads, pages, body_len_max: bounds.body_len_max };
        self.last_ticket += 1;
        self.planner.plan(head, &rules, era, self.last_ticket, awaited)
    }

    /// Keeps what is left of the input, in a box that exists only if there is something.
    fn keep(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake, rest: &[u8]) {
        intake.bytes.extend_from_slice(rest);
        self.settle(conn, intake);
    }

    fn put_back(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake, mut bytes: Vec<u8>, used: usize) {
        bytes.drain(..used);
        intake.bytes = bytes;
        self.settle(conn, intake);
        // The timer may have been set for something that took longer than being idle may.
        if conn.state().intake.is_none() && !conn.state().phase.is_over() {
            conn.arm_timer(self.shared.bounds.idle);
        }
    }

    fn settle(&mut self, conn: &mut SiteConn<'_>, mut intake: Intake) {
        if conn.state().phase.is_over() {
            return conn.take(intake.held);
        }
        hold_rest(conn, &mut intake);
        let is_waiting = intake.waiting != Waiting::Input;
        if conn.state().phase == Phase::PeerDone && !is_waiting {
            return self.end(conn);
        }
        if !intake.is_blank() {
            self.start_timer(conn, &mut intake);
            conn.state().intake = Some(Box::new(intake));
        }
    }
}

/// Leaves what waits on the peer's account, and takes everything else off it.
fn hold_rest(conn: &mut SiteConn<'_>, intake: &mut Intake) {
    let rest_len = if intake.waiting == Waiting::Input { 0 } else { intake.bytes.len() as u32 };
    match rest_len.checked_sub(intake.held) {
        Some(more) => conn.hold(more),
        None => conn.take(intake.held - rest_len),
    }
    intake.held = rest_len;
}
