//! Connections between two stacks.
use crate::cable::{Net, SERVER_MAC};
use tidegate_base::DropReason;
use tidegate_stack::{Closed, Limits};

#[test]
fn one_small_answer_over_each_family() {
    for family in 0..2 {
        let mut net = Net::new(Limits::default());
        net.connect(family, 1, 64);
        net.run_until_closed(200);
        assert_eq!(net.client.service().answered, 1);
        assert_eq!(net.server.service().closed, [Closed::Finished]);
        assert_eq!(net.client.service().closed, [Closed::Finished]);
        net.assert_no_frame_lost();
    }
}

#[test]
fn a_small_answer_is_one_segment_and_carries_the_acknowledgement() {
    let mut net = Net::new(Limits::default());
    net.connect(0, 50, 64);
    net.run_until_closed(400);
    assert_eq!(net.client.service().answered, 50);
    // 50 answers, SYN-ACK, and what closing takes; an ACK apiece would make it more than 100.
    let sent = net.server.counters().tx_segment_count;
    assert!((51..58).contains(&sent), "{sent} segments for 50 answers");
}

#[test]
fn large_answers_arrive_whole() {
    let mut net = Net::new(Limits::default());
    net.connect(0, 3, 1_000_000);
    net.connect(1, 3, 777_777);
    net.run_until_closed(20_000);
    assert_eq!(net.client.service().answered, 6);
    net.assert_no_frame_lost();
}

#[test]
fn a_narrow_ring_delays_and_loses_nothing() {
    let mut net = Net::new(Limits::default());
    net.server_end.room = 3;
    net.connect(0, 2, 300_000);
    net.run_until_closed(20_000);
    assert_eq!(net.client.service().answered, 2);
    assert!(net.server.counters().tx_wait_count > 0);
    net.assert_no_frame_lost();
}

#[test]
fn every_tenth_frame_lost_and_still_whole() {
    let mut net = Net::new(Limits::default());
    let mut n = 0;
    net.carry = Box::new(move |_, _| {
        n += 1;
        n % 10 != 0
    });
    for family in [0, 1, 0, 1] {
        net.connect(family, 2, 100_000);
    }
    net.run_until_closed(200_000);
    assert_eq!(net.client.service().answered, 8);
    net.assert_no_frame_lost();
}

#[test]
fn many_connections_at_once() {
    let mut net = Net::new(Limits::default());
    for i in 0..300 {
        net.connect(i % 2, 3, 100 + i as u64);
        if i % 50 == 49 {
            net.step(1);
        }
    }
    net.run_until_closed(5_000);
    assert_eq!(net.client.service().answered, 900);
    let counters = net.server.counters();
    assert_eq!((counters.accepted_count, counters.half_open_count), (300, 0));
    net.assert_no_frame_lost();
}

#[test]
fn beyond_the_backlog_cookies_let_honest_peers_in() {
    let limits = Limits { backlog_len: 4, ..Limits::default() };
    let mut net = Net::new(limits);
    for _ in 0..40 {
        net.connect(0, 2, 500);
    }
    net.run_until_closed(5_000);
    assert_eq!(net.client.service().answered, 80);
    let counters = net.server.counters();
    assert_eq!(counters.cookie_sent_count, counters.cookie_accepted_count);
    assert!(counters.cookie_accepted_count >= 30, "{counters:?}");
}

#[test]
fn a_refused_connection_is_reset() {
    let mut net = Net::new(Limits::default());
    net.server.service_mut().refuse = true;
    net.connect(0, 1, 10);
    net.run_until_closed(200);
    assert_eq!(net.client.service().closed, [Closed::Reset]);
    assert!(net.server.service().closed.is_empty());
}

#[test]
fn a_closed_port_refuses() {
    let mut net = Net::new(Limits::default());
    net.server.stop_listening();
    net.connect(0, 1, 10);
    net.run_until_closed(200);
    assert_eq!(net.client.service().closed, [Closed::Refused]);
    assert_eq!(net.server.drops().of(DropReason::NoListener), 1);
}

#[test]
fn a_response_whose_bytes_are_gone_resets_the_connection() {
    let mut net = Net::new(Limits::default());
    net.server.service_mut().lies = true;
    net.connect(0, 1, 10);
    net.run_until_closed(200);
    assert_eq!(net.server.service().closed, [Closed::Aborted]);
    assert_eq!(net.client.service().closed, [Closed::Reset]);
}

#[test]
fn a_neighbour_that_never_answers_ends_the_attempt() {
    let mut net = Net::new(Limits::default());
    net.carry = Box::new(|_, _| false);
    net.connect(0, 1, 10);
    for _ in 0..50 {
        net.step(100);
    }
    assert_eq!(net.client.service().closed, [Closed::TimedOut]);
}

#[test]
fn a_peer_that_vanishes_is_given_up() {
    let mut net = Net::new(Limits::default());
    net.connect(0, 1, 10_000_000);
    for _ in 0..20 {
        net.step(1);
    }
    net.carry = Box::new(|_, _| false);
    for _ in 0..4_000 {
        net.step(100);
    }
    assert_eq!(net.server.counters().connection_count, 0);
    assert_eq!(net.server.service().closed, [Closed::TimedOut]);
}

#[test]
fn the_service_can_be_woken_to_close_what_idles() {
    let mut net = Net::new(Limits::default());
    net.connect(0, 1, 10);
    for _ in 0..3 {
        net.step(1);
    }
    net.server.wake_all(net.now, &mut net.server_end);
    net.run_until_closed(1_000);
    assert_eq!(net.server.service().woken, 1);
}

#[test]
fn a_tagged_request_gets_a_tagged_answer() {
    let mut net = Net::new(Limits::default());
    net.client.set_neighbour(crate::cable::SERVER[0].parse().unwrap(), SERVER_MAC);
    net.connect(0, 1, 10);
    let mut syn = net.client_end.take_sent().remove(0);
    syn.splice(12..12, [0x81, 0x00, 0x00, 0x2a]);
    let frame = net.server_end.frame(&syn);
    net.server.on_frame(net.now, frame, &mut net.server_end);
    let answer = net.server_end.take_sent().remove(0);
    assert_eq!(answer[12..18], [0x81, 0x00, 0x00, 0x2a, 0x08, 0x00]);
}

#[test]
fn answers_follow_a_peer_to_the_neighbour_that_it_repeats_itself_from() {
    let mut net = Net::new(Limits::default());
    net.client.set_neighbour(crate::cable::SERVER[0].parse().unwrap(), SERVER_MAC);
    net.connect(0, 1, 10);
    net.step(1);
    let request = net.client_end.take_sent();
    for neighbour in [[2, 0, 0, 0, 0, 9], crate::cable::CLIENT_MAC.0] {
        for bytes in &request {
            let mut bytes = bytes.clone();
            bytes[6..12].copy_from_slice(&neighbour);
            let frame = net.server_end.frame(&bytes);
            net.server.on_frame(net.now, frame, &mut net.server_end);
        }
        let answer =
            net.server_end.take_sent().pop().expect("an answer, or an acknowledgement of the repetition");
        assert_eq!(answer[..6], neighbour);
    }
}

#[test]
fn half_a_request_is_acknowledged_at_once() {
    let mut net = Net::new(Limits::default());
    net.client.service_mut().halves_requests = true;
    net.connect(0, 20, 64);
    // Twenty requests in two pieces, the second held back until the first is acknowledged: 40 ms each if
    // the acknowledgement waited for an answer to ride on.
    net.run_until_closed(200);
    assert_eq!(net.client.service().answered, 20);
}
