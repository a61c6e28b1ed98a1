//! What frames carry behind each module, byte by byte.
use super::*;
use crate::ParameterError;
use crate::rig::{Packet, Rig, survives};
use crate::stamp::read_stamp;
use tidegate_base::Rng;
use tidegate_packet::SCRATCH_LEN;
use tidegate_pipeline::Module;
use tidegate_pipeline::metadata::{Access, Place};

#[test]
fn timestamps_are_written_where_asked_and_short_frames_grow() {
    let mut rig = Rig::new(Timestamp::new(&TimestampPlace::default()).unwrap());
    let out = rig.pass_one(&[7; 60]);
    assert_eq!(out.len(), 66);
    assert_eq!(out[..54], [7; 54]);
    assert_eq!(read_stamp(&out, 54), Some(1_000_000), "the first round is at a millisecond");
    let out = rig.pass_one(&[7; 100]);
    assert_eq!((out.len(), read_stamp(&out, 54), &out[66..]), (100, Some(2_000_000), &[7; 34][..]));
    assert_eq!(read_stamp(&[7; 100], 54), None);
    let out = rig.pass_one(&[]);
    assert_eq!((&out[..54], read_stamp(&out, 54)), (&[0; 54][..], Some(3_000_000)));
}

#[test]
fn a_frame_without_room_for_the_time_passes_unchanged() {
    // A chunk of 2,048 bytes has 1,664 for data.
    let mut rig = Rig::new(Timestamp::new(&TimestampPlace::Offset(1660)).unwrap());
    assert_eq!(rig.pass_one(&[1; 60]), [1; 60]);
    assert_eq!(rig.counter("no_room"), 1);
    assert!(matches!(
        Timestamp::new(&TimestampPlace::Offset(2037)),
        Err(ParameterError::BeyondFrame { size: 12, .. })
    ));
}

#[test]
fn timestamps_are_written_to_an_attribute() {
    let mut module = Timestamp::new(&TimestampPlace::Attribute("timestamp".into())).unwrap();
    let attribute = &module.attributes()[0];
    assert_eq!((attribute.name.as_ref(), attribute.size, attribute.access), ("timestamp", 8, Access::Write));
    module.bind(&[Place::At(16)]);
    let out =
        Rig::new(module).pass_packets(&[Packet { gate: 0, data: vec![1; 60], scratch: [0; SCRATCH_LEN] }]);
    assert_eq!(out[0].data, [1; 60]);
    assert_eq!(out[0].scratch[16..24], 1_000_000_u64.to_be_bytes());
    assert!(Timestamp::new(&TimestampPlace::Attribute(String::new())).is_err());
}

fn set(size: u64, source: MetadataSource) -> MetadataValue {
    MetadataValue { name: format!("a{size}"), size, source }
}

fn from_frame(offset: u64, size: u64, mask: &[u8], shift_right: i32) -> MetadataValue {
    set(size, MetadataSource::Frame { offset, mask: mask.to_vec(), shift_right })
}

/// What `value` becomes at offset 32, where there is room for the longest.
fn value_set(value: MetadataValue, data: &[u8]) -> Vec<u8> {
    let size = value.size as usize;
    let mut module = SetMetadata::new(&[value]).unwrap();
    module.bind(&[Place::At(32)]);
    let packet = Packet { gate: 0, data: data.to_vec(), scratch: [0xcc; SCRATCH_LEN] };
    let out = Rig::new(module).pass_packets(&[packet]).remove(0);
    assert_eq!(out.data, data);
    assert!(out.scratch[..32].iter().chain(&out.scratch[32 + size..]).all(|byte| *byte == 0xcc));
    out.scratch[32..32 + size].to_vec()
}

#[test]
fn set_metadata_sets_numbers_and_bytes() {
    assert_eq!(value_set(set(2, MetadataSource::Number(0x1234)), b""), [0x12, 0x34]);
    assert_eq!(value_set(set(8, MetadataSource::Number(u64::MAX)), b""), [0xff; 8]);
    assert_eq!(value_set(set(10, MetadataSource::Number(7)), b""), [0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    let bytes: Vec<u8> = (0..32).collect();
    assert_eq!(value_set(set(32, MetadataSource::Bytes(bytes.clone())), b""), bytes);
}

#[test]
fn set_metadata_takes_from_the_frame_as_a_big_number_would() {
    let mut rng = Rng::new(4);
    for _ in 0..300 {
        let data: Vec<u8> = (0..rng.below(50)).map(|_| rng.next_u32() as u8).collect();
        let (offset, size) = (rng.below(40), 1 + rng.below(16));
        let mask: Vec<u8> = (0..size).map(|_| rng.next_u32() as u8).collect();
        let mask = if rng.chance(0.3) { Vec::new() } else { mask };
        let shift = rng.below(80) as i32 - 40;

        let byte = |at: usize| data.get(at).copied().unwrap_or(0);
        let bit_mask = |n: usize| mask.get(n).copied().unwrap_or(0xff);
        let number = (0..size as usize)
            .fold(0_u128, |sum, n| sum << 8 | u128::from(byte(offset as usize + n) & bit_mask(n)));
        let shifted = if shift < 0 { number << -shift } else { number >> shift };
        let expected = &shifted.to_be_bytes()[16 - size as usize..];
        assert_eq!(
            value_set(from_frame(offset, size, &mask, shift), &data),
            expected,
            "{offset} {size} {shift}"
        );
    }
}

#[test]
fn set_metadata_shifts_away_what_it_shifts_far() {
    for (size, shift) in [(4, 64), (8, 1000), (4, -64), (32, 256), (32, -256), (1, i32::MIN), (9, i32::MAX)] {
        assert_eq!(value_set(from_frame(0, size, &[], shift), &[0xff; 40]), vec![0; size as usize]);
    }
    assert_eq!(value_set(from_frame(0, 32, &[], 8), &[0xff; 40])[..2], [0, 0xff]);
}

#[test]
fn set_metadata_refuses_what_cannot_be() {
    let wrong = |value| SetMetadata::new(&[value]).err().unwrap();
    assert_eq!(SetMetadata::new(&[]).err(), Some(ParameterError::Missing("attributes")));
    assert!(matches!(wrong(set(33, MetadataSource::Number(0))), ParameterError::OutOfRange { .. }));
    assert!(matches!(wrong(set(0, MetadataSource::Number(0))), ParameterError::OutOfRange { .. }));
    assert!(matches!(wrong(set(1, MetadataSource::Number(256))), ParameterError::TooLarge { .. }));
    assert!(matches!(wrong(set(2, MetadataSource::Bytes(vec![1]))), ParameterError::WrongLen { .. }));
    assert!(matches!(wrong(from_frame(0, 2, &[1], 0)), ParameterError::WrongLen { .. }));
    assert!(matches!(wrong(from_frame(2047, 2, &[], 0)), ParameterError::BeyondFrame { .. }));
    let nameless = MetadataValue { name: String::new(), size: 1, source: MetadataSource::Number(0) };
    assert_eq!(wrong(nameless), ParameterError::Nameless);
}

#[test]
fn metadata_test_says_what_it_is_told_and_lets_frames_pass() {
    let list = |names: &[&str]| names.iter().map(|name| (name.to_string(), 4)).collect();
    let params = MetadataTestParams { read: list(&["a"]), write: list(&["b", "c"]), update: list(&["d"]) };
    let mut rig = Rig::new(MetadataTest::new(&params).unwrap());
    let module = rig.module::<MetadataTest>();
    let said: Vec<_> = module.attributes().iter().map(|it| (it.name.to_string(), it.access)).collect();
    let expected = [("a", Access::Read), ("b", Access::Write), ("c", Access::Write), ("d", Access::Update)];
    assert_eq!(said, expected.map(|(name, access)| (name.to_string(), access)));
    let places = [Place::Unwritten, Place::At(0), Place::Unread, Place::At(4)];
    module.bind(&places);
    assert_eq!(module.places(), places);
    assert_eq!(rig.pass_one(b"as it was"), b"as it was");
    let wrong = MetadataTestParams { read: vec![("a".into(), 33)], ..MetadataTestParams::default() };
    assert!(MetadataTest::new(&wrong).is_err());
}

#[test]
fn hostile_frames_stop_no_module() {
    survives(Timestamp::new(&TimestampPlace::Offset(30)).unwrap(), 0);
    for size in [3, 20] {
        let mut module = SetMetadata::new(&[from_frame(13, size, &[], 5)]).unwrap();
        module.bind(&[Place::At(0)]);
        survives(module, 0);
    }
}
