//! Bytes that were written: gathered until the next round, then handed to the connection as shared pieces, which it keeps
//! until they are acknowledged.
//!
//! ```text
//!   write  --copied-->  tail  --full, or at the next round-->  pieces  --offer-->  the connection's queue
//!   write_bytes  --------------as they are--------------------^                      acknowledged: gone
//! ```

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Bytes gathered in one piece: many segments, and few enough that room is given back while a long answer is under way.
const PIECE_LEN_MAX: usize = 64 << 10;

/// Written and not handed over, and how much lies with the connection.
#[derive(Default)]
pub(crate) struct SendBuffer {
    pieces: VecDeque<Bytes>,
    tail: BytesMut,
    pieces_len: usize,
    /// With the connection, from the first piece on that is not wholly acknowledged.
    pub(crate) offered_len: u64,
}

impl SendBuffer {
    /// Bytes that are not acknowledged, by whole pieces.
    pub(crate) fn len(&self) -> u64 {
        self.waiting_len() as u64 + self.offered_len
    }

    /// Bytes that the connection does not have yet.
    pub(crate) fn waiting_len(&self) -> usize {
        self.pieces_len + self.tail.len()
    }

    pub(crate) fn write(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(PIECE_LEN_MAX - self.tail.len()));
            self.tail.extend_from_slice(now);
            data = later;
            if self.tail.len() == PIECE_LEN_MAX {
                self.end_piece();
            }
        }
    }

    pub(crate) fn write_bytes(&mut self, data: Bytes) {
        self.end_piece();
        self.pieces_len += data.len();
        self.pieces.push_back(data);
    }

    /// Everything that waits, piece by piece.
    pub(crate) fn take_pieces(&mut self) -> impl Iterator<Item = Bytes> + '_ {
        self.end_piece();
        self.pieces_len = 0;
        self.pieces.drain(..)
    }

    fn end_piece(&mut self) {
        if !self.tail.is_empty() {
            self.pieces_len += self.tail.len();
            self.pieces.push_back(std::mem::take(&mut self.tail).freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_writes_of_a_round_share_a_piece_and_large_ones_are_cut() {
        let mut buffer = SendBuffer::default();
        buffer.write(b"head ");
        buffer.write(b"body");
        assert_eq!(buffer.take_pieces().collect::<Vec<_>>(), [Bytes::from_static(b"head body")]);
        buffer.write(&vec![7; PIECE_LEN_MAX + 1]);
        buffer.write_bytes(Bytes::from_static(b"as it is"));
        assert_eq!(buffer.len(), (PIECE_LEN_MAX + 9) as u64);
        let lens: Vec<usize> = buffer.take_pieces().map(|piece| piece.len()).collect();
        assert_eq!(lens, [PIECE_LEN_MAX, 1, 8]);
        assert_eq!(buffer.waiting_len(), 0);
    }
}
