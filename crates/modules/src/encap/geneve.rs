//! GENEVE (RFC 8926): `geneve_encap` puts UDP and GENEVE without options in front of Ethernet frames, `geneve_decap` takes
//! them away with the Ethernet and IPv4 headers before them, and options that may be ignored.
//!
//! ```text
//!   |Ver| option words |O|C|  reserved  |     protocol type     |     O: control packet, C: critical options
//!   |       virtual network identifier       |    reserved      |
//!   |                 options, if there are any                 |
//! ```
//! | | geneve_encap | geneve_decap |
//! |---|---|---|
//! | gates | in: 0; out: 0 | in: 0; out: 0 |
//! | parameters | destination port (6081) | none |
//! | attributes | reads `tun_ip_src`, `tun_ip_dst`, `tun_id` (its low 24 bits); writes `ip_src`, `ip_dst`, `ip_proto` | writes `tun_ip_src`, `tun_ip_dst`, `tun_id`, `ether_type` (the protocol type) |
//! | dropped | frames without headroom (`too_long`) | what is not GENEVE version 0, cut off, a control packet, or has critical options (`unknown_protocol`) |
//! | rate | 10.1 ns a frame of 60 bytes on one core (`make bench-pipeline`) | 8.3 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |

use super::over_udp::{HEADER_LEN, Header, UdpDecap, UdpEncap};
use super::tunnel::Inner;
use crate::layers::ETHER_TYPE_BRIDGED;

/// The port that is GENEVE's.
pub const GENEVE_PORT: u64 = 6081;

/// In the second byte: a control packet, and options that must not be ignored (section 3.4).
const CONTROL_OR_CRITICAL: u8 = 0xc0;

/// GENEVE's header, without options of ours.
pub struct Geneve;

/// The way in.
pub type GeneveEncap = UdpEncap<Geneve>;

/// The way out.
pub type GeneveDecap = UdpDecap<Geneve>;

impl Header for Geneve {
    const ENCAP: &'static str = "geneve_encap";
    const DECAP: &'static str = "geneve_decap";
    const WORD: [u8; 4] = [0, 0, ETHER_TYPE_BRIDGED.to_be_bytes()[0], ETHER_TYPE_BRIDGED.to_be_bytes()[1]];

    #[inline]
    fn read(outer: &[u8], at: usize) -> Option<Inner> {
        let [version_options, flags, high, low, a, b, c, _] =
            *outer.get(at..)?.first_chunk::<HEADER_LEN>()?;
        let start = at + HEADER_LEN + usize::from(version_options & 0x3f) * 4;
        let is_ours = version_options >> 6 == 0 && flags & CONTROL_OR_CRITICAL == 0 && start <= outer.len();
        let inner = Inner {
            id: u32::from_be_bytes([0, a, b, c]),
            ether_type: u16::from_be_bytes([high, low]),
            start,
        };
        is_ours.then_some(inner)
    }
}
