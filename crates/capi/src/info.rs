//! `struct tcp_info`, as linux/tcp.h has it up to `tcpi_total_retrans`.

use tidegate_base::Duration;
use tidegate_socket::{Info, State};

/// Options that both sides have (TCPI_OPT_TIMESTAMPS, ..._SACK, ..._WSCALE, ..._ECN).
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALE: u8 = 4;
const ECN: u8 = 8;

/// States by linux/tcp_states.h.
const CLOSE: u8 = 7;
const LISTEN: u8 = 10;

/// Bytes before the words, and words.
const BYTE_COUNT: usize = 8;
const WORD_COUNT: usize = 24;
pub(crate) const INFO_LEN: usize = BYTE_COUNT + 4 * WORD_COUNT;

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

const fn state_number(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => CLOSE,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

fn layout(bytes: [u8; BYTE_COUNT], words: [u32; WORD_COUNT]) -> [u8; INFO_LEN] {
    let mut all = [0; INFO_LEN];
    all[..BYTE_COUNT].copy_from_slice(&bytes);
    for (place, word) in all[BYTE_COUNT..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    all
}

/// What a socket without a connection has to tell.
pub(crate) fn of_none(is_listener: bool) -> [u8; INFO_LEN] {
    let mut bytes = [0; BYTE_COUNT];
    bytes[0] = if is_listener { LISTEN } else { CLOSE };
    layout(bytes, [0; WORD_COUNT])
}

/// A connection's, in the structure's units: microseconds, segments.
pub(crate) fn of(info: &Info) -> [u8; INFO_LEN] {
    let segments = |len: u32| len.div_ceil(info.mss.max(1));
    let option = |has: bool, bit: u8| if has { bit } else { 0 };
    let options = option(info.has_timestamps, TIMESTAMPS)
        | option(info.has_sack, SACK)
        | option(info.window_scales.is_some(), WINDOW_SCALE)
        | option(info.has_ecn, ECN);
    let (theirs, ours) = info.window_scales.unwrap_or_default();
    // state, ca_state, retransmits, probes, backoff, options, both scales, delivery_rate_app_limited.
    let bytes = [
        state_number(info.state),
        0,
        info.backoff,
        info.probe_count,
        info.backoff,
        options,
        theirs & 15 | ours << 4,
        0,
    ];
    let mut words = [0; WORD_COUNT];
    let mut set = |at: usize, value: u32| words[at] = value;
    set(0, micros(info.rto));
    set(2, info.mss);
    set(3, info.mss);
    set(4, segments(info.in_flight_len));
    set(15, micros(info.rtt.unwrap_or(Duration::ZERO)));
    set(16, micros(info.rtt_variation));
    set(17, if info.ssthresh == u32::MAX { i32::MAX as u32 } else { segments(info.ssthresh) });
    set(18, info.cwnd / info.mss.max(1));
    set(19, info.mss);
    set(20, 3);
    set(22, info.receive_window);
    set(23, info.sent_again_count);
    layout(bytes, words)
}
