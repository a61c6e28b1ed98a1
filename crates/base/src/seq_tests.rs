//! Sequence arithmetic against 64-bit integers that do not wrap.
use super::SeqNumber;
use proptest::prelude::*;

proptest! {
    #[test]
    fn order_is_that_of_unwrapped_streams(base: u32, a in 0u64..1 << 30, b in 0u64..1 << 30) {
        let at = |offset: u64| SeqNumber(base) + offset as u32;
        prop_assert_eq!(at(a).before(at(b)), a < b);
        prop_assert_eq!(at(a).at_or_after(at(b)), a >= b);
        prop_assert_eq!(i64::from(at(a) - at(b)), a as i64 - b as i64);
        prop_assert_eq!(at(a).max(at(b)), at(a.max(b)));
        prop_assert_eq!(at(a).min(at(b)), at(a.min(b)));
    }
}
