//! Who is forgotten, and when, also where connections come again on the same ports.
use super::{TimeWaitTable, Wait};
use crate::flow::FlowKey;
use std::net::IpAddr;
use tidegate_base::{FlowHasher, Instant};

impl Wait for Instant {
    fn deadline(&self) -> Instant {
        *self
    }
}

fn table(count_max: usize) -> TimeWaitTable<Instant> {
    TimeWaitTable::new(FlowHasher::new(7), count_max)
}

fn key(port: u16) -> FlowKey {
    let [remote, local] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]).into());
    FlowKey { remote, local, remote_port: port, local_port: 80 }
}

fn at(s: u64) -> Instant {
    Instant::from_millis(1000 * s)
}

#[test]
fn the_oldest_goes_when_there_are_too_many() {
    let mut table = table(2);
    (1..=3).for_each(|port| table.insert(key(port), at(port.into())));
    assert_eq!(table.len(), 2);
    assert!(table.find(&key(1)).is_none());
}

#[test]
fn who_came_again_counts_as_young() {
    let mut table = table(2);
    table.insert(key(1), at(1));
    table.insert(key(2), at(2));
    table.remove(&key(1));
    table.insert(key(1), at(3));
    table.insert(key(3), at(4));
    assert!(table.find(&key(2)).is_none());
    assert_eq!(table.find(&key(1)), Some(&mut at(3)));
    table.expire(at(2));
    assert_eq!(table.len(), 2);
    table.expire(at(3));
    assert_eq!(table.len(), 1);
}

#[test]
fn a_wait_that_was_put_off_goes_later_and_once() {
    let mut table = table(4);
    table.insert(key(1), at(1));
    *table.find(&key(1)).unwrap() = at(5);
    table.expire(at(4));
    assert_eq!((table.len(), table.next_deadline()), (1, Some(at(5))));
    table.expire(at(5));
    assert_eq!((table.len(), table.next_deadline()), (0, None));
}

#[test]
fn a_port_in_busy_use_takes_no_more_room() {
    let mut table = table(8);
    for i in 0..1000 {
        table.insert(key(1), at(i));
        table.remove(&key(1));
        assert!(table.by_age.len() <= 16);
    }
    assert_eq!(table.len(), 0);
}
