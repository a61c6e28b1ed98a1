//! Windows against bytes copied one by one, at every offset and size.
use super::Window;
use crate::parameter::ParameterError;
use tidegate_base::Rng;
use tidegate_packet::{Batch, HeapMemory, Pool};

/// What a frame of `data` is after the field was written.
fn written(pool: &mut Pool, window: &Window, data: &[u8], value: u64) -> Vec<u8> {
    let mut batch = Batch::new();
    let mut frame = pool.alloc().unwrap();
    frame.extend(data);
    batch.push(frame).unwrap();
    window.write_each(&mut batch, || value);
    let after = batch.as_slice()[0].data().to_vec();
    pool.free_batch(&mut batch);
    after
}

#[test]
fn every_field_of_every_short_frame_is_what_its_bytes_say() {
    let mut rng = Rng::new(1);
    let mut pool = Pool::new(Box::new(HeapMemory::new(2 * 2048)), 2048).unwrap();
    for len in 0..=24usize {
        let data: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        for (offset, size) in (0..=26u64).flat_map(|offset| (1..=8).map(move |size| (offset, size))) {
            let window = Window::new(offset, size).unwrap();
            let range = offset as usize..(offset + size) as usize;
            let naive = data.get(range.clone()).map(|bytes| {
                let mut word = [0; 8];
                word[8 - bytes.len()..].copy_from_slice(bytes);
                u64::from_be_bytes(word)
            });
            assert_eq!(window.read(&data), naive, "{len} {offset} {size}");

            let value = rng.next_u64() & window.value_max();
            let mut expected = data.clone();
            if let Some(bytes) = expected.get_mut(range) {
                bytes.copy_from_slice(&value.to_be_bytes()[8 - size as usize..]);
            }
            assert_eq!(written(&mut pool, &window, &data, value), expected, "{len} {offset} {size}");
        }
    }
}

#[test]
fn fields_that_no_frame_has_are_refused() {
    assert!(matches!(Window::new(0, 0), Err(ParameterError::OutOfRange { value: 0, .. })));
    assert!(matches!(Window::new(0, 9), Err(ParameterError::OutOfRange { value: 9, .. })));
    assert!(matches!(Window::new(2045, 4), Err(ParameterError::BeyondFrame { .. })));
    assert!(matches!(Window::new(u64::MAX, 4), Err(ParameterError::BeyondFrame { .. })));
    assert!(Window::new(2044, 4).is_ok());
    let text = Window::new(0, 2).unwrap().fit(0x1_0000).unwrap_err().to_string();
    assert_eq!(text, "the value 0x10000 does not fit into 2 bytes: give a smaller one or a larger size");
}
