//! Who is told, how often, and what counts as an answer.
use super::MESSAGE_LEN_MAX;
use super::notifier::{Heard, Notifier};
use crate::name::NameBuf;
use crate::transfer::relations::Remote;
use crate::tsig::{Checked, Key, Keyring, check};
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::{Duration, Instant};

const NOW_S: u64 = 1_800_000_000;

fn apex() -> NameBuf {
    "example.".parse().unwrap()
}

fn remote(port: u16, key: Option<Arc<Key>>) -> Remote {
    Remote { address: SocketAddr::from(([192, 0, 2, 1], port)), key }
}

fn key() -> Key {
    Key::parse("k.", "hmac-sha256", "c2VjcmV0").unwrap()
}

/// All that is sent at `now`.
fn sent(notifier: &mut Notifier, now: Instant) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut message = [0; MESSAGE_LEN_MAX];
    let mut sent = Vec::new();
    while let Some((to, datagram)) = notifier.poll(now, NOW_S, &mut message) {
        sent.push((to, datagram.to_vec()));
    }
    sent
}

fn answer_to(datagram: &[u8]) -> Vec<u8> {
    let mut answer = datagram.to_vec();
    answer[2] |= 0x80;
    answer
}

#[test]
fn each_target_is_told_once_and_forgotten_when_it_answers() {
    let mut notifier = Notifier::new(1);
    notifier.on_change(Instant::ZERO, &apex(), &[remote(53, None), remote(5353, None)]);
    let told = sent(&mut notifier, Instant::ZERO);
    assert_eq!(told.len(), 2);
    let question = b"\x07example\0\0\x06\0\x01";
    for (to, datagram) in &told {
        assert_eq!(datagram[2..12], [0x24, 0, 0, 1, 0, 0, 0, 0, 0, 0], "opcode 4, AA, one question");
        assert_eq!(&datagram[12..], question);
        assert_eq!(notifier.on_datagram(*to, &answer_to(datagram), NOW_S), Heard::Answer);
    }
    assert_eq!(notifier.next_deadline(), None);
}

#[test]
fn who_does_not_answer_is_told_six_times_ever_more_rarely() {
    let mut notifier = Notifier::new(2);
    notifier.on_change(Instant::ZERO, &apex(), &[remote(53, None)]);
    let mut times = Vec::new();
    while let Some(now) = notifier.next_deadline() {
        if sent(&mut notifier, now).len() == 1 {
            times.push(now.as_nanos() / 1_000_000_000);
        }
    }
    assert_eq!(times, [0, 1, 3, 7, 15, 31]);
}

#[test]
fn a_stray_is_no_answer() {
    let mut notifier = Notifier::new(3);
    notifier.on_change(Instant::ZERO, &apex(), &[remote(53, None)]);
    let (to, datagram) = sent(&mut notifier, Instant::ZERO).remove(0);
    let answer = answer_to(&datagram);
    let elsewhere = SocketAddr::from(([192, 0, 2, 2], 53));
    assert_eq!(notifier.on_datagram(elsewhere, &answer, NOW_S), Heard::Stray);
    assert_eq!(notifier.on_datagram(to, &datagram, NOW_S), Heard::Stray, "a query");
    let mut other = answer.clone();
    other[0] ^= 1;
    assert_eq!(notifier.on_datagram(to, &other, NOW_S), Heard::Stray);
    assert_eq!(notifier.on_datagram(to, &[], NOW_S), Heard::Stray);
    assert_eq!(notifier.on_datagram(to, &answer, NOW_S), Heard::Answer);
}

#[test]
fn a_later_change_starts_over() {
    let mut notifier = Notifier::new(4);
    notifier.on_change(Instant::ZERO, &apex(), &[remote(53, None)]);
    let (to, first) = sent(&mut notifier, Instant::ZERO).remove(0);
    notifier.on_change(Instant::ZERO, &apex(), &[remote(53, None)]);
    assert_eq!(notifier.on_datagram(to, &answer_to(&first), NOW_S), Heard::Stray);
    assert_eq!(sent(&mut notifier, Instant::ZERO + Duration::from_millis(1)).len(), 1);
}

#[test]
fn with_a_key_the_message_is_signed_and_the_answer_must_be() {
    let mut notifier = Notifier::new(5);
    notifier.on_change(Instant::ZERO, &apex(), &[remote(53, Some(Arc::new(key())))]);
    let (to, datagram) = sent(&mut notifier, Instant::ZERO).remove(0);
    let keys: Keyring = [key()].into_iter().collect();
    let Checked::Signed(pass) = check(&datagram, &keys, NOW_S) else { panic!("not signed") };
    let mut answer = answer_to(&datagram[..pass.plain_len()]);
    // Without the signature that its header counts.
    answer[11] = 0;
    assert_eq!(notifier.on_datagram(to, &answer, NOW_S), Heard::Stray);
    let len = answer.len();
    answer.resize(512, 0);
    let signed_len = pass.signer().sign(&mut answer, len, NOW_S).unwrap();
    assert_eq!(notifier.on_datagram(to, &answer[..signed_len], NOW_S), Heard::Answer);
}
