//! Asks a server many queries over UDP, a window at a time, and matches answers to queries by their ID.
//!
//! ```text
//!   -> q q q q q ... q  marker         <- a a a ... a  marker: what has no answer by now gets none, or it was lost
//!   -> q marker                        so each of those is asked again, alone
//! ```
//! All servers answer what comes from one socket in its order, so that nobody has to wait for a silence: however slow
//! a server is, its answer to the marker is behind the others.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::corpus::name_from_text;
use crate::queries::header;

/// Queries under way at once: few enough that no socket buffer overflows.
const WINDOW: usize = 32;

/// How long the marker's answer is waited for, before the marker is sent anew: it or its answer was lost.
const PATIENCE: Duration = Duration::from_secs(3);

/// Markers sent in vain after which a server counts as gone.
const MARKER_COUNT_MAX: usize = 20;

/// How often an unanswered query is asked: loss is told from silence by repetition.
const ATTEMPT_COUNT: usize = 3;

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
    server: SocketAddr,
    marker: Vec<u8>,
    next_id: u16,
    /// Queries by the ID they were last sent under, also long after, so that a late answer is not a lost one.
    asked: HashMap<u16, usize>,
    answers: Vec<Option<Vec<u8>>>,
    sent: Vec<usize>,
    received: Vec<usize>,
    lost_markers: usize,
}

impl Datagrams {
    fn new(client: Ipv4Addr, server: SocketAddr, count: usize) -> Datagrams {
        let socket = UdpSocket::bind((client, 0)).unwrap();
        socket.connect(server).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Datagrams {
            socket,
            server,
            marker: marker(),
            next_id: 0,
            asked: HashMap::new(),
            answers: vec![None; count],
            sent: vec![0; count],
            received: vec![0; count],
            lost_markers: 0,
        }
    }

    fn ask(mut self, queries: &[Vec<u8>]) -> Asked {
        for start in (0..queries.len()).step_by(WINDOW) {
            let window: Vec<usize> = (start..queries.len().min(start + WINDOW)).collect();
            self.exchange(queries, &window);
            for index in window {
                for _ in 1..ATTEMPT_COUNT {
                    if self.answers[index].is_none() {
                        self.exchange(queries, &[index]);
                    }
                }
            }
        }
        let counts = self.sent.iter().zip(&self.received).filter(|(_, received)| **received > 0);
        let lost = counts.map(|(sent, received)| sent.saturating_sub(*received)).sum::<usize>();
        Asked { answers: self.answers, lost: lost + self.lost_markers }
    }

    /// Sends these and a marker, and takes answers until that of the marker is there.
    fn exchange(&mut self, queries: &[Vec<u8>], window: &[usize]) {
        for index in window {
            let id = self.send(&queries[*index]);
            self.asked.insert(id, *index);
            self.sent[*index] += 1;
        }
        for _ in 0..MARKER_COUNT_MAX {
            let id = self.send(&self.marker.clone());
            if self.take_until(id) {
                return;
            }
            self.lost_markers += 1;
        }
        let open = window.iter().find(|index| self.answers[**index].is_none());
        let query = open.map(|index| &queries[*index]);
        panic!("{} answers nothing any more, perhaps since {query:02x?}", self.server);
    }

    fn send(&mut self, query: &[u8]) -> u16 {
        let id = self.next_id;
        // An answer to the query that had this ID before, 65,536 ago, would be another's.
        self.asked.remove(&id);
        self.next_id = self.next_id.wrapping_add(1);
        self.socket.send(&with_id(query, id)).unwrap();
        id
    }

    /// Takes answers up to that of the marker; false if it does not come.
    fn take_until(&mut self, marker_id: u16) -> bool {
        let mut buffer = vec![0; 65536];
        loop {
            match self.socket.recv(&mut buffer) {
                Ok(len) => {
                    if self.take(&buffer[..len]) == Some(marker_id) {
                        return true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                // The process was stopped and goes on.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{}: {error}", self.server),
            }
        }
    }

    /// Keeps an answer, if it is to one of the queries; its ID.
    fn take(&mut self, answer: &[u8]) -> Option<u16> {
        let id = u16::from_be_bytes(*answer.first_chunk()?);
        if let Some(index) = self.asked.remove(&id) {
            self.answers[index] = Some(answer.to_vec());
            self.received[index] += 1;
        }
        Some(id)
    }
}

/// A query that every server answers, whatever zones it has: what it calls itself (RFC 4892).
fn marker() -> Vec<u8> {
    [header(0, [1, 0, 0, 0]), name_from_text("id.server", &[0]), vec![0, 16, 0, 3]].concat()
}

/// The query under an ID of one's own.
pub(crate) fn with_id(query: &[u8], id: u16) -> Vec<u8> {
    let mut message = query.to_vec();
    message.iter_mut().zip(id.to_be_bytes()).for_each(|(octet, of_id)| *octet = of_id);
    message
}
