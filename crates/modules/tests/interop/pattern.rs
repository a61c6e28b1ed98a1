//! The protocol of these tests: eight bytes that say who sends how much, then bytes of a known pattern.

use std::io::{self, Read, Write};

/// Who sends the pattern after the request.
const UPLOAD_BIT: u64 = 1 << 63;

/// A request: so many bytes to the client, or from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transfer {
    Download(u64),
    Upload(u64),
}

impl Transfer {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        match self {
            Self::Download(len) => len,
            Self::Upload(len) => len | UPLOAD_BIT,
        }
        .to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Self {
        match u64::from_be_bytes(bytes) {
            word if word & UPLOAD_BIT != 0 => Self::Upload(word & !UPLOAD_BIT),
            word => Self::Download(word),
        }
    }
}

/// The pattern's byte at `offset`.
pub(crate) fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

/// Panics unless `data` is the pattern from `offset` on.
pub(crate) fn check(data: &[u8], offset: u64) {
    let wrong = data.iter().zip(offset..).find(|(byte, at)| **byte != byte_at(*at));
    assert!(wrong.is_none(), "wrong byte, and where: {wrong:?}");
}

/// Asks the server at the other end of `stream` for one transfer and takes part in it.
pub(crate) fn ask(stream: &mut (impl Read + Write), transfer: Transfer) -> io::Result<()> {
    stream.write_all(&transfer.to_bytes())?;
    match transfer {
        Transfer::Download(len) => receive(stream, len),
        Transfer::Upload(len) => {
            send(stream, len)?;
            stream.read_exact(&mut [0])
        }
    }
}

/// Serves transfers until the client closes.
pub(crate) fn serve(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut request = [0; 8];
    loop {
        match stream.read_exact(&mut request) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        match Transfer::from_bytes(request) {
            Transfer::Download(len) => send(stream, len)?,
            Transfer::Upload(len) => {
                receive(stream, len)?;
                stream.write_all(b"k")?;
            }
        }
    }
}

fn send(stream: &mut impl Write, len: u64) -> io::Result<()> {
    let mut offset = 0;
    while offset < len {
        let end = len.min(offset + (1 << 16));
        let piece: Vec<u8> = (offset..end).map(byte_at).collect();
        stream.write_all(&piece)?;
        offset = end;
    }
    Ok(())
}

fn receive(stream: &mut impl Read, len: u64) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    while offset < len {
        let wanted = buffer.len().min((len - offset) as usize);
        let count = stream.read(&mut buffer[..wanted])?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{offset} of {len} bytes")));
        }
        check(&buffer[..count], offset);
        offset += count as u64;
    }
    Ok(())
}
