//! Asks a server many queries over TCP, by several connections at once.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::ask::{Asked, with_id};

/// Connections that share the queries.
const CONNECTION_COUNT: usize = 4;

/// Queries under way at once on each: a peer that sends answer by answer waits for an acknowledgement that is delayed,
/// once a window.
const WINDOW: usize = 100;

/// How long a connection waits for an answer that may come; then it is opened anew.
const PATIENCE: Duration = Duration::from_secs(5);

/// Over connections that each carry many.
pub(crate) fn pipelined(_: Ipv4Addr, server: SocketAddr, queries: &[Vec<u8>]) -> Asked {
    Asked { answers: in_parts(server, queries, WINDOW), lost: 0 }
}

/// Each over a connection of its own, for those after which a server may end it.
pub(crate) fn one_by_one(_: Ipv4Addr, server: SocketAddr, queries: &[Vec<u8>]) -> Asked {
    Asked { answers: in_parts(server, queries, 1), lost: 0 }
}

/// Each connection has a part of the queries, of which `window` are under way at once.
fn in_parts(server: SocketAddr, queries: &[Vec<u8>], window: usize) -> Vec<Option<Vec<u8>>> {
    let part = queries.len().div_ceil(CONNECTION_COUNT).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = queries
            .chunks(part)
            .map(|part| scope.spawn(move || Stream { server, window, open: None }.ask(part)))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// A connection, opened anew whenever the server has ended it.
struct Stream {
    server: SocketAddr,
    window: usize,
    open: Option<TcpStream>,
}

impl Stream {
    /// A window at a time; what a window has no answer to is asked once more, each query by a connection of its own.
    fn ask(&mut self, queries: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        let mut answers = vec![None; queries.len()];
        for (window, answers) in queries.chunks(self.window).zip(answers.chunks_mut(self.window)) {
            self.open = self.open.take().filter(|_| self.window > 1);
            self.exchange(window, answers);
            for (query, answer) in window.iter().zip(answers).filter(|(_, answer)| answer.is_none()) {
                self.open = None;
                self.exchange(std::slice::from_ref(query), std::slice::from_mut(answer));
            }
        }
        answers
    }

    fn exchange(&mut self, queries: &[Vec<u8>], answers: &mut [Option<Vec<u8>>]) {
        if self.try_exchange(queries, answers).is_err() {
            self.open = None;
        }
    }

    /// All queries in one piece, then their answers in whatever order they come (RFC 7766 6.2.1.1 and 7).
    fn try_exchange(&mut self, queries: &[Vec<u8>], answers: &mut [Option<Vec<u8>>]) -> io::Result<()> {
        let stream = self.stream()?;
        let framed = |(id, query): (usize, &Vec<u8>)| {
            let len = (query.len() as u16).to_be_bytes();
            [&len[..], &with_id(query, id as u16)].concat()
        };
        stream.write_all(&queries.iter().enumerate().flat_map(framed).collect::<Vec<u8>>())?;
        for _ in queries {
            let answer = message(stream)?;
            let id = answer.first_chunk().map(|id| usize::from(u16::from_be_bytes(*id)));
            if let Some(place) = id.and_then(|id| answers.get_mut(id)) {
                *place = Some(answer);
            }
        }
        Ok(())
    }

    fn stream(&mut self) -> io::Result<&mut TcpStream> {
        let stream = match self.open.take() {
            Some(stream) => stream,
            None => TcpStream::connect(self.server)?,
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(self.open.insert(stream))
    }
}

/// RFC 1035 4.2.2: the length, then so many octets.
fn message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut len = [0; 2];
    stream.read_exact(&mut len)?;
    let mut message = vec![0; u16::from_be_bytes(len).into()];
    stream.read_exact(&mut message)?;
    Ok(message)
}
