//! Latency and jitter of frames with stamps of a known age.

use super::*;
use crate::rig::Rig;
use tidegate_base::Instant;

fn stamped(ns: u64) -> Vec<u8> {
    let mut frame = vec![0; 54];
    frame.extend(0x54c5_be55_u32.to_le_bytes());
    frame.extend(ns.to_le_bytes());
    frame
}

fn measure() -> Measure {
    let params =
        MeasureParams { jitter_sample_prob: 1.0, latency_ns_max: 1_000_000, ..MeasureParams::default() };
    Measure::new(&params).unwrap()
}

#[test]
fn latencies_and_jitter_are_what_they_are() {
    let mut rig = Rig::with_gates(measure(), 1, 1);
    let now = Instant::from_nanos(1_000_000_000);
    for n in 1..=100 {
        rig.feed(0, &[&stamped(1_000_000_000 - n * 1000)]);
    }
    rig.feed(0, &[&[0; 60], &stamped(2_000_000_000), &stamped(0)]);
    assert_eq!(rig.round(now).len(), 103);
    let summary = rig.module::<Measure>().summary(&[0.0, 0.5, 0.99, 1.0], &[0.5]).unwrap();
    assert_eq!(summary.packets, 101);
    assert_eq!(summary.bits, 101 * (66 + 24) * 8);
    let latency = summary.latency;
    assert_eq!((latency.count, latency.above_range, latency.min_ns), (101, 1, 1000));
    assert_eq!((latency.max_ns, latency.resolution_ns), (1_000_000_000, 100));
    assert_eq!(latency.total_ns, 5_050_000 + 1_000_000_000);
    assert_eq!(latency.percentile_values_ns, [0, 51_100, 100_100, 1_000_000_000]);
    assert_eq!((summary.jitter.count, summary.jitter.min_ns), (100, 1000));
    assert_eq!(summary.jitter.percentile_values_ns, [1100]);
    assert_eq!(rig.module::<Measure>().counters()[2], ("unstamped", 2));
    rig.module::<Measure>().clear();
    let summary = rig.module::<Measure>().summary(&[0.5], &[]).unwrap();
    assert_eq!((summary.packets, summary.latency.percentile_values_ns), (0, vec![0]));
    rig.retire();
}

#[test]
fn the_time_may_be_an_attribute() {
    let params = MeasureParams { place: StampPlace::Attribute("t".into()), ..MeasureParams::default() };
    let mut module = Measure::new(&params).unwrap();
    assert_eq!(module.attributes(), [Attribute::read("t", 8)]);
    module.bind(&[Place::At(8)]);
    let mut rig = Rig::with_gates(module, 1, 1);
    let mut scratch = [0; 16];
    scratch[8..].copy_from_slice(&400_u64.to_be_bytes());
    rig.feed_marked(0, &[0; 60], &scratch);
    rig.round(Instant::from_nanos(1000));
    assert_eq!(rig.module::<Measure>().summary(&[], &[]).unwrap().latency.max_ns, 600);
    rig.retire();
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let error = |params: MeasureParams| Measure::new(&params).err().unwrap().to_string();
    let good = MeasureParams::default();
    assert!(
        error(MeasureParams { latency_ns_resolution: 0, ..good.clone() }).contains("latency_ns_resolution")
    );
    assert!(error(MeasureParams { latency_ns_max: 1, ..good.clone() }).contains("buckets"));
    assert!(error(MeasureParams { jitter_sample_prob: 2.0, ..good.clone() }).contains("0 to 1"));
    assert!(error(MeasureParams { place: StampPlace::Offset(2040), ..good }).contains("2048"));
    assert!(measure().summary(&[0.9, 0.5], &[]).unwrap_err().to_string().contains("rising"));
    assert!(measure().summary(&[f64::NAN], &[]).is_err());
}

#[test]
fn garbage_is_survived() {
    Rig::with_gates(measure(), 1, 1).survives_garbage(1, &stamped(5), 18);
}
