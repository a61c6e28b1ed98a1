//! What is answered, in which order, however it is cut.
use crate::net::{Net, query};
use crate::server::TRANSFER_MESSAGE_LEN;
use proptest::prelude::*;
use tidegate_dns::tcp::Bounds;
use tidegate_stack::Closed;

fn net() -> Net {
    Net::new(Bounds::default())
}

#[test]
fn a_query_that_comes_byte_by_byte_is_answered_once() {
    let mut net = net();
    let id = net.open();
    for byte in query(7, 0, 100) {
        net.send(id, &[byte]);
        net.steps(2, 0);
    }
    assert_eq!(net.await_messages(id, 1), [(7, 100)]);
}

#[test]
fn queries_of_one_segment_are_answered_by_one_block() {
    let mut net = net();
    let id = net.open();
    let queries: Vec<u8> = (0..50).flat_map(|number| query(number, 0, 20)).collect();
    let before = net.server.counters().tx_segment_count;
    net.send(id, &queries);
    let answers = net.await_messages(id, 50);
    assert_eq!(answers, (0..50).map(|number| (number, 20)).collect::<Vec<_>>());
    let segments = net.server.counters().tx_segment_count - before;
    assert!(segments <= 3, "{segments} segments for 1,100 bytes");
    assert_eq!(net.counters().answer_count, 50);
}

#[test]
fn the_longest_message_goes_whole() {
    let mut net = net();
    let id = net.open();
    net.send(id, &query(1, 0, 65_535));
    assert_eq!(net.await_messages(id, 1), [(1, 65_535)]);
}

#[test]
fn a_transfer_comes_whole_and_queries_behind_it_wait_their_turn() {
    let mut net = net();
    let id = net.open();
    let sent = [query(1, 0, 50), query(2, 1, 100), query(3, 0, 60), query(4, 1, 2), query(5, 0, 70)].concat();
    net.send(id, &sent);
    let messages = net.await_messages(id, 105);
    let mut expected = vec![(1, 50)];
    expected.extend([(2, TRANSFER_MESSAGE_LEN); 100]);
    expected.push((3, 60));
    expected.extend([(4, TRANSFER_MESSAGE_LEN); 2]);
    expected.push((5, 70));
    assert_eq!(messages, expected);
    assert_eq!(net.counters().transfer_done_count, 2);
}

#[test]
fn a_transfer_is_made_no_faster_than_it_is_taken() {
    let mut net = net();
    let id = net.open();
    net.hold(id, true);
    net.send(id, &query(1, 1, 1000));
    net.steps(2000, 1);
    let made = net.made_count.get();
    assert!((2..60).contains(&made), "{made} messages made for a client that takes none");
    net.hold(id, false);
    assert_eq!(net.await_messages(id, 1000).len(), 1000);
    assert_eq!(net.made_count.get(), 1000);
}

#[test]
fn answers_that_are_not_taken_stop_the_intake() {
    let mut net = net();
    let id = net.open();
    net.hold(id, true);
    let queries: Vec<u8> = (0..1000).flat_map(|number| query(number, 0, 10_000)).collect();
    net.send(id, &queries);
    net.steps(2000, 1);
    let answered = net.counters().query_count;
    assert!(answered < 40, "{answered} answers of 10,000 bytes made ahead");
    net.hold(id, false);
    let answers = net.await_messages(id, 1000);
    assert!(answers.iter().enumerate().all(|(at, answer)| usize::from(answer.0) == at));
}

#[test]
fn a_transfer_that_fails_resets_the_connection() {
    let mut net = net();
    let id = net.open();
    net.send(id, &query(1, 3, 3));
    net.run_until("it is reset", |net| net.closed(id).is_some());
    assert_eq!(net.closed(id), Some(Closed::Reset));
}

#[test]
fn what_is_no_message_ends_the_connection_behind_the_answers() {
    let mut net = net();
    let id = net.open();
    net.send(id, &[query(1, 0, 30), query(2, 2, 0), query(3, 0, 30)].concat());
    net.run_until("it ends", |net| net.is_eof(id));
    assert_eq!(net.messages(id), [(1, 30)]);
    assert_eq!(net.counters().hopeless_count, 1);
}

#[test]
fn an_empty_message_ends_the_connection() {
    let mut net = net();
    let id = net.open();
    net.send(id, &[0, 0]);
    net.run_until("it ends", |net| net.is_eof(id));
}

#[test]
fn a_client_that_sends_no_more_still_gets_its_answers() {
    let mut net = net();
    let id = net.open();
    net.send(id, &[query(1, 0, 30), query(2, 1, 50), query(3, 0, 40)].concat());
    net.finish(id);
    net.run_until("it is closed", |net| net.closed(id).is_some());
    assert_eq!(net.messages(id).len(), 52);
    assert_eq!(net.messages(id).last(), Some(&(3, 40)));
    assert_eq!(net.closed(id), Some(Closed::Finished));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// However a stream is cut into writes, each query has its answer, in order.
    #[test]
    fn any_cut_gives_the_same_answers(
        orders in proptest::collection::vec((0u8..2, 2u16..2000), 1..40),
        cuts in proptest::collection::vec(1usize..30, 1..200),
    ) {
        let mut net = net();
        let id = net.open();
        let orders: Vec<(u8, u16)> =
            orders.into_iter().map(|(kind, size)| (kind, if kind == 1 { 1 + size % 4 } else { size })).collect();
        let stream: Vec<u8> =
            orders.iter().zip(0..).flat_map(|(&(kind, size), number)| query(number, kind, size)).collect();
        let mut rest = &stream[..];
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            net.send(id, now);
            net.step(0);
            rest = later;
        }
        net.send(id, rest);
        let mut expected = Vec::new();
        for (number, (kind, size)) in orders.into_iter().enumerate() {
            match kind {
                0 => expected.push((number as u16, usize::from(size))),
                _ => expected.extend(vec![(number as u16, TRANSFER_MESSAGE_LEN); usize::from(size)]),
            }
        }
        let count = expected.len();
        prop_assert_eq!(net.await_messages(id, count), expected);
    }

    /// Whatever bytes come, nothing panics and the connection can end.
    #[test]
    fn any_bytes(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..400), 1..10)) {
        let mut net = net();
        let id = net.open();
        for chunk in chunks {
            net.send(id, &chunk);
            net.steps(3, 1);
        }
        net.finish(id);
        net.run_until("it is closed", |net| net.closed(id).is_some());
    }
}
