//! VXLAN (RFC 7348): `vxlan_encap` puts UDP and VXLAN in front of Ethernet frames, `vxlan_decap` takes them away with the
//! Ethernet and IPv4 headers before them.
//!
//! ```text
//!   |0|0|0|0|1|0|0|0|      reserved       |     I: there is a network identifier
//!   |   network identifier     | reserved |
//! ```
//! | | vxlan_encap | vxlan_decap |
//! |---|---|---|
//! | gates | in: 0; out: 0 | in: 0; out: 0 |
//! | parameters | destination port (4789) | none |
//! | attributes | reads `tun_ip_src`, `tun_ip_dst`, `tun_id` (its low 24 bits); writes `ip_src`, `ip_dst`, `ip_proto` | writes `tun_ip_src`, `tun_ip_dst`, `tun_id`, `ether_type` (0x6558) |
//! | rate | 10.0 ns a frame of 60 bytes on one core (`make bench-pipeline`) | 8.4 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |
//! | dropped | frames without headroom (`too_long`) | what is not VXLAN, or cut off (`unknown_protocol`) |

use super::over_udp::{HEADER_LEN, Header, UdpDecap, UdpEncap};
use super::tunnel::Inner;
use crate::layers::ETHER_TYPE_BRIDGED;

/// The port that is VXLAN's.
pub const VXLAN_PORT: u64 = 4789;

/// The flag I, as the first byte.
const HAS_ID: u8 = 0x08;

/// VXLAN's header.
pub struct Vxlan;

/// The way in.
pub type VxlanEncap = UdpEncap<Vxlan>;

/// The way out.
pub type VxlanDecap = UdpDecap<Vxlan>;

impl Header for Vxlan {
    const ENCAP: &'static str = "vxlan_encap";
    const DECAP: &'static str = "vxlan_decap";
    const WORD: [u8; 4] = [HAS_ID, 0, 0, 0];

    #[inline]
    fn read(outer: &[u8], at: usize) -> Option<Inner> {
        let [flags, _, _, _, a, b, c, _] = *outer.get(at..)?.first_chunk::<HEADER_LEN>()?;
        let inner = Inner {
            id: u32::from_be_bytes([0, a, b, c]),
            ether_type: ETHER_TYPE_BRIDGED,
            start: at + HEADER_LEN,
        };
        (flags & HAS_ID != 0).then_some(inner)
    }
}
