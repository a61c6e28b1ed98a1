//! The RST that answers a segment for which there is no connection (RFC 9293 section 3.10.7.1).

use tidegate_base::SeqNumber;
use tidegate_wire::{TcpFlags, TcpOptions, TcpRepr};

/// The RST to send for `segment`, ports swapped; `None` if it carries a RST itself, which is never
/// answered.
pub fn reply(segment: &TcpRepr, payload_len: usize) -> Option<TcpRepr> {
    if segment.flags.contains(TcpFlags::RST) {
        return None;
    }
    let (seq, ack, flags) = if segment.flags.contains(TcpFlags::ACK) {
        // <SEQ=SEG.ACK><CTL=RST>
        (segment.ack, SeqNumber(0), TcpFlags::RST)
    } else {
        // <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
        let ack = segment.seq + segment.segment_len(payload_len);
        (SeqNumber(0), ack, TcpFlags::RST.with(TcpFlags::ACK))
    };
    Some(TcpRepr {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        seq,
        ack,
        flags,
        window: 0,
        options: TcpOptions::NONE,
    })
}
