//! What may and what may not disturb a connection that rests.
use super::*;
use tidegate_base::Duration;

fn entry() -> TimeWait {
    TimeWait {
        expires: Instant::from_millis(60_000),
        snd_nxt: SeqNumber(500),
        rcv_nxt: SeqNumber(900),
        ts_recent: 40,
        window: 100,
        has_timestamps: true,
    }
}

fn segment(seq: u32, flags: TcpFlags, ts: Option<u32>) -> TcpRepr {
    TcpRepr {
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber(seq),
        ack: SeqNumber(500),
        flags,
        window: 10,
        options: TcpOptions { timestamps: ts.map(|value| Timestamps { value, echo: 0 }), ..TcpOptions::NONE },
    }
}

fn judge(entry: &mut TimeWait, repr: &TcpRepr) -> TimeWaitVerdict {
    let arrival = Arrival { repr, payload: &[], ecn: 0 };
    entry.on_segment(Instant::from_millis(10_000), &Config::SERVER, &arrival)
}

#[test]
fn a_fin_sent_again_is_acknowledged_and_restarts_the_wait() {
    let mut entry = entry();
    let fin = segment(899, TcpFlags::FIN.with(TcpFlags::ACK), Some(40));
    let TimeWaitVerdict::Answer(ack) = judge(&mut entry, &fin) else { panic!("not answered") };
    assert_eq!((ack.seq, ack.ack, ack.src_port), (SeqNumber(500), SeqNumber(900), 2));
    assert_eq!(entry.deadline(), Instant::from_millis(10_000) + Config::SERVER.time_wait);
    assert!(Config::SERVER.time_wait >= Duration::from_secs(1));
}

#[test]
fn a_reset_is_ignored() {
    assert_eq!(judge(&mut entry(), &segment(900, TcpFlags::RST, None)), TimeWaitVerdict::Ignore);
}

#[test]
fn a_bare_acknowledgement_is_not_answered() {
    assert_eq!(judge(&mut entry(), &segment(900, TcpFlags::ACK, Some(41))), TimeWaitVerdict::Ignore);
}

#[test]
fn a_newer_timestamp_begins_a_new_incarnation() {
    let reuse = TimeWaitVerdict::Reuse { snd_nxt: SeqNumber(500) };
    assert_eq!(judge(&mut entry(), &segment(3, TcpFlags::SYN, Some(41))), reuse);
    assert_eq!(judge(&mut entry(), &segment(901, TcpFlags::SYN, Some(40))), reuse);
    assert_eq!(judge(&mut entry(), &segment(901, TcpFlags::SYN, None)), reuse);
}

#[test]
fn an_old_syn_is_acknowledged() {
    for (seq, ts) in [(901, Some(39)), (900, Some(40)), (3, None)] {
        let verdict = judge(&mut entry(), &segment(seq, TcpFlags::SYN, ts));
        assert!(matches!(verdict, TimeWaitVerdict::Answer(_)), "{verdict:?}");
    }
}
