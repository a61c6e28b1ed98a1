//! A small HTTP client over the kernel's TCP, for what command line clients do not show.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A keep-alive connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

/// An answer, whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.as_str())
    }
}

impl Connection {
    /// Connects from the calling thread's namespace.
    pub(crate) fn open(address: &str) -> Self {
        let address: SocketAddr = address.parse().expect("an address and a port");
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket option");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("sent");
    }

    /// GETs `path` with further `fields`, each ended by CR LF.
    pub(crate) fn get(&mut self, path: &str, fields: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: tide\r\n{fields}\r\n").as_bytes());
        self.answer()
    }

    /// Reads one answer with a Content-Length.
    pub(crate) fn answer(&mut self) -> Answer {
        let status = self.line();
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.expect("a status line");
        let fields: Vec<(String, String)> = std::iter::from_fn(|| field(&self.line())).collect();
        let mut answer = Answer { status, fields, body: Vec::new() };
        let len = answer.field("content-length").map_or(0, |len| len.parse().expect("a number"));
        answer.body.resize(len, 0);
        self.stream.read_exact(&mut answer.body).expect("the whole body");
        answer
    }

    /// Whether the other end has closed; waits for what comes.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).is_ok() && rest.is_empty()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }
}

fn field(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    Some((name.to_owned(), value.trim().to_owned()))
}
