//! Bytes both ways, whatever is lost.

use crate::wire::{Pair, read_all};
use proptest::prelude::*;
use tidegate_socket::Error;

fn pattern(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

/// Writes `len` bytes in pieces of `piece`, reads them at the other end, and the end after them.
fn transfer(pair: &mut Pair, len: u64, piece: usize, slow_reader: bool) {
    let loss = std::mem::take(&mut pair.lost_of_1000);
    let (client, server) = pair.connection();
    pair.lost_of_1000 = loss;
    let (mut written, mut read) = (0u64, 0u64);
    for step in 0..2_000_000 {
        while written < len {
            let want = piece.min((len - written) as usize);
            let data: Vec<u8> = (written..written + want as u64).map(pattern).collect();
            match pair.server.write(server, &data) {
                Ok(count) => written += count as u64,
                Err(error) => {
                    assert_eq!(error, Error::WouldBlock);
                    break;
                }
            }
            if written == len {
                pair.server.close(server).unwrap();
            }
        }
        pair.step(1);
        if slow_reader && step % 50 != 0 {
            continue;
        }
        let (data, why) = read_all(&mut pair.client, client);
        for byte in &data {
            assert_eq!(*byte, pattern(read), "at {read}");
            read += 1;
        }
        match why {
            None if read == len => break,
            None => panic!("the end after {read} bytes"),
            Some(error) => assert_eq!(error, Error::WouldBlock, "after {read} bytes"),
        }
    }
    assert_eq!(read, len);
    pair.client.close(client).unwrap();
    pair.lost_of_1000 = 0;
    pair.steps(5);
    for _ in 0..200 {
        pair.step(1000);
    }
    pair.assert_nothing_left();
}

#[test]
fn a_megabyte_crosses_a_good_wire() {
    transfer(&mut Pair::new(), 1 << 20, 10_000, false);
}

#[test]
fn a_slow_reader_stops_the_writer_and_loses_nothing() {
    transfer(&mut Pair::new(), 3 << 20, 64 << 10, true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_is_lost_everything_arrives(
        seed in 0..u64::MAX, loss in 0..60u64, len in 1..300_000u64, piece in 1..70_000usize,
    ) {
        transfer(&mut Pair::lossy(seed, loss), len, piece, false);
    }
}
