//! Fields and values of the protocol in the modules' terms.

use tidegate_control::Fault;
use tidegate_control::proto::bess::{self, field_data::Encoding};
use tidegate_modules::{Field, Position};

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
