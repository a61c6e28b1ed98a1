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

/// How queries are carried: from this address to that server, in the caller's namespace.
pub(crate) type Ask = fn(Ipv4Addr, SocketAddr, &[Vec<u8>]) -> Asked;

/// What came of the queries.
pub(crate) struct Asked {
    /// The answer to each query, or none where the server stays silent.
    pub(crate) answers: Vec<Option<Vec<u8>>>,
    /// Datagrams without an answer though the same query got one another time.
    pub(crate) lost: usize,
}

/// Asks them all over UDP.
pub(crate) fn over_udp(client: Ipv4Addr, server: SocketAddr, queries: &[Vec<u8>]) -> Asked {
    Datagrams::new(client, server, queries.len()).ask(queries)
}

/// A socket, and what is known of each query.
struct Datagrams {
    socket: UdpSocket,
    next_id: u16,
    /// Queries by the ID they were last sent under, also long after, so that a late answer is not a lost one.
    asked: HashMap<u16, usize>,
    answers: Vec<Option<Vec<u8>>>,
    sent: Vec<usize>,
    received: Vec<usize>,
}

impl Datagrams {
    fn new(client: Ipv4Addr, server: SocketAddr, count: usize) -> Datagrams {
        let socket = UdpSocket::bind((client, 0)).unwrap();
        socket.connect(server).unwrap();
        socket.set_read_timeout(Some(SILENCE)).unwrap();
        let (sent, received) = (vec![0; count], vec![0; count]);
        Datagrams { socket, next_id: 0, asked: HashMap::new(), answers: vec![None; count], sent, received }
    }

    fn ask(mut self, queries: &[Vec<u8>]) -> Asked {
        for start in (0..queries.len()).step_by(WINDOW) {
            let window = start..queries.len().min(start + WINDOW);
            for _ in 0..ATTEMPTS {
                let open: Vec<usize> =
                    window.clone().filter(|index| self.answers[*index].is_none()).collect();
                self.exchange(queries, &open);
            }
        }
        let counts = self.sent.iter().zip(&self.received).filter(|(_, received)| **received > 0);
        let lost = counts.map(|(sent, received)| sent.saturating_sub(*received)).sum();
        Asked { answers: self.answers, lost }
    }

    /// Sends what has no answer yet, and takes answers until all are there or none comes any more.
    fn exchange(&mut self, queries: &[Vec<u8>], open: &[usize]) {
        for index in open {
            self.socket.send(&with_id(&queries[*index], self.next_id)).unwrap();
            self.asked.insert(self.next_id, *index);
            self.sent[*index] += 1;
            self.next_id = self.next_id.wrapping_add(1);
        }
        let mut buffer = vec![0; 65536];
        while open.iter().any(|index| self.answers[*index].is_none()) {
            match self.socket.recv(&mut buffer) {
                Ok(len) => self.take(&buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The process was stopped and goes on.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn take(&mut self, answer: &[u8]) {
        let id = answer.first_chunk().map(|id| u16::from_be_bytes(*id));
        if let Some(index) = id.and_then(|id| self.asked.remove(&id)) {
            self.answers[index] = Some(answer.to_vec());
            self.received[index] += 1;
        }
    }
}

/// The query under an ID of one's own.
pub(crate) fn with_id(query: &[u8], id: u16) -> Vec<u8> {
    let mut message = query.to_vec();
    message.iter_mut().zip(id.to_be_bytes()).for_each(|(octet, of_id)| *octet = of_id);
    message
}
