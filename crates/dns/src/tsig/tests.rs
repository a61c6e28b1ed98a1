//! Signatures made by one side, looked at by the other.
use super::*;
use crate::name::{Name, NameBuf};
use proptest::prelude::*;
use std::sync::Arc;

const NOW: u64 = 1_800_000_000;
const ALGORITHMS: [&str; 5] = ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"];

fn key(algorithm: &str) -> Key {
    Key::parse("Transfer.Example.", algorithm, "c2VjcmV0IGJ5dGVz").unwrap()
}

fn keyring(algorithm: &str) -> Keyring {
    [key(algorithm)].into_iter().collect()
}

/// A query for `a.example. SOA`, in a buffer with room for a signature.
fn query() -> (Vec<u8>, usize) {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(b"\x01a\x07example\0\0\x06\0\x01");
    let len = message.len();
    message.resize(len + RECORD_LEN_MAX, 0);
    (message, len)
}

/// The query, signed, and what verifies the answer.
fn signed_query(algorithm: &str) -> (Vec<u8>, Verifier) {
    let (mut message, len) = query();
    let (len, verifier) = Verifier::of_request(&Arc::new(key(algorithm)), &mut message, len, NOW).unwrap();
    message.truncate(len);
    (message, verifier)
}

fn pass(message: &[u8], algorithm: &str) -> Pass {
    match check(message, &keyring(algorithm), NOW) {
        Checked::Signed(pass) => pass,
        other => panic!("{other:?}"),
    }
}

fn rejection(message: &[u8], keys: &Keyring, now: u64) -> Rejection {
    match check(message, keys, now) {
        Checked::Rejected(rejection) => *rejection,
        other => panic!("{other:?}"),
    }
}

/// An answer, of `number` so that no two are alike.
fn answer(number: u8) -> (Vec<u8>, usize) {
    let (mut message, len) = query();
    message[2] = 0x84;
    message[3] = number;
    (message, len)
}

#[test]
fn a_signed_request_passes_and_its_signed_answer_is_believed() {
    for algorithm in ALGORITHMS {
        let (request, mut verifier) = signed_query(algorithm);
        let pass = pass(&request, algorithm);
        assert_eq!(pass.plain_len(), query().1);
        assert_eq!(pass.key().name(), &*"transfer.example.".parse::<NameBuf>().unwrap());
        let (mut message, plain_len) = answer(0);
        let len = pass.signer().sign(&mut message, plain_len, NOW).unwrap();
        assert_eq!(verifier.check(&message[..len], NOW), Ok(plain_len), "{algorithm}");
        assert_eq!(verifier.finish(), Ok(()));
    }
}

#[test]
fn a_request_without_signature_is_unsigned() {
    let (message, len) = query();
    assert!(matches!(check(&message[..len], &keyring("hmac-sha256"), NOW), Checked::Unsigned));
}

#[test]
fn each_message_of_a_transfer_depends_on_the_one_before() {
    let (request, verifier) = signed_query("hmac-sha256");
    let mut signer = pass(&request, "hmac-sha256").signer();
    let messages: Vec<Vec<u8>> = (0..3)
        .map(|number| {
            let (mut message, len) = answer(number);
            let len = signer.sign(&mut message, len, NOW).unwrap();
            message[..len].to_vec()
        })
        .collect();
    let mut in_order = verifier.clone();
    for message in &messages {
        in_order.check(message, NOW).unwrap();
    }
    assert_eq!(in_order.finish(), Ok(()));
    let mut one_missing = verifier;
    one_missing.check(&messages[0], NOW).unwrap();
    assert_eq!(one_missing.check(&messages[2], NOW), Err(VerifyError::BadSig));
}

#[test]
fn unsigned_messages_count_into_the_next_signature() {
    let (request, verifier) = signed_query("hmac-sha512");
    let mut signer = pass(&request, "hmac-sha512").signer();
    let (mut first, len) = answer(0);
    let len = signer.sign(&mut first, len, NOW).unwrap();
    let (between, between_len) = answer(1);
    let mut verifier = verifier;
    verifier.check(&first[..len], NOW).unwrap();
    assert_eq!(verifier.check(&between[..between_len], NOW), Ok(between_len));
    // Its last message is not signed, so nobody vouches for it.
    assert_eq!(verifier.finish(), Err(VerifyError::Unsigned));
}

#[test]
fn a_hundred_unsigned_messages_in_a_row_are_too_many() {
    let (request, mut verifier) = signed_query("hmac-sha256");
    let mut signer = pass(&request, "hmac-sha256").signer();
    let (mut first, len) = answer(0);
    let len = signer.sign(&mut first, len, NOW).unwrap();
    verifier.check(&first[..len], NOW).unwrap();
    let (message, len) = answer(1);
    for _ in 0..99 {
        verifier.check(&message[..len], NOW).unwrap();
    }
    assert_eq!(verifier.check(&message[..len], NOW), Err(VerifyError::Unsigned));
}

#[test]
fn an_answer_to_a_signed_request_must_be_signed() {
    let (_, mut verifier) = signed_query("hmac-sha256");
    let (message, len) = answer(0);
    assert_eq!(verifier.check(&message[..len], NOW), Err(VerifyError::Unsigned));
}

#[test]
fn a_key_that_is_not_known_is_badkey_and_the_answer_unsigned() {
    let (request, mut verifier) = signed_query("hmac-sha256");
    let rejected = rejection(&request, &Keyring::default(), NOW);
    assert_eq!(rejected.error(), TsigError::BadKey);
    assert_eq!(rejection(&request, &keyring("hmac-sha512"), NOW).error(), TsigError::BadKey);
    let (mut message, len) = answer(9);
    let len = rejected.answer(&mut message, len, NOW).unwrap();
    assert!(
        matches!(verifier.check(&message[..len], NOW), Err(VerifyError::Refused(why)) if why.contains("BADKEY"))
    );
}

#[test]
fn another_secret_is_badsig() {
    let (request, mut verifier) = signed_query("hmac-sha256");
    let other = Key::parse("transfer.example.", "hmac-sha256", "b3RoZXI=").unwrap();
    let rejected = rejection(&request, &[other].into_iter().collect(), NOW);
    assert_eq!(rejected.error(), TsigError::BadSig);
    let (mut message, len) = answer(9);
    let len = rejected.answer(&mut message, len, NOW).unwrap();
    assert!(
        matches!(verifier.check(&message[..len], NOW), Err(VerifyError::Refused(why)) if why.contains("BADSIG"))
    );
}

#[test]
fn a_clock_that_is_off_is_badtime_and_is_told_the_time() {
    let (request, mut verifier) = signed_query("hmac-sha256");
    let rejected = rejection(&request, &keyring("hmac-sha256"), NOW + 301);
    assert_eq!(rejected.error(), TsigError::BadTime);
    assert!(matches!(check(&request, &keyring("hmac-sha256"), NOW + 300), Checked::Signed(_)));
    let (mut message, len) = answer(9);
    let len = rejected.answer(&mut message, len, NOW + 301).unwrap();
    assert_eq!(message[len - 6..len], (NOW + 301).to_be_bytes()[2..]);
    assert!(
        matches!(verifier.check(&message[..len], NOW), Err(VerifyError::Refused(why)) if why.contains("BADTIME"))
    );
}

#[test]
fn a_cut_signature_is_badtrunc_and_an_impossible_one_is_malformed() {
    let (request, _) = signed_query("hmac-sha256");
    let cut = |by: usize| {
        let mut cut = request.clone();
        // The MAC is followed by original ID, error and other length: six bytes.
        let mac_end = cut.len() - 6;
        cut.drain(mac_end - by..mac_end);
        let mac_len_at = mac_end - 32 - 2;
        cut[mac_len_at + 1] = 32 - by as u8;
        let rdata_len_at = query().1 + b"\x08transfer\x07example\0".len() + 8;
        cut[rdata_len_at + 1] -= by as u8;
        cut
    };
    assert_eq!(rejection(&cut(8), &keyring("hmac-sha256"), NOW).error(), TsigError::BadTrunc);
    assert!(matches!(check(&cut(17), &keyring("hmac-sha256"), NOW), Checked::Malformed));
}

#[test]
fn md5_is_refused_by_name() {
    for name in ["hmac-md5", "HMAC-MD5.SIG-ALG.REG.INT."] {
        assert_eq!(Key::parse("k.", name, "c2VjcmV0").unwrap_err(), KeyError::Md5);
    }
}

#[test]
fn a_key_says_what_is_wrong_with_it() {
    assert!(matches!(Key::parse("k.", "hmac-sha3", "c2VjcmV0").unwrap_err(), KeyError::Algorithm(_)));
    assert!(matches!(Key::parse("k.", "hmac-sha256", "").unwrap_err(), KeyError::Secret(_)));
    assert!(matches!(Key::parse("k.", "hmac-sha256", "***").unwrap_err(), KeyError::Secret(_)));
    assert!(matches!(Key::parse("a..b", "hmac-sha256", "c2VjcmV0").unwrap_err(), KeyError::Name(_)));
    assert!(!format!("{:?}", key("hmac-sha256")).contains("c2VjcmV0"));
}

#[test]
fn a_signature_that_is_not_last_is_malformed() {
    let (mut request, _) = signed_query("hmac-sha256");
    let record = request[query().1..].to_vec();
    request.extend_from_slice(&record);
    request[11] = 2;
    assert!(matches!(check(&request, &keyring("hmac-sha256"), NOW), Checked::Malformed));
}

#[test]
fn no_room_for_a_signature_changes_nothing() {
    let (request, _) = signed_query("hmac-sha256");
    let (mut message, len) = answer(0);
    message.truncate(len + 10);
    let before = message.clone();
    assert_eq!(pass(&request, "hmac-sha256").signer().sign(&mut message, len, NOW), None);
    assert_eq!(message, before);
}

#[test]
fn the_longest_record_fits_what_is_kept_for_it() {
    let name: NameBuf = format!("{0}.{0}.{0}.{1}.", "a".repeat(63), "b".repeat(61)).parse().unwrap();
    assert_eq!(name.wire_len(), 255);
    let key = Key::new(&name, Algorithm::HmacSha512, b"secret").unwrap();
    let (mut message, len) = query();
    let (signed_len, _) = Verifier::of_request(&Arc::new(key), &mut message, len, NOW).unwrap();
    // A server's time in "other data" is all that may come on top.
    assert_eq!(signed_len + 6, len + RECORD_LEN_MAX);
    assert!(Name::ROOT.wire_len() == 1);
}

proptest! {
    /// Whatever is flipped, wherever: never believed. (The ID is not covered: the original one is.)
    #[test]
    fn one_flipped_bit_is_never_believed(at in 2usize..500, bit in 0u8..8) {
        let (mut request, _) = signed_query("hmac-sha256");
        let at = 2 + at % (request.len() - 2);
        request[at] ^= 1 << bit;
        let is_case_of_a_name = matches!(check(&request, &keyring("hmac-sha256"), NOW), Checked::Signed(_))
            && bit == 5 && at >= query().1;
        prop_assert!(is_case_of_a_name || !matches!(check(&request, &keyring("hmac-sha256"), NOW), Checked::Signed(_)));
    }

    #[test]
    fn no_bytes_panic(message in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(&message, &keyring("hmac-sha256"), NOW);
    }

    #[test]
    fn no_bytes_behind_a_header_panic(mut message in proptest::collection::vec(any::<u8>(), 12..200), counts in any::<[u8; 4]>()) {
        for (at, count) in [5, 7, 9, 11].into_iter().zip(counts) {
            (message[at - 1], message[at]) = (0, count % 3);
        }
        let _ = check(&message, &keyring("hmac-sha256"), NOW);
        let (_, mut verifier) = signed_query("hmac-sha256");
        let _ = verifier.check(&message, NOW);
    }
}
