//! What the kernel and this process tell each other of a frame that is not finished: `struct virtio_net_hdr`
//! (linux/virtio_net.h), in front of frames of packet sockets and of TAP devices.
//!
//! ```text
//!   | flags | kind | header len | segment len | checksum start | checksum offset |      in the machine's byte order
//!   0       1      2            4             6                8                 10
//! ```

/// Bytes of `struct virtio_net_hdr`.
pub(crate) const VNET_LEN: usize = 10;
/// The header of a frame that is finished.
pub(crate) const FINISHED: [u8; VNET_LEN] = [0; VNET_LEN];

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// Segments whose sender speaks ECN.
const GSO_ECN: u8 = 0x80;
/// Where a TCP header has its checksum (RFC 9293 section 3.1).
const TCP_CHECKSUM_OFFSET: u16 = 16;

/// How one frame is cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    /// Which IP the segments travel in.
    pub is_ipv4: bool,
    /// Bytes from the frame's start to the TCP header, whose checksum field holds the pseudo header's sum.
    pub transport_start: u16,
    /// Bytes from the frame's start to the payload.
    pub header_len: u16,
    /// Payload bytes a segment; the last may have fewer.
    pub segment_len: u16,
    /// Payload bytes altogether.
    pub payload_len: usize,
}

impl SegmentPlan {
    pub(crate) fn emit(self) -> [u8; VNET_LEN] {
        let is_one = self.payload_len <= usize::from(self.segment_len);
        let (kind, segment_len) = match (is_one, self.is_ipv4) {
            (true, _) => (GSO_NONE, 0),
            (false, true) => (GSO_TCPV4, self.segment_len),
            (false, false) => (GSO_TCPV6, self.segment_len),
        };
        let mut bytes = [0; VNET_LEN];
        bytes[0] = NEEDS_CHECKSUM;
        bytes[1] = kind;
        let fields = [self.header_len, segment_len, self.transport_start, TCP_CHECKSUM_OFFSET];
        for (slot, field) in bytes[2..].chunks_exact_mut(2).zip(fields) {
            slot.copy_from_slice(&field.to_ne_bytes());
        }
        bytes
    }
}

/// What is left to do for a frame that the kernel gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Nothing.
    Nothing,
    /// A checksum: of everything from `start` on, to be written `offset` bytes behind that, where the pseudo header's sum
    /// stands.
    Checksum {
        /// Bytes from the frame's start.
        start: u16,
        /// Bytes from there.
        offset: u16,
    },
    /// It is to be cut into TCP segments, and each to have its checksum.
    Segments {
        /// Which IP the segments travel in.
        is_ipv4: bool,
        /// Bytes from the frame's start to the TCP header.
        transport_start: u16,
        /// Payload bytes a segment; the last may have fewer.
        segment_len: u16,
    },
}

impl Unfinished {
    /// `None` for what was not agreed on.
    pub(crate) fn parse(bytes: &[u8; VNET_LEN]) -> Option<Self> {
        let [flags, kind, _, _, s, t, a, b, c, d] = *bytes;
        let (start, offset) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]));
        match kind & !GSO_ECN {
            GSO_NONE if flags & NEEDS_CHECKSUM != 0 => Some(Self::Checksum { start, offset }),
            GSO_NONE => Some(Self::Nothing),
            kind @ (GSO_TCPV4 | GSO_TCPV6) if flags & NEEDS_CHECKSUM != 0 => Some(Self::Segments {
                is_ipv4: kind == GSO_TCPV4,
                transport_start: start,
                segment_len: u16::from_ne_bytes([s, t]),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: SegmentPlan = SegmentPlan {
        is_ipv4: true,
        header_len: 66,
        transport_start: 34,
        segment_len: 1448,
        payload_len: 5000,
    };

    #[test]
    fn the_plan_is_a_virtio_net_header() {
        let bytes = PLAN.emit();
        assert_eq!(bytes[..2], [1, 1]);
        let field = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!([field(2), field(4), field(6), field(8)], [66, 1448, 34, 16]);
    }

    #[test]
    fn one_segment_is_not_cut() {
        let bytes = SegmentPlan { payload_len: 1448, ..PLAN }.emit();
        assert_eq!(bytes[..2], [1, 0]);
        assert_eq!(bytes[4..6], [0, 0]);
        assert_eq!(Unfinished::parse(&bytes), Some(Unfinished::Checksum { start: 34, offset: 16 }));
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        for is_ipv4 in [true, false] {
            let mut bytes = SegmentPlan { is_ipv4, ..PLAN }.emit();
            bytes[1] |= GSO_ECN;
            let read = Unfinished::Segments { is_ipv4, transport_start: 34, segment_len: 1448 };
            assert_eq!(Unfinished::parse(&bytes), Some(read));
        }
        assert_eq!(Unfinished::parse(&FINISHED), Some(Unfinished::Nothing));
        assert_eq!(Unfinished::parse(&[0, 5, 0, 0, 0, 0, 0, 0, 0, 0]), None, "datagrams");
        assert_eq!(
            Unfinished::parse(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            None,
            "segments without checksums to make"
        );
    }
}
