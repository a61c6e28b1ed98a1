//! Zones on their way: out of one server, into another, over steps, onto disk and back.
use super::inbound::{Inbound, InboundError, Received, is_newer, proposed_serial};
use super::journal::{Delta, Journal};
use super::keep;
use super::outbound::{Outbound, Script};
use crate::message::Query;
use crate::name::{Name, NameBuf};
use crate::tcp::{Messages, NextMessage};
use crate::zone::{Record, Zone, ZoneBuilder};
use domain::base::iana::Rtype;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_base::Duration;

const APEX: &str = "example.";

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn soa(serial: u32) -> Vec<u8> {
    let mut rdata = b"\x02ns\x07example\0\x04host\x07example\0".to_vec();
    for number in [serial, 3600, 600, 86400, 300] {
        rdata.extend_from_slice(&number.to_be_bytes());
    }
    rdata
}

/// A zone of that version with an address for each number.
fn zone(serial: u32, numbers: impl IntoIterator<Item = u32>) -> Arc<Zone> {
    let mut builder = ZoneBuilder::new(&name(APEX));
    builder.add(&name(APEX), Rtype::SOA, 3600, &soa(serial)).unwrap();
    builder.add(&name(APEX), Rtype::NS, 3600, b"\x02ns\x07example\0").unwrap();
    builder.add(&name("ns.example."), Rtype::A, 3600, &[192, 0, 2, 1]).unwrap();
    builder.add(&name("example."), Rtype::MX, 300, b"\0\x0a\x04mail\x07example\0").unwrap();
    for number in numbers {
        let owner = name(&format!("host{number}.part{}.example.", number % 7));
        builder.add(&owner, Rtype::A, 60 + number % 3, &number.to_be_bytes()).unwrap();
        builder.add(&owner, Rtype::TXT, 60, format!("\x08{number:08}").as_bytes()).unwrap();
    }
    Arc::new(builder.finish().unwrap())
}

fn records(zone: &Zone) -> Vec<(NameBuf, u16, u32, Vec<u8>)> {
    let plain = |record: Record<'_>| (record.owner, record.rtype.to_int(), record.ttl, record.rdata.to_vec());
    zone.records().map(plain).collect()
}

fn messages(script: Script) -> Vec<Vec<u8>> {
    let mut transfer = Outbound::unasked(script);
    let mut room = vec![0; 65_535];
    let mut messages = Vec::new();
    loop {
        match transfer.next_message(&mut room) {
            NextMessage::More(len) => messages.push(room[..len].to_vec()),
            NextMessage::Last(len) => {
                messages.push(room[..len].to_vec());
                return messages;
            }
            NextMessage::Failed => panic!("a transfer that fails"),
        }
    }
}

/// What a secondary that has `base` makes of the messages.
fn receive(messages: &[Vec<u8>], base: Option<Arc<Zone>>) -> Result<Received, InboundError> {
    let mut inbound = Inbound::new(0, &name(APEX), base);
    for (number, message) in messages.iter().enumerate() {
        let is_last = inbound.on_message(message)?;
        assert_eq!(is_last, number + 1 == messages.len(), "message {number} of {}", messages.len());
    }
    inbound.finish()
}

fn received_zone(messages: &[Vec<u8>], base: Option<Arc<Zone>>) -> Zone {
    match receive(messages, base).unwrap() {
        Received::Zone(zone) => *zone,
        Received::UpToDate => panic!("a newer version was to be had"),
    }
}

fn journal(versions: &[Arc<Zone>]) -> Journal {
    let steps = versions.windows(2).map(|pair| Delta::between(&pair[0], &pair[1]));
    steps.fold(Journal::default(), |journal, delta| journal.with(delta, usize::MAX))
}

/// The steps, however long.
fn way(versions: &[Arc<Zone>], from: u32, to: u32) -> Vec<Arc<Delta>> {
    journal(versions).way(from, to, usize::MAX).unwrap()
}

#[test]
fn a_whole_zone_arrives_as_it_was() {
    let sent = zone(1, 0..6000);
    let messages = messages(Script::Whole(Arc::clone(&sent)));
    assert!(messages.len() > 5, "one message would test little");
    for message in &messages[..messages.len() - 1] {
        assert!((16 << 10..17 << 10).contains(&message.len()), "{}", message.len());
    }
    assert_eq!(records(&received_zone(&messages, None)), records(&sent));
}

#[test]
fn names_are_compressed() {
    let sent = zone(1, 0..6000);
    let plain_len: usize = sent.records().map(|r| r.owner.wire_len() + 10 + r.rdata.len()).sum();
    let sent_len: usize = messages(Script::Whole(sent)).iter().map(Vec::len).sum();
    assert!(sent_len * 3 < plain_len * 2, "{sent_len} of {plain_len}");
}

#[test]
fn one_step_leads_to_the_newest_version() {
    let versions = [zone(1, 0..100), zone(2, 50..150), zone(3, (50..120).chain(500..510))];
    for from in 0..2 {
        let steps = way(&versions, versions[from].serial(), 3);
        assert_eq!(steps.len(), 1);
        let messages = messages(Script::Steps(Arc::clone(&versions[2]), steps));
        let received = received_zone(&messages, Some(Arc::clone(&versions[from])));
        assert_eq!(records(&received), records(&versions[2]), "from version {}", from + 1);
    }
}

#[test]
fn what_came_and_went_on_the_way_is_left_out() {
    // Hosts 10 to 12 come and go, 0 goes and comes, 1 goes, 20 comes: an address and a text each.
    let versions = [zone(1, 0..5), zone(2, (2..5).chain(10..13)), zone(3, [0, 2, 3, 4, 20])];
    let steps = way(&versions, 1, 3);
    let messages = messages(Script::Steps(Arc::clone(&versions[2]), steps));
    let answer_count = u16::from_be_bytes([messages[0][6], messages[0][7]]);
    assert_eq!(answer_count, 4 + 2 + 2, "SOAs, removed, added");
    assert_eq!(records(&received_zone(&messages, Some(versions[0].clone()))), records(&versions[2]));
}

#[test]
fn many_changes_go_step_by_step() {
    let versions = [zone(1, 0..3000), zone(2, 3000..6000), zone(3, 6000..9000)];
    let steps = way(&versions, 1, 3);
    assert_eq!(steps.len(), 2, "to condense them would hold up a worker");
    let messages = messages(Script::Steps(Arc::clone(&versions[2]), steps));
    assert_eq!(records(&received_zone(&messages, Some(versions[0].clone()))), records(&versions[2]));
}

#[test]
fn the_whole_zone_is_sent_where_it_is_shorter() {
    let versions = [zone(1, 0..100), zone(2, 1000..1100), zone(3, (0..100).chain([2000]))];
    let journal = journal(&versions);
    let zone_len = |at: usize| versions[at].transfer_size();
    assert!(journal.way(1, 2, zone_len(1)).is_none(), "all is removed and all is new");
    assert!(journal.way(1, 3, zone_len(2)).is_some(), "of all of it one host is left");
}

#[test]
fn steps_over_many_messages_arrive_whole() {
    let versions = [zone(1, 0..3000), zone(2, 3000..6000)];
    let steps = way(&versions, 1, 2);
    let messages = messages(Script::Steps(Arc::clone(&versions[1]), steps));
    assert!(messages.len() > 3);
    assert_eq!(records(&received_zone(&messages, Some(versions[0].clone()))), records(&versions[1]));
}

#[test]
fn a_ttl_that_changes_is_a_change() {
    let mut builder = ZoneBuilder::new(&name(APEX));
    let old = zone(1, 0..1);
    for record in old.records() {
        match record.rtype {
            Rtype::SOA => builder.add(&record.owner, Rtype::SOA, 3600, &soa(2)).unwrap(),
            rtype => builder.add(&record.owner, rtype, record.ttl + 1, record.rdata).unwrap(),
        }
    }
    let versions = [old, Arc::new(builder.finish().unwrap())];
    let steps = way(&versions, 1, 2);
    let messages = messages(Script::Steps(Arc::clone(&versions[1]), steps));
    assert_eq!(records(&received_zone(&messages, Some(versions[0].clone()))), records(&versions[1]));
}

#[test]
fn a_version_alone_says_that_nothing_changed() {
    let served = zone(7, 0..10);
    let messages = messages(Script::Version(Arc::clone(&served)));
    assert!(matches!(receive(&messages, Some(served)).unwrap(), Received::UpToDate));
}

#[test]
fn all_of_it_in_answer_to_an_ixfr_is_taken() {
    let (old, new) = (zone(1, 0..10), zone(9, 5..2000));
    let messages = messages(Script::Whole(Arc::clone(&new)));
    assert_eq!(records(&received_zone(&messages, Some(old))), records(&new));
}

#[test]
fn what_is_cut_off_is_nothing() {
    let messages = messages(Script::Whole(zone(1, 0..3000)));
    let mut inbound = Inbound::new(0, &name(APEX), None);
    for message in &messages[..messages.len() - 1] {
        assert!(!inbound.on_message(message).unwrap());
    }
    assert!(matches!(inbound.finish(), Err(InboundError::Disorder)));
}

#[test]
fn steps_from_another_version_are_refused() {
    let versions = [zone(1, 0..10), zone(2, 5..15)];
    let steps = way(&versions, 1, 2);
    let messages = messages(Script::Steps(Arc::clone(&versions[1]), steps));
    let other = zone(5, 0..10);
    let mut inbound = Inbound::new(0, &name(APEX), Some(other));
    assert!(matches!(inbound.on_message(&messages[0]), Err(InboundError::Disorder)));
}

#[test]
fn a_refusal_is_told() {
    let mut message = messages(Script::Version(zone(1, 0..1))).remove(0);
    message[3] = 5;
    assert!(matches!(receive(&[message], None), Err(InboundError::Refused(5))));
}

#[test]
fn an_answer_with_another_id_is_none() {
    let mut message = messages(Script::Version(zone(1, 0..1))).remove(0);
    message[0] = 1;
    assert!(matches!(receive(&[message], None), Err(InboundError::Malformed)));
}

#[test]
fn the_journal_forgets_its_oldest_steps() {
    let versions: Vec<Arc<Zone>> = (1..=70).map(|serial| zone(serial, 0..serial)).collect();
    let journal = journal(&versions);
    let is_known = |from, to| journal.way(from, to, usize::MAX).is_some();
    assert!(is_known(6, 70) && !is_known(5, 70), "64 are kept");
    assert!(!is_known(70, 70) && !is_known(70, 60));
}

#[test]
fn the_journal_is_no_longer_than_it_may_be() {
    let [one, two, three] = [zone(1, 0..10), zone(2, 0..11), zone(3, 0..12)];
    let keeps = |len_max: usize| {
        let journal = Journal::default().with(Delta::between(&one, &two), len_max);
        let journal = journal.with(Delta::between(&two, &three), len_max);
        [1, 2].map(|from| journal.way(from, 3, usize::MAX).is_some())
    };
    assert_eq!(keeps(10_000), [true, true]);
    assert_eq!(keeps(300), [false, true]);
    assert_eq!(keeps(0), [false, false]);
}

#[test]
fn a_step_that_does_not_follow_begins_anew() {
    let [one, two, five, six] = [1, 2, 5, 6].map(|serial| zone(serial, 0..serial));
    let steps = [Delta::between(&one, &two), Delta::between(&five, &six)];
    let journal =
        steps.into_iter().fold(Journal::default(), |journal, delta| journal.with(delta, usize::MAX));
    assert!(journal.way(1, 6, usize::MAX).is_none());
    assert!(journal.way(5, 6, usize::MAX).is_some());
}

#[test]
fn serials_wrap() {
    assert!(is_newer(1, 0) && is_newer(0, u32::MAX) && is_newer(0x7fff_ffff, 0));
    assert!(!is_newer(0, 0) && !is_newer(0, 1) && !is_newer(0x8000_0000, 0));
}

#[test]
fn the_version_of_an_ixfr_query_is_in_its_authority() {
    let query = super::client::query(1, &name(APEX), Rtype::IXFR, Some(&zone(77, 0..1)));
    assert_eq!(proposed_serial(&query), Some(77));
    let without = super::client::query(1, &name(APEX), Rtype::IXFR, None);
    assert_eq!(proposed_serial(&without), None);
}

#[test]
fn a_message_may_say_for_how_long_the_zone_may_be_served() {
    let asked = |has_opt: bool| {
        let mut query = super::client::query(1, &name(APEX), Rtype::IXFR, Some(&zone(1, 0..1)));
        if has_opt {
            super::client::put_opt(&mut query);
        }
        query
    };
    let said = |has_opt, expire_s| {
        let (message, mut decompressed) = (asked(has_opt), NameBuf::new());
        let query = Query::parse(&message, &mut decompressed).unwrap();
        assert_eq!(query.edns.is_some_and(|edns| edns.wants_expire), has_opt);
        let script = Script::Version(zone(1, 0..1));
        let transfer = Outbound::new(script, &query, None, None).with_expire(expire_s);
        let mut room = vec![0; 1232];
        let len = transfer.in_one_message(&mut room).unwrap();
        super::inbound::expire_s(&room[..len])
    };
    assert_eq!(said(true, Some(86_399)), Some(86_399));
    assert_eq!(said(true, None), None);
    assert_eq!(said(false, Some(86_399)), None, "no OPT record but for who sent one");
}

#[test]
fn a_copy_on_disk_comes_back_whole_or_not_at_all() {
    let dir = tidegate_testbed::ScratchDir::new().unwrap();
    let path = dir.join("example.copy");
    assert!(keep::read(&path, &name(APEX)).unwrap().is_none());
    let kept = zone(3, 0..2000);
    keep::write(&path, &kept, Duration::ZERO).unwrap();
    let back = keep::read(&path, &name(APEX)).unwrap().unwrap();
    assert_eq!(records(&back.zone), records(&kept));
    assert!(back.age.as_millis() < 60_000);
    assert!(keep::read(&path, &name("other.")).is_err());
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(keep::read(&path, &name(APEX)).is_err());
    bytes.truncate(middle);
    std::fs::write(&path, &bytes).unwrap();
    assert!(keep::read(&path, &name(APEX)).is_err());
}

#[test]
fn a_confirmed_copy_is_young_again() {
    let dir = tidegate_testbed::ScratchDir::new().unwrap();
    let path = dir.join("example.copy");
    keep::write(&path, &zone(3, 0..1), Duration::from_secs(1000)).unwrap();
    assert!(keep::read(&path, &name(APEX)).unwrap().unwrap().age.as_millis() >= 999_000);
    keep::confirm(&path, Duration::ZERO).unwrap();
    assert!(keep::read(&path, &name(APEX)).unwrap().unwrap().age.as_millis() < 60_000);
}

fn numbers() -> impl Strategy<Value = BTreeSet<u32>> {
    proptest::collection::btree_set(0u32..60, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever changes from version to version, the steps lead there.
    #[test]
    fn steps_are_as_good_as_the_whole(contents in proptest::collection::vec(numbers(), 2..5)) {
        let versions: Vec<Arc<Zone>> =
            contents.into_iter().zip(1..).map(|(numbers, serial)| zone(serial, numbers)).collect();
        let newest = versions.last().unwrap();
        let steps = way(&versions, 1, newest.serial());
        let messages = messages(Script::Steps(Arc::clone(newest), steps));
        let received = received_zone(&messages, Some(versions[0].clone()));
        prop_assert_eq!(records(&received), records(newest));
    }

    /// Not even what looks like an answer.
    #[test]
    fn no_message_panics(mut message in proptest::collection::vec(any::<u8>(), 12..300), count in 0u8..4) {
        message[..12].copy_from_slice(&[0, 0, 0x84, 0, 0, 0, 0, count, 0, 0, 0, 0]);
        let mut inbound = Inbound::new(0, &name(APEX), None);
        let _ = inbound.on_message(&message);
        let _ = inbound.finish();
    }

    /// A message of a transfer with a few bytes changed.
    #[test]
    fn no_damage_panics(changes in proptest::collection::vec((12usize..2000, any::<u8>()), 1..4)) {
        let mut message = messages(Script::Whole(zone(1, 0..30))).remove(0);
        for (at, byte) in changes {
            let at = at % message.len();
            message[at] = byte;
        }
        let mut inbound = Inbound::new(0, &name(APEX), None);
        let _ = inbound.on_message(&message);
        let _ = inbound.finish();
    }

    /// A name is written as it is, wherever it points.
    #[test]
    fn names_survive_compression(numbers in proptest::collection::btree_set(0u32..100_000, 1..200)) {
        let sent = zone(1, numbers);
        let received = received_zone(&messages(Script::Whole(Arc::clone(&sent))), None);
        prop_assert_eq!(records(&received), records(&sent));
    }
}

#[test]
fn an_apex_is_found_whatever_its_case() {
    let mut relations = super::Relations::default();
    assert!(relations.of(&name("EXAMPLE.")).is_none());
    relations = super::Relations::new(Default::default(), [(name("example."), super::Relation::default())]);
    let apex: &Name = &name("EXAMPLE.");
    assert!(relations.of(apex).is_some());
}
