//! Streams that look like requests and have something wrong: pieces put together at random, a few bytes
//! of them changed.

use tidegate_base::Rng;

const PIECES: [&str; 32] = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a.css HTTP/1.1\r\nHost: a\r\n",
    "HEAD /d HTTP/1.1\r\n",
    "GET /d?q HTTP/1.0\r\n",
    "GET /%2e%2e/..//x HTTP/1.1\r\n",
    "GET /.secret HTTP/1.1\r\nHost: a\r\n",
    "GET http://a/page.html HTTP/1.1\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "POST / HTTP/1.1\r\n",
    "HEAD",
    "Host: a\r\n",
    "Host: [::1]:80\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Expect: 100-continue\r\n",
    "Range: bytes=1-2,4-,-5\r\n",
    "Range: bytes=0-\r\n",
    "If-Range: \"x\"\r\n",
    "If-None-Match: *\r\n",
    "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
    "Accept-Encoding: gzip;q=0.5, br\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "\r\n",
    "\r\n\r\n",
    "hello",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\nA: b\r\n\r\n",
    "\n",
    " ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// A stream of up to two dozen pieces.
pub(crate) fn stream(rng: &mut Rng) -> Vec<u8> {
    let count = 1 + rng.below(24);
    let mut stream: Vec<u8> =
        (0..count).flat_map(|_| PIECES[rng.below(PIECES.len() as u64) as usize].bytes()).collect();
    for _ in 0..rng.below(4) {
        let at = rng.below(stream.len() as u64) as usize;
        stream[at] = rng.next_u32() as u8;
    }
    stream
}
