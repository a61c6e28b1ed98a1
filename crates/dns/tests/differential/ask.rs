//! Asks a server many queries over UDP, a window at a time, and matches answers to queries by their ID.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Queries under way at once: few enough that no socket buffer overflows.
const WINDOW: usize = 32;

/// How long a window waits for its next answer. Only silence and loss wait that long.
const SILENCE: Duration = Duration::from_millis(150);

/// How often an unanswered query is asked again: loss is told from silence by repetition.
const ATTEMPTS: usize = 3;

/// The answer to each query, or none where the server stays silent. Runs in the caller's namespace.
pub(crate) fn ask(server: SocketAddr, queries: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let mut answers = vec![None; queries.len()];
    let mut next_id = 0;
    for (window, answers) in queries.chunks(WINDOW).zip(answers.chunks_mut(WINDOW)) {
        for _ in 0..ATTEMPTS {
            exchange(&socket, &mut next_id, window, answers);
            if answers.iter().all(Option::is_some) {
                break;
            }
        }
    }
    answers
}

/// Sends what has no answer yet, under IDs not used for long, so that a late answer matches nothing.
fn exchange(socket: &UdpSocket, next_id: &mut u16, queries: &[Vec<u8>], answers: &mut [Option<Vec<u8>>]) {
    let mut open = HashMap::new();
    for (index, query) in queries.iter().enumerate().filter(|(index, _)| answers[*index].is_none()) {
        let id = *next_id;
        *next_id = id.wrapping_add(1);
        let mut message = query.clone();
        message.iter_mut().zip(id.to_be_bytes()).for_each(|(octet, of_id)| *octet = of_id);
        socket.send(&message).unwrap();
        open.insert(id, index);
    }
    let mut buffer = vec![0; 65536];
    while !open.is_empty() {
        match socket.recv(&mut buffer) {
            Ok(len) if len >= 2 => {
                let id = u16::from_be_bytes([buffer[0], buffer[1]]);
                if let Some(index) = open.remove(&id) {
                    answers[index] = Some(buffer[..len].to_vec());
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}
