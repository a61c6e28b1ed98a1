//! What ICMP errors mean for a connection (RFC 5927): they may come from anybody, so each must quote a
//! segment that is in flight, and none but "too big" changes a synchronized connection.

use crate::connection::Connection;
use crate::{Closed, Config, Outcome, State};
use tidegate_base::{DropReason, SeqNumber};

/// A path's MSS below this is not believed (RFC 5927 section 7: a lie costs the most there).
const PATH_MSS_MIN: u16 = 512;

impl Connection {
    /// An ICMP error that quotes our segment at `quoted` says that segments above `mss` bytes do not
    /// pass (RFC 1191, RFC 8201). `mss` is the path's MTU less IP and TCP headers without options.
    /// False if it cannot be about a segment in flight, or asks for no less, and is ignored (RFC 5927
    /// section 4).
    pub fn on_path_mtu(&mut self, config: &Config, quoted: SeqNumber, mss: u16) -> bool {
        let mss = mss.max(PATH_MSS_MIN);
        let before = self.window.mss;
        if !self.state.can_send() || !self.is_quoted_in_flight(quoted) || u32::from(mss) >= before {
            return false;
        }
        self.set_mss(config, mss);
        self.resend_all();
        true
    }

    /// An ICMP error that quotes our segment at `quoted` says that the peer cannot be reached. Ends a
    /// connection in SYN-SENT; a synchronized one carries on (RFC 5927 section 5.2).
    pub fn on_unreachable(&mut self, quoted: SeqNumber) -> Outcome {
        if self.state != State::SynSent || !self.is_quoted_in_flight(quoted) {
            return Outcome::dropped(DropReason::OutOfWindow);
        }
        self.end();
        Outcome::closed(Closed::Refused)
    }

    /// SND.UNA <= SEG.SEQ < SND.NXT (RFC 5927 section 4.1).
    fn is_quoted_in_flight(&self, quoted: SeqNumber) -> bool {
        quoted.at_or_after(self.send.una) && quoted.before(self.send.nxt)
    }
}
