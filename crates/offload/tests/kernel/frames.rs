//! Frames of UDP, right or wrong as a test wants them.

use tidegate_base::Sum;

/// The NIC's address and the other station's.
pub(crate) const NIC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

const IPV4: ([u8; 4], [u8; 4]) = ([198, 51, 100, 7], [192, 0, 2, 1]);
const IPV6: ([u8; 16], [u8; 16]) = (ipv6(7, 1), ipv6(0, 1));
const IPV4_HEADER_LEN: usize = 20;

const fn ipv6(network: u8, host: u8) -> [u8; 16] {
    [0x20, 0x01, 0x0d, 0xb8, 0, network, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]
}

/// What a datagram's checksum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Good,
    None,
    Bad,
}

/// A datagram to be.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) is_ipv6: bool,
    pub(crate) tag_count: usize,
    pub(crate) port: u16,
    pub(crate) payload: Vec<u8>,
    pub(crate) checksum: Checksum,
    /// Bytes behind the packet.
    pub(crate) padding: usize,
    /// What the UDP length says too much or too little.
    pub(crate) udp_len_off: i16,
}

impl Datagram {
    /// To the service, and nothing wrong with it.
    pub(crate) fn of(payload: &[u8]) -> Self {
        Self {
            is_ipv6: false,
            tag_count: 0,
            port: 53,
            payload: payload.to_vec(),
            checksum: Checksum::Good,
            padding: 0,
            udp_len_off: 0,
        }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut frame: Vec<u8> = NIC.into_iter().chain(PEER).collect();
        for tag in 0..self.tag_count {
            frame.extend([0x81, 0x00, 0, 10 + tag as u8]);
        }
        match self.is_ipv6 {
            false => frame.extend([0x08, 0x00].into_iter().chain(self.ipv4())),
            true => frame.extend([0x86, 0xdd].into_iter().chain(self.ipv6())),
        }
        frame.resize(frame.len() + self.padding, 0xee);
        frame
    }

    fn ipv4(&self) -> Vec<u8> {
        let (source, destination) = IPV4;
        let udp = self.udp(Sum::of(&source) + Sum::of(&destination));
        let total_len = (IPV4_HEADER_LEN + udp.len()) as u16;
        let mut header = vec![0x45, 0, 0, 0, 0x12, 0x34, 0, 0, 61, 17, 0, 0];
        header[2..4].copy_from_slice(&total_len.to_be_bytes());
        header.extend(source.into_iter().chain(destination));
        let check = Sum::of(&header).finish();
        header[10..12].copy_from_slice(&check.to_be_bytes());
        header.extend(udp);
        header
    }

    fn ipv6(&self) -> Vec<u8> {
        let (source, destination) = IPV6;
        let udp = self.udp(Sum::of(&source) + Sum::of(&destination));
        let mut header = vec![0x60, 0, 0, 0, 0, 0, 17, 63];
        header[4..6].copy_from_slice(&(udp.len() as u16).to_be_bytes());
        header.extend(source.into_iter().chain(destination));
        header.extend(udp);
        header
    }

    fn udp(&self, addresses: Sum) -> Vec<u8> {
        let len = (8 + self.payload.len()) as u16;
        let stated = len.wrapping_add_signed(self.udp_len_off);
        let mut udp: Vec<u8> =
            [40_000, self.port, stated, 0].into_iter().flat_map(u16::to_be_bytes).collect();
        udp.extend(&self.payload);
        let sum = addresses + Sum::of_u16(17) + Sum::of_u16(stated) + Sum::of(&udp);
        let check = match self.checksum {
            Checksum::Good => sum.finish_udp(),
            Checksum::None => 0,
            // As good as none, and yet wrong.
            Checksum::Bad => sum.finish_udp().wrapping_add(1).max(1),
        };
        udp[6..8].copy_from_slice(&check.to_be_bytes());
        udp
    }
}
