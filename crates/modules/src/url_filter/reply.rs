//! Segments in a connection's name: back to its client, or on to its server.

use crate::layers::Packet;
use crate::segment::{Segment, field};
use tidegate_packet::{Frame, Pool};

const TCP_LEN: usize = 20;
/// A header of five words.
const TCP_DATA_OFFSET: u8 = 5 << 4;

/// A segment to be made.
pub(super) struct Reply<'a> {
    /// To where the model came from, or on to where it goes.
    pub(super) is_back: bool,
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) text: &'a [u8],
}

impl Reply<'_> {
    /// The segment, with the addresses of `model`, a frame with `packet` in it. `None` if there is no frame for it.
    pub(super) fn make(&self, model: &[u8], packet: &Packet, pool: &mut Pool) -> Option<Frame> {
        let tcp = packet.payload.start;
        let header = model.get(..tcp + TCP_LEN)?;
        let mut frame = pool.alloc()?;
        if !frame.extend(header) || !frame.extend(self.text) {
            pool.free(frame);
            return None;
        }
        let data = frame.data_mut();
        if self.is_back {
            swap_halves(&mut data[..12]);
            swap_halves(&mut data[packet.addresses.clone()]);
            swap_halves(&mut data[tcp..tcp + 4]);
        }
        data[tcp + field::TCP_SEQ..][..4].copy_from_slice(&self.seq.to_be_bytes());
        data[tcp + 8..][..4].copy_from_slice(&self.ack.to_be_bytes());
        data[tcp + 12] = TCP_DATA_OFFSET;
        data[tcp + field::TCP_FLAGS] = self.flags;
        // No urgent text.
        data[tcp + 18..][..2].fill(0);
        let segment = Segment { outer: None, ip: packet.clone(), payload_start: tcp + TCP_LEN };
        segment.set_len(data, self.text.len(), 0);
        segment.seal(data);
        Some(frame)
    }
}

fn swap_halves(bytes: &mut [u8]) {
    let (first, second) = bytes.split_at_mut(bytes.len() / 2);
    first.swap_with_slice(second);
}
