//! Cookies (RFC 7873, RFC 9018): young, old, from the future, of others, of every length; made by any of the three.

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_dns::cookie::Cookies;
use tidegate_dns::message::Cookie;
use tidegate_testbed::DnsPeers;

use crate::corpus::name_from_text;
use crate::ours::Ours;
use crate::queries::{header, opt};

const CLIENT: [u8; 8] = [0x24, 0x64, 0xc4, 0xab, 0xcf, 0x10, 0xc9, 0x57];
const A_IN: [u8; 4] = [0, 1, 0, 1];
const CODE: [u8; 2] = [0, 10];

/// Queries for `name`, which has an A record, with every kind of cookie.
pub(crate) fn queries(name: &str) -> Vec<Vec<u8>> {
    let name = name_from_text(name, &[0]);
    let nowhere = name_from_text("www.elsewhere.invalid", &[0]);
    let ask = |name: &[u8], options: &[u8]| {
        [&header(0, [1, 0, 0, 1]), name, &A_IN, &opt(1232, 0, options)].concat()
    };
    let cookies = [of_every_length(), of_every_age(), forged()].concat();
    let mut queries: Vec<_> = cookies.iter().map(|cookie| ask(&name, &option(cookie))).collect();
    queries.extend(cookies.iter().map(|cookie| ask(&nowhere, &option(cookie))));
    let [good, bare] = [made(30), CLIENT.to_vec()].map(|cookie| option(&cookie));
    let nsid = [0, 3, 0, 0];
    for options in [[&nsid[..], &good].concat(), [&good[..], &bare].concat(), [&bare[..], &good].concat()] {
        queries.push(ask(&name, &options));
    }
    // A length that overruns the OPT; and nothing asked for but a cookie (RFC 7873 5.4).
    queries.push(ask(&name, &[&CODE[..], &[0, 24], &CLIENT].concat()));
    queries.push([header(0, [0, 0, 0, 1]), opt(1232, 0, &bare)].concat());
    queries
}

fn option(cookie: &[u8]) -> Vec<u8> {
    [&CODE[..], &(cookie.len() as u16).to_be_bytes(), cookie].concat()
}

/// None but 8 and 16 to 40 octets are a cookie (RFC 7873 5.2.2).
fn of_every_length() -> Vec<Vec<u8>> {
    (0..44).map(|len| (0..len).collect()).collect()
}

/// On both sides of every limit that RFC 9018 4.3 sets, with time enough to be asked.
fn of_every_age() -> Vec<Vec<u8>> {
    [0, 1, 60, 1700, 1900, 3500, 3700, 7200, 86_400, 1 << 30, -1, -60, -250, -350, -7200, -(1 << 30)]
        .map(made)
        .to_vec()
}

/// A cookie of that age by the shared secret.
fn made(age_s: i32) -> Vec<u8> {
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as u32;
    let secret: [u8; 16] = std::array::from_fn(|at| {
        u8::from_str_radix(&DnsPeers::COOKIE_SECRET[2 * at..2 * at + 2], 16).unwrap()
    });
    let cookies = Cookies::new(&[secret]).unwrap();
    let asked = Cookie { client: &CLIENT, server: &[] };
    cookies.answer(&asked, IpAddr::V4(Ours::CLIENT), unix_s.wrapping_sub_signed(age_s)).1.to_vec()
}

/// Good ones of which each octet was changed in turn; one that is cut, one that is longer.
fn forged() -> Vec<Vec<u8>> {
    let good = made(10);
    let changed = |at: usize| {
        let mut cookie = good.clone();
        cookie[at] ^= 1;
        cookie
    };
    let mut forged: Vec<_> = (0..good.len()).map(changed).collect();
    forged.extend([good[..23].to_vec(), [&good[..], &[0]].concat()]);
    forged
}
