//! Patience, limits and draining.
use crate::net::{Net, query};
use tidegate_dns::tcp::Bounds;
use tidegate_stack::Closed;

fn bounds() -> Bounds {
    Bounds { connection_count_max: 100, ..Bounds::default() }
}

fn secs_until_eof(net: &mut Net, id: tidegate_stack::ConnId) -> u64 {
    let start = net.now;
    net.run_until("it ends", |net| {
        net.steps(9, 1);
        net.is_eof(id)
    });
    net.now.since(start).as_millis() / 1000
}

#[test]
fn a_connection_without_a_query_is_closed() {
    let mut net = Net::new(bounds());
    let id = net.open();
    assert_eq!(secs_until_eof(&mut net, id), 10);
    assert_eq!(net.counters().idle_timeout_count, 1);
}

#[test]
fn a_query_prolongs_a_connections_life() {
    let mut net = Net::new(bounds());
    let id = net.open();
    net.steps(8000, 1);
    net.send(id, &query(1, 0, 20));
    net.await_messages(id, 1);
    assert_eq!(secs_until_eof(&mut net, id), 10);
}

#[test]
fn a_query_that_stays_cut_off_ends_the_connection_sooner() {
    let mut net = Net::new(bounds());
    let id = net.open();
    net.send(id, &query(1, 0, 20)[..4]);
    assert_eq!(secs_until_eof(&mut net, id), 5);
}

#[test]
fn bytes_that_trickle_do_not_prolong_a_query() {
    let mut net = Net::new(bounds());
    let id = net.open();
    net.send(id, &[1, 0]);
    let start = net.now;
    while !net.is_eof(id) {
        net.send(id, &[0]);
        net.steps(100, 1);
    }
    assert_eq!(net.now.since(start).as_millis() / 1000, 5);
}

#[test]
fn a_client_that_takes_nothing_is_reset_in_the_end() {
    let mut net = Net::new(bounds());
    let id = net.open();
    net.hold(id, true);
    net.send(id, &query(1, 1, 1000));
    net.run_until("it is reset", |net| {
        net.steps(10, 1);
        net.closed(id).is_some()
    });
    assert_eq!(net.closed(id), Some(Closed::Reset));
    assert_eq!(net.counters().stalled_count, 1);
}

#[test]
fn a_slow_client_that_takes_something_is_waited_for() {
    let mut net = Net::new(bounds());
    let id = net.open();
    net.hold(id, true);
    net.send(id, &query(1, 1, 20));
    for _ in 0..20 {
        net.steps(5000, 1);
        net.hold(id, false);
        net.hold(id, true);
    }
    net.hold(id, false);
    assert_eq!(net.await_messages(id, 20).len(), 20);
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let mut net = Net::new(Bounds { connection_count_max: 2, ..bounds() });
    let (first, _second, third) = (net.open(), net.open(), net.open());
    net.run_until("it is refused", |net| net.closed(third).is_some());
    assert_eq!(net.counters().refused_count, 1);
    net.finish(first);
    net.run_until("there is room", |net| net.counters().closed_count == 1);
    let fourth = net.open();
    net.send(fourth, &query(1, 0, 9));
    assert_eq!(net.await_messages(fourth, 1), [(1, 9)]);
}

#[test]
fn connections_from_one_address_have_a_limit_of_their_own() {
    let mut net = Net::new(Bounds { connection_count_max_per_peer: 1, ..bounds() });
    let (_first, second) = (net.open(), net.open());
    net.run_until("it is refused", |net| net.closed(second).is_some());
}

#[test]
fn the_last_query_allowed_is_answered_and_the_connection_ends() {
    let mut net = Net::new(Bounds { query_count_max: 3, ..bounds() });
    let id = net.open();
    let queries: Vec<u8> = (0..5).flat_map(|number| query(number, 0, 30)).collect();
    net.send(id, &queries);
    net.run_until("it ends", |net| net.is_eof(id));
    assert_eq!(net.messages(id).len(), 3);
}

#[test]
fn draining_answers_what_is_asked_and_closes_what_is_idle() {
    let mut net = Net::new(bounds());
    let (idle, busy) = (net.open(), net.open());
    net.send(busy, &query(1, 1, 100));
    net.steps(2, 0);
    net.shared.drain();
    net.wake_all();
    net.run_until("both end", |net| net.is_eof(idle) && net.is_eof(busy));
    assert_eq!(net.messages(busy).len(), 100);
    let late = net.open();
    net.run_until("it is refused", |net| net.closed(late).is_some());
}

#[test]
fn a_successors_limits_hold_from_the_next_connection_on() {
    let mut net = Net::new(bounds());
    let _first = net.open();
    let shared = net.shared.successor(Bounds { connection_count_max: 1, ..bounds() });
    net.server.service_mut().tcp.set_shared(shared);
    let second = net.open();
    net.run_until("it is refused", |net| net.closed(second).is_some());
}
