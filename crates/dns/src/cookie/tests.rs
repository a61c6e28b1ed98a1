//! RFC 9018 appendix A, and the window in which a cookie is good.

use super::*;

fn octets<const N: usize>(hexadecimal: &str) -> [u8; N] {
    core::array::from_fn(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
}

const SECRET: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";
/// When the cookie of appendix A.1 was made.
const MADE_S: u32 = 1_559_731_985;

fn cookies(secrets: &[&str]) -> Cookies {
    Cookies::new(&secrets.iter().map(|secret| octets(secret)).collect::<Vec<_>>()).unwrap()
}

fn answer(cookies: &Cookies, cookie: &str, client: &str, unix_s: u32) -> (CookieVerdict, [u8; 24]) {
    let octets: Vec<u8> = (0..cookie.len() / 2).map(|at| octets::<1>(&cookie[2 * at..])[0]).collect();
    let (client_cookie, server) = octets.split_first_chunk().unwrap();
    cookies.answer(&Cookie { client: client_cookie, server }, client.parse().unwrap(), unix_s)
}

#[test]
fn a_new_client_learns_a_cookie() {
    let answer = answer(&cookies(&[SECRET]), "2464c4abcf10c957", "198.51.100.100", MADE_S);
    let expected = octets("2464c4abcf10c957010000005cf79f111f8130c3eee29480");
    assert_eq!(answer, (CookieVerdict::ClientOnly, expected), "appendix A.1");
}

#[test]
fn a_cookie_of_forty_minutes_is_renewed() {
    let sent = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
    let answer = answer(&cookies(&[SECRET]), sent, "198.51.100.100", MADE_S + 2400);
    let expected = octets("2464c4abcf10c957010000005cf7a871d4a564a1442aca77");
    assert_eq!(answer, (CookieVerdict::Good, expected), "appendix A.2");
}

#[test]
fn reserved_octets_count_as_they_came() {
    let sent = "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5";
    let at = |unix_s| answer(&cookies(&[SECRET]), sent, "203.0.113.203", unix_s);
    assert_eq!(at(1_559_727_985 + 60).0, CookieVerdict::Good);
    // The appendix answers after 112 minutes, when the hour of section 4.3 is over.
    let expected = octets("fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e");
    assert_eq!(at(1_559_734_700), (CookieVerdict::Bad, expected), "appendix A.3");
}

#[test]
fn a_cookie_of_the_secret_before_is_good_and_replaced() {
    let secrets = ["445536bcd2513298075a5d379663c962", "dd3bdf9344b678b185a6f5cb60fca715"];
    let sent = "22681ab97d52c298010000005cf7c57926556bd0934c72f8";
    let client = "2001:db8:220:1:59de:d0f4:8769:82b8";
    let expected = octets("22681ab97d52c298010000005cf7c609a6bb79d16625507a");
    let rolling = answer(&cookies(&secrets), sent, client, 1_559_741_961);
    assert_eq!(rolling, (CookieVerdict::Good, expected), "appendix A.4");
    let rolled = answer(&cookies(&secrets[..1]), sent, client, 1_559_741_961);
    assert_eq!(rolled, (CookieVerdict::Bad, expected), "the old secret is gone");
}

#[test]
fn a_young_cookie_stays_also_where_the_clock_is_behind() {
    let sent = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
    for unix_s in [MADE_S - 300, MADE_S, MADE_S + 1799] {
        let answer = answer(&cookies(&[SECRET]), sent, "198.51.100.100", unix_s);
        assert_eq!(answer, (CookieVerdict::Good, octets(sent)));
    }
}

#[test]
fn a_cookie_is_good_for_an_hour_and_five_minutes_early() {
    let sent = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
    let verdict = |unix_s| answer(&cookies(&[SECRET]), sent, "198.51.100.100", unix_s).0;
    assert_eq!([MADE_S - 300, MADE_S + 3600].map(verdict), [CookieVerdict::Good; 2]);
    assert_eq!([MADE_S - 301, MADE_S + 3601].map(verdict), [CookieVerdict::Bad; 2]);
}

#[test]
fn a_cookie_lives_on_when_the_clock_has_used_up_its_bits() {
    let cookies = cookies(&[SECRET]);
    let (_, made) = answer(&cookies, "2464c4abcf10c957", "198.51.100.100", u32::MAX - 5);
    let cookie = Cookie { client: made.first_chunk().unwrap(), server: &made[8..] };
    assert_eq!(cookies.verify(&cookie, "198.51.100.100".parse().unwrap(), 20), CookieVerdict::Good);
}

#[test]
fn a_cookie_of_another_client_length_or_version_is_bad() {
    let sent = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
    let verdict = |sent: &str, client: &str| answer(&cookies(&[SECRET]), sent, client, MADE_S).0;
    assert_eq!(verdict(sent, "198.51.100.100"), CookieVerdict::Good);
    assert_eq!(verdict(sent, "198.51.100.101"), CookieVerdict::Bad);
    assert_eq!(verdict(&sent.replacen("2464", "2465", 1), "198.51.100.100"), CookieVerdict::Bad);
    assert_eq!(verdict(&sent[..40], "198.51.100.100"), CookieVerdict::Bad);
    assert_eq!(verdict(&format!("{sent}00"), "198.51.100.100"), CookieVerdict::Bad);
    assert_eq!(verdict(&sent.replacen("01000000", "02000000", 1), "198.51.100.100"), CookieVerdict::Bad);
}

#[test]
fn secrets_are_not_shown() {
    assert_eq!(format!("{:?}", cookies(&[SECRET, SECRET])), "Cookies(2 secrets)");
    assert!(Cookies::new(&[]).is_none());
}
