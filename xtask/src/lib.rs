//! The repository looked at as data: its crates with the arrows between them, and its source files.
//!
//! What is allowed is not written here but in `tests/edges.rs` and `tests/source.rs`, which hold the
//! repository against it. Nothing here changes a file.
#![forbid(unsafe_code)]

mod graph;
mod source;

pub use graph::{Edge, EdgeKind, Graph};
pub use source::{SourceFile, sources};

use std::path::{Path, PathBuf};

/// The repository that this crate was built in.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
