//! The log line by line: the format, what a client may put into it, rotation.

use super::*;

fn record(head: &[u8]) -> Record {
    Record {
        peer: "192.0.2.7".parse().unwrap(),
        unix_secs: 784_111_777,
        code: 200,
        body_len: 42,
        head: beginning_of(head),
    }
}

fn line(head: &[u8]) -> String {
    let mut line = Vec::new();
    format_line(&record(head), &mut line);
    String::from_utf8(line).unwrap()
}

#[test]
fn combined_format() {
    assert_eq!(
        line(b"GET /a HTTP/1.1\r\nHost: a\r\nUSER-AGENT: curl/8\r\nReferer:  http://x/ \r\n\r\n"),
        "192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 200 42 \"http://x/\" \"curl/8\"\n"
    );
}

#[test]
fn what_is_missing_is_a_dash() {
    assert!(line(b"").ends_with("] \"\" 200 42 \"-\" \"-\"\n"));
    assert!(line(b"\r\nGET / HTTP/1.0\r\n\r\n").contains("\"GET / HTTP/1.0\""));
}

#[test]
fn no_client_writes_a_line_of_its_own() {
    let text = line(b"GET /\"x\" \x1b[31m\xff\n HTTP/1.1\r\nUser-Agent: a\\\" b\x07\r\n\r\n");
    assert_eq!(text.matches('\n').count(), 1);
    assert!(text.contains(r#""GET /\"x\" \x1b[31m\xff\x0a HTTP/1.1""#), "{text}");
    assert!(text.contains(r#""a\\\" b\x07""#), "{text}");
}
