//! Flows and packets a second as asked for, arrivals and durations of each kind.

use super::*;
use crate::rig::{Rig, checksums_hold, packet};
use std::collections::{HashMap, HashSet};

fn params(pps: f64) -> FlowGenParams {
    FlowGenParams::new(packet(6, (0x0a00_0001, 1000), (0x0b00_0001, 80), 0x10, b"data"), pps)
}

fn frames(params: FlowGenParams, ms: u64) -> Vec<Vec<u8>> {
    let mut rig = Rig::with_gates(FlowGen::new(params).unwrap(), 0, 1);
    let mut frames = Vec::new();
    for turn in 0..ms * 4 {
        frames.extend(
            rig.round(Instant::from_nanos(1_000_000_000 + turn * 250_000)).into_iter().map(|it| it.1),
        );
    }
    rig.retire();
    frames
}

fn flow_of(frame: &[u8]) -> Vec<u8> {
    frame[26..38].to_vec()
}

#[test]
fn packets_come_at_the_rate_with_right_checksums() {
    let many =
        FlowGenParams { quick_rampup: true, port_src_range: 5000, ip_dst_range: 9, ..params(20_000.0) };
    let frames = frames(many, 2000);
    assert!((38_000..42_000).contains(&frames.len()), "{}", frames.len());
    assert!(frames.iter().all(|frame| checksums_hold(frame)));
    let ports: HashSet<&[u8]> = frames.iter().map(|frame| &frame[34..36]).collect();
    assert!((80..=140).contains(&ports.len()), "{}", ports.len());
}

#[test]
fn a_flow_begins_with_syn_and_ends_with_fin() {
    let short =
        FlowGenParams { flow_rate: 100.0, flow_duration: 0.05, port_src_range: 60_000, ..params(1000.0) };
    let mut flags: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    for frame in frames(short, 1000) {
        flags.entry(flow_of(&frame)).or_default().push(frame[47]);
    }
    assert!((95..=101).contains(&flags.len()), "{}", flags.len());
    let whole = flags.values().filter(|it| it.last() == Some(&0x11)).count();
    assert!(whole > 90);
    for flags in flags.values().filter(|it| it.last() == Some(&0x11)) {
        assert_eq!(flags.len(), 10, "50 ms at 200 packets a second");
        assert_eq!((flags[0], &flags[1..9]), (0x02, &[0x10; 8][..]));
    }
}

#[test]
fn random_times_have_the_mean_asked_for() {
    let mut rng = Rng::new(1);
    let draws = 200_000;
    let gaps: f64 = (0..draws).map(|_| Arrival::Exponential.draw(&mut rng, 100.0).as_secs_f64()).sum();
    assert!((gaps / f64::from(draws) - 0.01).abs() < 1e-4);
    let pareto = Lives::new(FlowDuration::Pareto).unwrap();
    let mut lives: Vec<f64> = (0..draws).map(|_| pareto.draw(&mut rng, 10.0)).collect();
    lives.sort_by(f64::total_cmp);
    // The median of a Pareto distribution is its least value times the root of two.
    let median = 10.0 * 0.3 / 1.3 * 2.0_f64.powf(1.0 / 1.3);
    assert!((lives[lives.len() / 2] - median).abs() < 0.05);
    assert!(lives[0] >= 10.0 * 0.3 / 1.3);
}

#[test]
fn sizes_by_zipfs_law_are_mostly_small_and_sometimes_large() {
    assert_eq!("zipf:1.5".parse(), Ok(FlowDuration::Zipf { exponent: 1.5 }));
    let duration = "zipf".parse().unwrap();
    let many = FlowGenParams {
        duration,
        flow_rate: 200.0,
        flow_duration: 0.1,
        ip_src_range: 60_000,
        ..params(20_000.0)
    };
    let mut sizes: HashMap<Vec<u8>, u64> = HashMap::new();
    frames(many, 4000).iter().for_each(|frame| *sizes.entry(flow_of(frame)).or_default() += 1);
    let mut sizes: Vec<u64> = sizes.into_values().collect();
    sizes.sort();
    assert!(sizes[sizes.len() / 2] < 20, "the median is {}", sizes[sizes.len() / 2]);
    assert!(*sizes.last().unwrap() > 10 * sizes[sizes.len() / 2]);
    assert!("zipf:x".parse::<FlowDuration>().is_err());
}

#[test]
fn an_update_begins_anew() {
    let mut rig = Rig::with_gates(FlowGen::new(params(1000.0)).unwrap(), 0, 1);
    rig.round(Instant::from_millis(1000));
    rig.module::<FlowGen>().update(FlowGenParams { quick_rampup: true, ..params(10.0) }).unwrap();
    rig.round(Instant::from_millis(2000));
    assert_eq!(rig.module::<FlowGen>().counters()[0], ("flows", 101));
    assert!(rig.module::<FlowGen>().set_burst(33).is_err());
    rig.retire();
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let error = |params: FlowGenParams| FlowGen::new(params).err().unwrap().to_string();
    assert!(error(FlowGenParams { template: vec![0; 60], ..params(1.0) }).contains("IPv4 packet"));
    assert!(error(FlowGenParams { template: vec![0; 10], ..params(1.0) }).contains("length is 10"));
    assert!(error(params(0.0)).contains("pps is 0"));
    assert!(error(params(f64::NAN)).contains("pps is NaN"));
    assert!(error(FlowGenParams { flow_rate: 1e8, ..params(1.0) }).contains("times flow_duration"));
    assert!(error(FlowGenParams { ip_src_range: 0, ..params(1.0) }).contains("ip_src_range"));
    assert!("poisson".parse::<Arrival>().unwrap_err().to_string().contains("uniform, exponential"));
}
