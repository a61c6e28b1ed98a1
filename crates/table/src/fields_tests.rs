//! Layout of fields, and what is refused.
use super::*;
use proptest::prelude::*;

fn layout(sizes: &[u8]) -> Fields {
    let fields: Vec<_> = sizes.iter().map(|size| Field::new(*size)).collect();
    Fields::new(&fields).unwrap()
}

#[test]
fn two_addresses_are_one_word() {
    assert_eq!(layout(&[4, 4]).word_count(), 1);
    assert_eq!(layout(&[4, 4, 2, 2, 1]).word_count(), 2);
    assert_eq!(layout(&[1, 8, 1]).word_count(), 2);
    assert_eq!(layout(&[6, 6, 2, 4, 4]).word_count(), 4);
    assert_eq!(layout(&[8; 8]).word_count(), 8);
}

#[test]
fn what_is_no_field_is_refused() {
    assert_eq!(Fields::new(&[]).unwrap_err(), FieldError::Count { count: 0 });
    assert_eq!(Fields::new(&[Field::new(1); 9]).unwrap_err(), FieldError::Count { count: 9 });
    assert_eq!(Fields::new(&[Field::new(0)]).unwrap_err(), FieldError::Size { field: 0, size: 0 });
    assert_eq!(
        Fields::new(&[Field::new(2), Field::new(9)]).unwrap_err(),
        FieldError::Size { field: 1, size: 9 }
    );
    let wide = Field { size: 1, mask: 0x1ff };
    assert_eq!(Fields::new(&[wide]).unwrap_err(), FieldError::Mask { field: 0, size: 1, mask: 0x1ff });
}

#[test]
fn what_is_no_value_is_refused() {
    let fields = layout(&[1, 2]);
    assert_eq!(fields.key::<1>(&[1]).unwrap_err(), MatchError::Count { given: 1, expected: 2 });
    assert_eq!(
        fields.key::<1>(&[1, 65536]).unwrap_err(),
        MatchError::Value { field: 1, size: 2, value: 65536 }
    );
    let hidden = MatchError::Hidden { field: 0, value: 3, mask: 2 };
    assert_eq!(fields.check_hidden(&[3, 0], &[2, 0]).unwrap_err(), hidden);
}

#[test]
fn a_field_that_is_not_there_fills_nothing() {
    let fields = layout(&[8]);
    let mut keys = Keys::new(&fields);
    keys.reset(100);
    fields.fill(&mut keys, 1, |_| 7);
    assert_eq!(keys.rows::<1>(), [[0]; BATCH_LEN_MAX]);
}

proptest! {
    /// No two fields share a bit: keys are equal only if all values are, and filling a batch gives the rules' keys.
    #[test]
    fn fields_do_not_overlap(sizes in prop::collection::vec(1u8..=8, 1..=8), a: [u64; 8], b: [u64; 8]) {
        let fields = layout(&sizes);
        let cut = |values: [u64; 8]| -> Vec<u64> {
            values.iter().zip(&sizes).map(|(value, size)| value & Field::new(*size).mask).collect()
        };
        let (a, b) = (cut(a), cut(b));
        for (index, other) in b.iter().enumerate() {
            let mut one_differs = a.clone();
            one_differs[index] = *other;
            let same = fields.key::<8>(&a).unwrap() == fields.key::<8>(&one_differs).unwrap();
            prop_assert_eq!(same, a[index] == *other);
        }
        let mut keys = Keys::new(&fields);
        keys.reset(2);
        for field in 0..sizes.len() {
            fields.fill(&mut keys, field, |packet| [&a, &b][packet][field]);
        }
        let words: Vec<u64> = keys.words[..2 * fields.word_count()].to_vec();
        let expected = [fields.key::<8>(&a).unwrap(), fields.key::<8>(&b).unwrap()];
        let expected: Vec<u64> = expected.iter().flat_map(|key| key[..fields.word_count()].to_vec()).collect();
        prop_assert_eq!(words, expected);
    }
}
