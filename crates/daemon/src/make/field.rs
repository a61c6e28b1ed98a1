//! Fields and values of the protocol in the modules' terms.

use std::net::Ipv4Addr;
use tidegate_control::Fault;
use tidegate_control::proto::bess::{self, field_data::Encoding};
use tidegate_modules::{Field, Position};
use tidegate_wire::MacAddr;

/// A number that may not be negative.
pub(super) fn unsigned(what: &str, value: i64) -> Result<u64, Fault> {
    u64::try_from(value).map_err(|_| Fault::invalid(format!("{what} is {value}: give 0 or more")))
}

/// Gates of a list.
pub(super) fn gates(gates: &[i64]) -> Result<Vec<u64>, Fault> {
    gates.iter().map(|gate| unsigned("a gate", *gate)).collect()
}

/// Where a field is.
pub(super) fn field(field: &bess::Field) -> Field {
    let position = match &field.position {
        Some(bess::field::Position::AttrName(name)) => Position::Attribute(name.clone()),
        Some(bess::field::Position::Offset(offset)) => Position::Offset((*offset).into()),
        None => Position::Offset(0),
    };
    Field { position, size: field.num_bytes.into() }
}

/// A value of up to eight bytes, big-endian.
pub(super) fn number(data: &bess::FieldData) -> Result<u64, Fault> {
    match &data.encoding {
        None => Ok(0),
        Some(Encoding::ValueInt(value)) => Ok(*value),
        Some(Encoding::ValueBin(bytes)) if bytes.len() <= 8 => {
            Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
        }
        Some(Encoding::ValueBin(bytes)) => {
            Err(Fault::invalid(format!("a value has {} bytes: give 8 at most", bytes.len())))
        }
    }
}

/// Values of up to eight bytes each.
pub(super) fn numbers(data: &[bess::FieldData]) -> Result<Vec<u64>, Fault> {
    data.iter().map(number).collect()
}

/// An IPv4 address.
pub(super) fn address(text: &str) -> Result<Ipv4Addr, Fault> {
    text.parse().map_err(|_| Fault::invalid(format!("`{}` is no IPv4 address", text.escape_debug())))
}

/// A network as `10.0.0.0/8`; nothing is any, an address alone is itself.
pub(super) fn prefix(text: &str) -> Result<(Ipv4Addr, u8), Fault> {
    if text.is_empty() {
        return Ok((Ipv4Addr::UNSPECIFIED, 0));
    }
    let wrong = || Fault::invalid(format!("`{}` is no IPv4 network like 10.0.0.0/8", text.escape_debug()));
    let (network, len) = text.split_once('/').unwrap_or((text, "32"));
    let len = len.parse().ok().filter(|len| *len <= 32).ok_or_else(wrong)?;
    Ok((network.parse().map_err(|_| wrong())?, len))
}

/// An Ethernet address.
pub(super) fn mac(text: &str) -> Result<MacAddr, Fault> {
    let byte = |byte: &str| (byte.len() <= 2).then(|| u8::from_str_radix(byte, 16).ok()).flatten();
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    let mac: Option<[u8; 6]> = bytes.and_then(|bytes| bytes.try_into().ok());
    let wrong =
        || Fault::invalid(format!("`{}` is no MAC address like 02:00:00:00:00:01", text.escape_debug()));
    mac.map(MacAddr).ok_or_else(wrong)
}

/// Frames a turn, 1 to 32.
pub(super) fn burst(burst: u64) -> Result<usize, Fault> {
    match burst {
        1..=32 => Ok(burst as usize),
        _ => Err(Fault::invalid(format!("a burst of {burst} is none: give 1 to 32"))),
    }
}
