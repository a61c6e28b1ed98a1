//! Taking messages from a connection's bytes, one behind the other, as long as they may be answered.
//!
//! Invariant: when a callback is over, all answers made in it are written to the connection.

use super::framing::{self, PREFIX_LEN, Room};
use super::stream::Stream;
use super::{
    AHEAD_LEN_MAX, Answered, Answerer, Asked, Carrier, Messages, NextMessage, Phase, Reply,
    TRANSFER_AHEAD_LEN_MAX, TRANSFER_STEP, Tcp, TcpTally,
};
use tidegate_stack::Conn;

impl<A: Answerer> Tcp<A> {
    /// Takes in `data` behind what the connection has received before.
    pub(super) fn take_in<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>, data: &[u8]) {
        match conn.state().stream.take() {
            Some(mut stream) => {
                stream.keep(data);
                self.resume(conn, *stream);
            }
            None => {
                let mut stream = Stream::default();
                let used = self.feed(conn, &mut stream, data);
                stream.keep(&data[used..]);
                self.settle(conn, stream);
            }
        }
    }

    /// Goes on with a connection's transfer and input, as far as may be now.
    pub(super) fn resume<S: Carrier<A::Transfer>>(
        &mut self,
        conn: &mut Conn<'_, S>,
        mut stream: Stream<A::Transfer>,
    ) {
        self.go_on(conn, &mut stream);
        let mut bytes = std::mem::take(&mut stream.bytes);
        let used = self.feed(conn, &mut stream, &bytes);
        bytes.drain(..used);
        stream.bytes = bytes;
        self.settle(conn, stream);
    }

    /// Answers as many messages of `bytes` as may be answered now. Returns how many bytes those were.
    fn feed<S: Carrier<A::Transfer>>(
        &mut self,
        conn: &mut Conn<'_, S>,
        stream: &mut Stream<A::Transfer>,
        bytes: &[u8],
    ) -> usize {
        let mut used = 0;
        stream.waits_for_room = false;
        while let Some(message) = framing::first_message(&bytes[used..]) {
            if conn.state().phase.takes_no_more() {
                break;
            }
            stream.waits_for_room = self.is_ahead(conn);
            if stream.is_waiting() {
                break;
            }
            stream.since = None;
            self.on_message(conn, stream, message);
            used += PREFIX_LEN + message.len();
        }
        self.flush(conn);
        if conn.state().phase.takes_no_more() { bytes.len() } else { used }
    }

    fn is_ahead<S: Carrier<A::Transfer>>(&self, conn: &Conn<'_, S>) -> bool {
        conn.unsent_len() + self.room.len() as u64 >= AHEAD_LEN_MAX
            || conn.unsent_count() >= self.shared.bounds.pipelined_max
    }

    fn on_message<S: Carrier<A::Transfer>>(
        &mut self,
        conn: &mut Conn<'_, S>,
        stream: &mut Stream<A::Transfer>,
        message: &[u8],
    ) {
        let keep_alive = self.shared.keep_alive();
        let asked = Asked { message, peer: conn.peer(), local: conn.local(), keep_alive };
        match self.answerer.answer(asked, self.room.for_message()) {
            Answered::Message(len) => {
                self.room.commit(len);
                if self.room.is_full() {
                    self.flush(conn);
                }
            }
            Answered::Transfer(transfer) => {
                self.tally.transfer_count.add(1);
                stream.transfer = Some(transfer);
                self.go_on(conn, stream);
            }
            Answered::Hopeless => {
                self.tally.hopeless_count.add(1);
                return self.close_after(conn);
            }
        }
        self.count_query(conn);
    }

    fn count_query<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        self.tally.query_count.add(1);
        let state = conn.state();
        state.query_count = state.query_count.saturating_add(1);
        let count_max = self.shared.bounds.query_count_max;
        let is_sated = count_max != 0 && u32::from(state.query_count) >= count_max.min(u16::MAX.into());
        if is_sated {
            state.phase = Phase::Sated;
        } else if self.shared.is_draining() {
            state.phase = Phase::PeerDone;
        }
    }

    /// The connection ends behind the answers so far.
    fn close_after<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        self.flush(conn);
        self.end(conn);
    }

    /// Makes the next messages of a transfer, if the peer has taken enough of it.
    fn go_on<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>, stream: &mut Stream<A::Transfer>) {
        let Some(transfer) = &mut stream.transfer else { return };
        for _ in 0..TRANSFER_STEP {
            if conn.unsent_len() >= TRANSFER_AHEAD_LEN_MAX {
                break;
            }
            let made = transfer.next_message(self.room.for_message());
            match made {
                NextMessage::More(len) | NextMessage::Last(len) => self.room.commit(len),
                NextMessage::Failed => return conn.abort(),
            }
            flush(&mut self.room, &self.tally, conn);
            if matches!(made, NextMessage::Last(_)) {
                self.tally.transfer_done_count.add(1);
                stream.transfer = None;
                return;
            }
        }
    }

    fn flush<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>) {
        flush(&mut self.room, &self.tally, conn);
    }

    /// Keeps what is left of the input, in a box that exists only if there is something.
    fn settle<S: Carrier<A::Transfer>>(&mut self, conn: &mut Conn<'_, S>, mut stream: Stream<A::Transfer>) {
        if conn.state().phase == Phase::Ending {
            return conn.take(stream.held);
        }
        hold_rest(conn, &mut stream);
        if conn.state().phase.ends_when_answered() && !stream.is_waiting() {
            return self.end(conn);
        }
        if !stream.is_blank() {
            self.start_timer(conn, &mut stream);
            conn.state().stream = Some(Box::new(stream));
        }
    }
}

fn flush<T, S: Carrier<T>>(room: &mut Room, tally: &TcpTally, conn: &mut Conn<'_, S>) {
    if room.len() > 0 {
        tally.answer_count.add(room.message_count());
        tally.answer_bytes.add(room.len() as u64);
        conn.write(Reply::new(room.drain()));
    }
}

/// Leaves what waits on the peer's account, and takes everything else off it.
fn hold_rest<T, S: Carrier<T>>(conn: &mut Conn<'_, S>, stream: &mut Stream<T>) {
    let rest_len = if stream.is_waiting() { stream.bytes.len() as u32 } else { 0 };
    match rest_len.checked_sub(stream.held) {
        Some(more) => conn.hold(more),
        None => conn.take(stream.held - rest_len),
    }
    stream.held = rest_len;
}
