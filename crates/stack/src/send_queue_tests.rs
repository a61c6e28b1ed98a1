//! The queue against a plain list.
use super::{Acknowledged, SendQueue};
use proptest::prelude::*;

proptest! {
    #[test]
    fn finds_what_a_list_finds(lens in proptest::collection::vec(1u64..50, 1..20), acked in 0u64..1200) {
        let mut queue = SendQueue::new();
        let mut list = Vec::new();
        let mut end = 0;
        for (i, len) in lens.into_iter().enumerate() {
            queue.push(i, len);
            list.push((end, end + len, i));
            end += len;
        }
        let first_end = list[0].1;
        let expected = match acked {
            _ if acked < first_end => Acknowledged::Nothing,
            _ if acked < end => Acknowledged::Some,
            _ => Acknowledged::All,
        };
        prop_assert_eq!(queue.acknowledge(acked), expected);
        list.retain(|(_, e, _)| *e > acked);
        prop_assert_eq!(queue.byte_count(), list.first().map_or(0, |(start, _, _)| end - start));
        prop_assert_eq!(queue.len(), list.len());
        for offset in 0..end + 2 {
            let expected = list.iter().find(|(s, e, _)| (*s..*e).contains(&offset)).map(|(_, _, i)| *i);
            prop_assert_eq!(queue.find(offset).map(|e| e.response), expected);
        }
    }
}
