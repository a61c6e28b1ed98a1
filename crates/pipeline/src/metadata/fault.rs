//! What is wrong with the attributes of a graph, in words that say what to mend.

use super::attribute::ATTRIBUTE_LEN_MAX;
use thiserror::Error;
use tidegate_packet::SCRATCH_LEN;

/// Something about a graph's attributes that its author should know.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Fault {
    /// A read of what nobody writes.
    #[error("`{module}` reads `{attribute}`, but no module before it writes it: put one before it that does")]
    Unwritten {
        /// Who reads.
        module: String,
        /// What.
        attribute: String,
    },
    /// A read of what is written on some ways to the module, not on all.
    #[error(
        "`{module}` reads `{attribute}`, but frames that enter at `{from}` can reach it without: have it written \
         on that way too"
    )]
    PartlyWritten {
        /// Who reads.
        module: String,
        /// What.
        attribute: String,
        /// The module at which a way without begins.
        from: String,
    },
    /// Two sizes of one value.
    #[error(
        "`{attribute}` has {size} bytes in `{module}`, {other_size} in `{other}`, and frames carry it between \
         them: declare the same size in both"
    )]
    TwoSizes {
        /// What.
        attribute: String,
        /// One of the modules.
        module: String,
        /// How many bytes it declares.
        size: u8,
        /// One that differs; the same one, if it declares the attribute twice.
        other: String,
        /// How many bytes that declares.
        other_size: u8,
    },
    /// A size that no attribute may have.
    #[error("`{module}` declares `{attribute}` with {size} bytes: declare 1 to {ATTRIBUTE_LEN_MAX}")]
    Size {
        /// Who declares it.
        module: String,
        /// What.
        attribute: String,
        /// Bytes.
        size: u8,
    },
    /// More is alive at once than frames have room for.
    #[error(
        "`{attribute}` ({size} bytes) finds no room: {alive_len} bytes of attributes are alive in `{module}`, of \
         at most {SCRATCH_LEN}, some of them aligned: declare fewer or smaller ones, or read them earlier"
    )]
    NoRoom {
        /// Where it is most crowded, among the modules that it is alive in.
        module: String,
        /// What.
        attribute: String,
        /// Bytes.
        size: u8,
        /// Bytes of all attributes that are alive in that module.
        alive_len: usize,
    },
}

impl Fault {
    /// Whether the graph does what it says all the same, for frames that come with the attribute.
    pub const fn is_warning(&self) -> bool {
        matches!(self, Self::PartlyWritten { .. })
    }
}
