//! How frames are made.

use serde::Deserialize;

/// How frames are made (Sandstorm paper, section 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackMode {
    /// Keep packets ready to be sent again.
    PreCopy,
    /// Copy each packet from the one copy in memory (docs/adr/0007).
    #[default]
    Memcopy,
}
