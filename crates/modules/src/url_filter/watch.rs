//! The requests in what a client sends, read as they come.

/// The longest head that is read.
const HEAD_LEN_MAX: usize = 8192;
const FIELD_COUNT_MAX: usize = 100;

/// A request, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Without its port.
    pub(super) host: &'a str,
    pub(super) path: &'a str,
}

/// Where in its text a connection is.
#[derive(Debug)]
pub(super) enum Watch {
    /// In a head, of which this has come.
    Head(Vec<u8>),
    /// In a body, of which so many bytes are to come.
    Body(u64),
    /// Beyond what is read.
    Over,
}

impl Default for Watch {
    fn default() -> Self {
        Self::Head(Vec::new())
    }
}

/// What a head says of what follows it.
struct Head {
    len: usize,
    /// `None` if it cannot be known.
    body_len: Option<u64>,
    is_refused: bool,
}

impl Watch {
    /// Whether what comes next is read.
    pub(super) const fn is_reading(&self) -> bool {
        !matches!(self, Self::Over)
    }

    /// Reads on; whether a request was refused by `is_refused`, which is asked of each.
    pub(super) fn feed(&mut self, mut text: &[u8], mut is_refused: impl FnMut(Request<'_>) -> bool) -> bool {
        loop {
            match self {
                Self::Over => return false,
                Self::Body(left) => {
                    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(text.len());
                    *left -= count as u64;
                    text = &text[count..];
                    if *left > 0 {
                        return false;
                    }
                    *self = Self::default();
                }
                Self::Head(read) => {
                    if text.is_empty() {
                        return false;
                    }
                    let before = read.len();
                    read.extend_from_slice(&text[..text.len().min(HEAD_LEN_MAX - before)]);
                    match parse(read, &mut is_refused) {
                        Some(Some(head)) if head.is_refused => return true,
                        Some(Some(Head { len, body_len, .. })) => {
                            text = &text[len - before..];
                            *self = body_len.map_or(Self::Over, Self::Body);
                        }
                        Some(None) if read.len() < HEAD_LEN_MAX => return false,
                        _ => *self = Self::Over,
                    }
                }
            }
        }
    }
}

/// The head at the front; `Some(None)` if it is not whole yet, `None` if it is none.
fn parse(text: &[u8], is_refused: &mut impl FnMut(Request<'_>) -> bool) -> Option<Option<Head>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_COUNT_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(len) = request.parse(text).ok()? else { return Some(None) };
    let method = request.method?;
    let value = |name: &str| {
        let field = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        // A value that is no text is none that is known.
        Some(std::str::from_utf8(field.value).unwrap_or_default())
    };
    let target = request.path?;
    let (authority, path) = match target.strip_prefix("http://") {
        // Of a target with an authority the field is ignored (RFC 9112 section 3.2.2).
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => (value("host").unwrap_or_default(), target),
    };
    let path = if path.is_empty() { "/" } else { path };
    let is_refused = is_refused(Request { host: without_port(authority), path });
    let is_odd =
        method == "CONNECT" || ["transfer-encoding", "upgrade"].iter().any(|name| value(name).is_some());
    let body_len = match value("content-length") {
        _ if is_odd => None,
        None => Some(0),
        Some(len) => len.trim().parse::<u64>().ok(),
    };
    Some(Some(Head { len, body_len, is_refused }))
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE_BY_BYTE: usize = 1;

    /// The requests that are read of a text that comes in pieces of this size, and what is then.
    fn read(text: &str, piece_len: usize) -> (Vec<(String, String)>, Watch) {
        let mut seen = Vec::new();
        let mut watch = Watch::default();
        for piece in text.as_bytes().chunks(piece_len) {
            watch.feed(piece, |request| {
                seen.push((request.host.to_owned(), request.path.to_owned()));
                false
            });
        }
        (seen, watch)
    }

    #[test]
    fn pipelined_requests_are_read_whatever_the_pieces() {
        let text = "GET /a?b HTTP/1.1\r\nHost: One.example:8080\r\n\r\n\
                    POST /c HTTP/1.1\r\nContent-Length: 10\r\nhost: two\r\n\r\nGET / HTTP\
                    GET http://three/d HTTP/1.1\r\nHost: other\r\n\r\nGET http://four HTTP/1.1\r\n\r\n";
        let expected = [("One.example", "/a?b"), ("two", "/c"), ("three", "/d"), ("four", "/")]
            .map(|(host, path)| (host.to_owned(), path.to_owned()));
        for piece_len in [BYTE_BY_BYTE, 7, 64, text.len()] {
            let (seen, watch) = read(text, piece_len);
            assert_eq!(seen, expected);
            assert!(watch.is_reading());
        }
    }

    #[test]
    fn what_cannot_be_followed_is_not_read_on() {
        for text in [
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
            "\x16\x03\x01 not HTTP",
            "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            &format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(9000)),
        ] {
            assert!(!read(text, BYTE_BY_BYTE).1.is_reading(), "{text:.40}");
        }
    }

    #[test]
    fn a_refused_request_ends_the_reading() {
        let mut watch = Watch::default();
        let text = b"GET /ok HTTP/1.1\r\nHost: h\r\n\r\nGET /no HTTP/1.1\r\nHost: h\r\n\r\n";
        assert!(!watch.feed(&text[..40], |request| request.path == "/no"));
        assert!(watch.feed(&text[40..], |request| request.path == "/no"));
    }
}
