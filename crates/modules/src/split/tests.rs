//! Which frame leaves where, and that none is lost.
use super::*;
use crate::rig::{Packet, Rig, ipv4_frame, survives};
use crate::{Field, Layer, ParameterError, Position};
use tidegate_base::{DropReason, Rng};
use tidegate_packet::SCRATCH_LEN;
use tidegate_pipeline::Module;
use tidegate_pipeline::metadata::Place;

fn offset(offset: u64, size: u64) -> Field {
    Field { position: Position::Offset(offset), size }
}

fn named(name: &str, size: u64) -> Field {
    Field { position: Position::Attribute(name.into()), size }
}

fn numbered(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| (n as u64).to_be_bytes().to_vec()).collect()
}

fn gates_of(out: &[(usize, Vec<u8>)]) -> Vec<usize> {
    out.iter().map(|(gate, _)| *gate).collect()
}

#[test]
fn split_goes_by_a_field_of_the_frame() {
    let mut rig = Rig::new(Split::new(&offset(6, 2)).unwrap());
    let mut out = rig.pass(&numbered(20));
    out.sort();
    let expected: Vec<_> = numbered(8).into_iter().enumerate().collect();
    assert_eq!(out, expected, "gates 8 to 19 lead nowhere");
    assert_eq!(rig.pass(&[vec![0, 0, 0, 0, 0, 0, 0xff, 0xff], vec![0; 7]]), []);
    assert_eq!(rig.drops(DropReason::Policy), 12 + 2);
    assert!(matches!(Split::new(&offset(0, 9)), Err(ParameterError::OutOfRange { value: 9, .. })));
    assert!(matches!(Split::new(&offset(2041, 8)), Err(ParameterError::BeyondFrame { .. })));
    assert_eq!(Split::new(&named("", 1)).err(), Some(ParameterError::Nameless));
}

#[test]
fn split_goes_by_an_attribute() {
    let mut rig = Rig::new(Split::new(&named("class", 2)).unwrap());
    assert_eq!(rig.module::<Split>().attributes().len(), 1);
    rig.module::<Split>().bind(&[Place::At(10)]);
    let packet = |class: u8| {
        let mut scratch = [0xff; SCRATCH_LEN];
        scratch[10..12].copy_from_slice(&[0, class]);
        Packet { gate: 0, data: vec![class; 60], scratch }
    };
    let out = rig.pass_packets(&[packet(3), packet(1), packet(3)]);
    let mut seen: Vec<_> = out.iter().map(|it| (it.gate, it.data[0])).collect();
    seen.sort();
    assert_eq!(seen, [(1, 1), (3, 3), (3, 3)]);
    rig.module::<Split>().bind(&[Place::Unwritten]);
    assert_eq!(rig.pass_packets(&[packet(3)])[0].gate, 0);
}

#[test]
fn vlan_split_goes_by_vlan_and_takes_the_tag() {
    let frame = ipv4_frame(17, b"data");
    let tag = |tci: [u8; 2]| [&frame[..12], &[0x81, 0], &tci, &frame[12..]].concat();
    let mut out = Rig::new(VlanSplit).pass(&[tag([0xe0, 3]), frame.clone(), tag([0x10, 7]), vec![1; 15]]);
    out.sort();
    assert_eq!(out, [(0, vec![1; 15]), (0, frame.clone()), (3, frame.clone()), (7, frame.clone())]);
}

#[test]
fn worker_split_has_one_gate_a_worker() {
    let mut rig = Rig::new(WorkerSplit::new(2, &[]).unwrap());
    assert_eq!(gates_of(&rig.pass(&numbered(3))), [2; 3]);
    rig.module::<WorkerSplit>().reset(&[(0, 1), (2, 5)]).unwrap();
    assert_eq!(gates_of(&rig.pass(&numbered(3))), [5; 3]);
    assert!(rig.module::<WorkerSplit>().reset(&[(0, 8192)]).is_err());
    assert_eq!(gates_of(&rig.pass(&numbered(3))), [5; 3], "what is wrong changes nothing");
    rig.module::<WorkerSplit>().reset(&[(0, 1)]).unwrap();
    assert_eq!(rig.pass(&numbered(3)), []);
    assert_eq!(rig.drops(DropReason::Policy), 3);
}

#[test]
fn random_split_spreads_and_drops_as_asked() {
    let params = RandomSplitParams { drop_rate: 0.25, gates: vec![0, 1, 4], seed: 8 };
    let mut rig = Rig::new(RandomSplit::new(&params).unwrap());
    let gates = gates_of(&rig.pass(&numbered(8000)));
    for gate in [0, 1, 4] {
        let count = gates.iter().filter(|it| **it == gate).count();
        assert!((1850..2150).contains(&count), "{count} at {gate}");
    }
    assert_eq!(rig.drops(DropReason::Policy) as usize, 8000 - gates.len());
    rig.module::<RandomSplit>().set_drop_rate(0.0).unwrap();
    rig.module::<RandomSplit>().set_gates(&[7]).unwrap();
    assert_eq!(gates_of(&rig.pass(&numbered(100))), [7; 100]);
    rig.module::<RandomSplit>().set_drop_rate(1.0).unwrap();
    assert_eq!(rig.pass(&numbered(100)), []);
    for wrong in [-0.1, 1.1, f64::NAN] {
        assert!(rig.module::<RandomSplit>().set_drop_rate(wrong).is_err());
    }
    let text = rig.module::<RandomSplit>().set_gates(&[]).unwrap_err().to_string();
    assert_eq!(text, "no output gates: give at least one");
}

#[test]
fn round_robin_deals_frames_or_batches() {
    let mut rig = Rig::new(RoundRobin::new(&[2, 0, 1], RoundRobinMode::Packet).unwrap());
    let mut out = rig.pass(&numbered(31));
    out.sort_by_key(|(_, data)| data.clone());
    let expected: Vec<_> = (0..31).map(|n| [2, 0, 1][n % 3]).collect();
    assert_eq!(gates_of(&out), expected);
    rig.module::<RoundRobin>().set_mode(RoundRobinMode::Batch);
    rig.module::<RoundRobin>().set_gates(&[5, 6]).unwrap();
    let out = gates_of(&rig.pass(&numbered(96)));
    assert_eq!(out, [[5; 32], [6; 32], [5; 32]].concat());
    assert_eq!("packet".parse(), Ok(RoundRobinMode::Packet));
    let text = "pakket".parse::<RoundRobinMode>().unwrap_err().to_string();
    assert_eq!(text, "`pakket` is no mode: give one of batch, packet");
    assert!(RoundRobin::new(&[8192], RoundRobinMode::Batch).is_err());
}

#[test]
fn replicate_copies_data_and_attributes() {
    let mut rig = Rig::new(Replicate::new(&[3, 0, 5]).unwrap());
    let mut scratch = [0; SCRATCH_LEN];
    scratch[7] = 77;
    let packet = Packet { gate: 0, data: ipv4_frame(6, b"to all"), scratch };
    let mut out = rig.pass_packets(&vec![packet.clone(); 20]);
    out.sort_by_key(|it| it.gate);
    let expected: Vec<_> =
        [0, 3, 5].iter().flat_map(|gate| vec![Packet { gate: *gate, ..packet.clone() }; 20]).collect();
    assert_eq!(out, expected);
    assert_eq!((rig.counter("copied"), rig.kept_count()), (40, 0));
}

#[test]
fn replicate_sends_what_there_is_when_frames_run_out() {
    let gates: Vec<u64> = (0..8).chain(0..8).collect();
    let mut rig = Rig::new(Replicate::new(&gates).unwrap());
    let out = rig.pass(&numbered(32));
    assert_eq!(out.len(), 256, "all chunks of the pool");
    assert_eq!((rig.counter("copied"), rig.counter("not_copied")), (224, 256));
    assert_eq!(rig.kept_count(), 0);
}

#[test]
fn merge_brings_gates_together() {
    let packet = |gate| Packet { gate, data: vec![gate as u8; 20], scratch: [0; SCRATCH_LEN] };
    let out = Rig::new(Merge).pass_packets(&[packet(0), packet(1), packet(0)]);
    assert_eq!(out.len(), 3);
    assert!(out.iter().all(|it| it.gate == 0));
}

/// A UDP frame of one of many flows.
fn of_flow(rng: &mut Rng, payload: &[u8]) -> Vec<u8> {
    let mut frame = ipv4_frame(17, payload);
    frame[26..38].copy_from_slice(&std::array::from_fn::<u8, 12, _>(|_| rng.next_u32() as u8));
    frame
}

#[test]
fn hash_lb_keeps_flows_together_and_spreads_them() {
    let params = HashLbParams { gates: vec![0, 1, 2, 3], mode: HashMode::default(), seed: 6 };
    let mut rig = Rig::new(HashLb::new(&params).unwrap());
    let mut rng = Rng::new(2);
    let flows: Vec<_> = (0..4000).map(|_| of_flow(&mut rng, b"one")).collect();
    let out = rig.pass(&flows);
    for gate in 0..4 {
        let count = out.iter().filter(|it| it.0 == gate).count();
        assert!((870..1130).contains(&count), "{count} at {gate}");
    }
    for frame in &flows[..100] {
        let mut later = frame.clone();
        later.extend(b" and another packet of the same flow");
        (later[18], later[22]) = (99, 9);
        let gate = |rig: &mut Rig, frame: &Vec<u8>| rig.pass(std::slice::from_ref(frame))[0].0;
        assert_eq!(gate(&mut rig, frame), gate(&mut rig, &later));
    }
}

#[test]
fn hash_lb_sees_only_what_its_mode_says() {
    let mut rng = Rng::new(3);
    let base = of_flow(&mut rng, b"x");
    let changed = |at: usize| -> Vec<Vec<u8>> {
        (0..64)
            .map(|n| {
                let mut frame = base.clone();
                frame[at] = n;
                frame
            })
            .collect()
    };
    let spreads = |mode: HashMode, at: usize| {
        let params = HashLbParams { gates: vec![0, 1, 2], mode, seed: 0 };
        let out = Rig::new(HashLb::new(&params).unwrap()).pass(&changed(at));
        out.iter().any(|it| it.0 != out[0].0)
    };
    let [mac, ip, port] = [5, 29, 35];
    let layer = |layer| HashMode::Layer(layer);
    assert_eq!([mac, ip, port].map(|at| spreads(layer(Layer::L2), at)), [true, false, false]);
    assert_eq!([mac, ip, port].map(|at| spreads(layer(Layer::L3), at)), [false, true, false]);
    assert_eq!([mac, ip, port].map(|at| spreads(layer(Layer::L4), at)), [false, true, true]);
    let fields = HashMode::Fields(vec![offset(35, 1), offset(1000, 8)]);
    assert_eq!([mac, ip, port].map(|at| spreads(fields.clone(), at)), [false, false, true]);
    assert_eq!("l3".parse(), Ok(Layer::L3));
    assert!("l5".parse::<Layer>().unwrap_err().to_string().contains("l2, l3, l4"));
    let none = HashLbParams { gates: vec![0], mode: HashMode::Fields(Vec::new()), seed: 0 };
    assert_eq!(HashLb::new(&none).err(), Some(ParameterError::Missing("fields")));
}

#[test]
fn hash_lb_goes_by_attributes() {
    let mode = HashMode::Fields(vec![named("tenant", 4), offset(0, 1)]);
    let params = HashLbParams { gates: vec![0, 1, 2], mode, seed: 0 };
    let mut rig = Rig::new(HashLb::new(&params).unwrap());
    rig.module::<HashLb>().bind(&[Place::At(4)]);
    let packet = |tenant: u8, other: u8| {
        let mut scratch = [other; SCRATCH_LEN];
        scratch[4..8].copy_from_slice(&[0, 0, 0, tenant]);
        Packet { gate: 0, data: vec![0; 60], scratch }
    };
    let same: Vec<_> = (0..64).map(|n| packet(1, n)).collect();
    let out = rig.pass_packets(&same);
    assert!(out.iter().all(|it| it.gate == out[0].gate));
    let many: Vec<_> = (0..64).map(|n| packet(n, 0)).collect();
    let reaches_all = |rig: &mut Rig| {
        let out = rig.pass_packets(&many);
        (0..3).all(|gate| out.iter().any(|it| it.gate == gate))
    };
    assert!(reaches_all(&mut rig));
    rig.module::<HashLb>().set_mode(&HashMode::Fields(vec![offset(0, 1)])).unwrap();
    assert!(!reaches_all(&mut rig));
    rig.module::<HashLb>().set_mode(&HashMode::Fields(vec![offset(9, 2), named("tenant", 4)])).unwrap();
    assert!(reaches_all(&mut rig), "its place is known from before");
    let strange = HashMode::Fields(vec![named("stranger", 4)]);
    let error = rig.module::<HashLb>().set_mode(&strange).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module was made without the attribute `stranger`: make it anew with it"
    );
    rig.module::<HashLb>().bind(&[Place::Unwritten]);
    assert!(!reaches_all(&mut rig));
}

#[test]
fn hostile_frames_stop_no_module() {
    survives(Split::new(&offset(3, 2)).unwrap(), 0);
    survives(Split::new(&offset(13, 8)).unwrap(), 0);
    survives(VlanSplit, 0);
    survives(WorkerSplit::new(0, &[]).unwrap(), 0);
    survives(RandomSplit::new(&RandomSplitParams { drop_rate: 0.1, gates: vec![1, 9], seed: 0 }).unwrap(), 0);
    survives(RoundRobin::new(&[0, 1, 9], RoundRobinMode::Packet).unwrap(), 0);
    survives(Replicate::new(&[0, 1]).unwrap(), 0);
    survives(Merge, 0);
    for layer in [Layer::L2, Layer::L3, Layer::L4] {
        let mode = HashMode::Layer(layer);
        survives(HashLb::new(&HashLbParams { gates: vec![0, 1, 2], mode, seed: 1 }).unwrap(), 0);
    }
}
