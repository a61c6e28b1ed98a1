//! Windows against bytes copied one by one, at every offset and size.
use super::Window;
use crate::parameter::ParameterError;
use tidegate_base::Rng;

#[test]
fn every_field_of_every_short_frame_is_what_its_bytes_say() {
    let mut rng = Rng::new(1);
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
            let (mut written, mut expected) = (data.clone(), data.clone());
            if let Some(bytes) = expected.get_mut(range) {
                bytes.copy_from_slice(&value.to_be_bytes()[8 - size as usize..]);
            }
            window.write(&mut written, value);
            assert_eq!(written, expected, "{len} {offset} {size}");
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
