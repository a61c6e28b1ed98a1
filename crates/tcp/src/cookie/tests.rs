//! Cookies come back as they were given, and nothing else passes for one.
use super::*;
use tidegate_base::Duration;

const FLOW: (u32, u16) = (0x0a00_0001, 4711);

fn jar() -> CookieJar {
    CookieJar::new(HashKey::new([7; 16]))
}

fn syn(options: TcpOptions) -> TcpRepr {
    TcpRepr {
        src_port: 4711,
        dst_port: 80,
        seq: SeqNumber(0xffff_ffff),
        ack: SeqNumber(0),
        flags: TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR),
        window: 1000,
        options,
    }
}

fn full_options() -> TcpOptions {
    TcpOptions {
        mss: Some(1450),
        window_scale: Some(9),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 77, echo: 0 }),
        ..TcpOptions::NONE
    }
}

fn answer(syn_ack: &TcpRepr) -> TcpRepr {
    TcpRepr {
        src_port: syn_ack.dst_port,
        dst_port: syn_ack.src_port,
        seq: syn_ack.ack,
        ack: syn_ack.seq + 1,
        flags: TcpFlags::ACK,
        window: 1000,
        options: TcpOptions {
            timestamps: syn_ack.options.timestamps.map(|ts| Timestamps { value: 78, echo: ts.value }),
            ..TcpOptions::NONE
        },
    }
}

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

#[test]
fn options_survive_the_round_trip() {
    let config = Config::SERVER;
    let syn_ack = jar().syn_ack(at(1000), &config, &FLOW, &syn(full_options())).expect("a cookie");
    assert_eq!(syn_ack.options.timestamps.expect("timestamps").echo, 77);
    let options = jar().check(at(1001), &config, &FLOW, &answer(&syn_ack));
    assert_eq!(options, Some(CookieOptions { mss: 1440, window_scale: Some(9), sack: true, ecn: true }));
}

#[test]
fn without_timestamps_only_the_mss_survives() {
    let config = Config::SERVER;
    let options = TcpOptions { timestamps: None, ..full_options() };
    let syn_ack = jar().syn_ack(at(0), &config, &FLOW, &syn(options)).expect("a cookie");
    assert!(syn_ack.options.window_scale.is_none() && !syn_ack.options.sack_permitted);
    let options = jar().check(at(0), &config, &FLOW, &answer(&syn_ack));
    assert_eq!(options, Some(CookieOptions { mss: 1440, window_scale: None, sack: false, ecn: false }));
}

#[test]
fn expires_after_the_next_slot() {
    let config = Config::SERVER;
    let syn_ack = jar().syn_ack(at(64), &config, &FLOW, &syn(full_options())).expect("a cookie");
    assert!(jar().check(at(191), &config, &FLOW, &answer(&syn_ack)).is_some());
    assert!(jar().check(at(192), &config, &FLOW, &answer(&syn_ack)).is_none());
}

#[test]
fn another_flow_key_or_number_does_not_pass() {
    let config = Config::SERVER;
    let syn_ack = jar().syn_ack(at(5), &config, &FLOW, &syn(full_options())).expect("a cookie");
    let ack = answer(&syn_ack);
    assert!(jar().check(at(5), &config, &(FLOW.0, 4712u16), &ack).is_none());
    assert!(CookieJar::new(HashKey::new([8; 16])).check(at(5), &config, &FLOW, &ack).is_none());
    for bit in 0..32 {
        let forged = TcpRepr { ack: SeqNumber((ack.ack.0 - 1) ^ 1 << bit) + 1, ..ack };
        assert!(jar().check(at(5), &config, &FLOW, &forged).is_none());
        let forged = TcpRepr { seq: SeqNumber(ack.seq.0 ^ 1 << bit), ..ack };
        assert!(jar().check(at(5), &config, &FLOW, &forged).is_none());
    }
}

#[test]
fn the_stamp_is_not_ahead_of_the_clock() {
    let config = Config::SERVER;
    for ms in 1000..1200 {
        let now = Instant::from_millis(ms);
        let syn_ack = jar().syn_ack(now, &config, &FLOW, &syn(full_options())).expect("a cookie");
        let value = syn_ack.options.timestamps.expect("timestamps").value;
        assert!(value <= config.timestamp_clock(now) && value + 128 > config.timestamp_clock(now));
    }
}

#[test]
fn a_tiny_mss_gets_no_cookie() {
    let options = TcpOptions { mss: Some(100), ..full_options() };
    assert!(jar().syn_ack(at(0), &Config::SERVER, &FLOW, &syn(options)).is_none());
}
