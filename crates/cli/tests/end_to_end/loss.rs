//! Every byte is right on a network that loses packets in both directions.

use crate::client::Connection;
use crate::scene::lone_machine;
use crate::service::Service;
use crate::site::{Site, noise};
use sha2::{Digest, Sha256};

/// Sizes from one byte to some hundred packets, each file's bytes being those of its number.
const FILE_COUNT: usize = 300;
const STREAM_COUNT: usize = 6;

fn len_of(number: usize) -> usize {
    1 + number * number * 3 % 150_000
}

fn download(address: &str, stream: usize) {
    let mut connection = Connection::open(address);
    for number in (stream..FILE_COUNT).step_by(STREAM_COUNT) {
        let answer = connection.get(&format!("/{number}.bin"), "");
        assert_eq!(answer.status, 200, "{number}");
        let expected = Sha256::digest(noise(number as u64, len_of(number)));
        assert_eq!(Sha256::digest(&answer.body), expected, "file {number}");
    }
}

fn survives(mode: &str, faults: &str) {
    let (machine, site) = (lone_machine(), Site::new());
    for number in 0..FILE_COUNT {
        site.write(&format!("{number}.bin"), &noise(number as u64, len_of(number)));
    }
    let service = Service::start(&machine, &["--root", site.root(), "--mode", mode, "--impair", faults]);
    std::thread::scope(|scope| {
        for stream in 0..STREAM_COUNT {
            let address = if stream % 2 == 0 { "10.77.0.2:80" } else { "[fd77::2]:80" };
            let machine = &machine;
            scope.spawn(move || machine.run(|| download(address, stream)).expect("entered"));
        }
    });
    drop(service);
}

#[test]
fn every_body_is_right_under_one_percent_loss() {
    survives("pre-copy", "loss=1%,seed=3");
}

#[test]
fn every_copied_body_is_right_under_every_fault() {
    survives("memcopy", "loss=1%,duplicate=1%,corrupt=0.5%,reorder=5%,delay=2ms,jitter=1ms,seed=5");
}
