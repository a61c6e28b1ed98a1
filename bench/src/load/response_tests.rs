//! Answers in one piece, in every pair of pieces, and what is not one.
use super::{NotAnAnswer, ResponseReader};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 5\r\n\r\nhello";

#[test]
fn whole_answers_one_after_the_other() {
    let mut reader = ResponseReader::default();
    for _ in 0..3 {
        assert_eq!(reader.read(ANSWER), Ok(true));
    }
}

#[test]
fn an_answer_in_any_two_pieces() {
    for cut in 1..ANSWER.len() {
        let mut reader = ResponseReader::default();
        assert_eq!(reader.read(&ANSWER[..cut]), Ok(false), "{cut}");
        assert_eq!(reader.read(&ANSWER[cut..]), Ok(true), "{cut}");
    }
}

#[test]
fn what_is_not_an_answer() {
    let wrong = |bytes: &[u8]| ResponseReader::default().read(bytes);
    assert_eq!(wrong(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), Err(NotAnAnswer));
    assert_eq!(wrong(b"HTTP/1.1 200 OK\r\n\r\n"), Err(NotAnAnswer));
    assert_eq!(wrong(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"), Err(NotAnAnswer));
    assert_eq!(wrong(b"hello"), Err(NotAnAnswer));
}
