//! Hashes of the addresses of a frame, so that the frames of one flow go one way.
//!
//! The same seed gives the same hashes on every machine of one byte order. Against a peer who knows the seed and picks addresses there is
//! no protection: draw it at random where that matters.

use crate::layers::Packet;
use std::hash::{BuildHasher, Hasher};
use std::str::FromStr;
use tidegate_base::FlowHasher;

use crate::parameter::ParameterError;

/// Which addresses make a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Layer {
    /// The Ethernet addresses.
    L2,
    /// The IP addresses; the Ethernet addresses where there are none.
    L3,
    /// The IP addresses, protocol and ports; as `L3` where there are no ports.
    #[default]
    L4,
}

impl FromStr for Layer {
    type Err = ParameterError;

    /// Reads `l2`, `l3` or `l4`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        match text {
            "l2" => Ok(Self::L2),
            "l3" => Ok(Self::L3),
            "l4" => Ok(Self::L4),
            _ => Err(ParameterError::Unknown { what: "layer", given: text.to_owned(), known: "l2, l3, l4" }),
        }
    }
}

/// The hash of the flow that a frame belongs to. What is too short for an address counts whole.
#[inline]
pub(crate) fn flow_hash(hasher: FlowHasher, layer: Layer, data: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    let packet = if layer == Layer::L2 { None } else { Packet::find(data) };
    match packet {
        None => state.write(data.get(..12).unwrap_or(data)),
        Some(packet) => {
            let addresses = &data[packet.addresses.clone()];
            match addresses.try_into() {
                Ok(pair) => state.write_u64(u64::from_ne_bytes(pair)),
                Err(_) => state.write(addresses),
            }
            if layer == Layer::L4 {
                let ports = packet.ports(data).and_then(|ports| data[ports].first_chunk());
                let ports = u32::from_be_bytes(*ports.unwrap_or(&[0; 4]));
                state.write_u64(u64::from(ports) << 8 | u64::from(packet.protocol));
            }
        }
    }
    state.finish()
}

/// `hash` as one of `count` numbers, evenly.
#[inline]
pub(crate) const fn share_of(hash: u64, count: usize) -> usize {
    ((hash as u128 * count as u128) >> 64) as usize
}
