//! What the library asks of whoever knows the protocol: how a file is announced.

use super::document::FileMeta;
use super::encoding::Encoding;
use crate::head::HeadTemplate;

/// The file that a head is for.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The document's path below the root, without the suffix of a coding.
    pub path: &'a [u8],
    /// The version of the file that is sent.
    pub meta: &'a FileMeta,
    /// Its coding.
    pub encoding: Encoding,
    /// Whether the document has other codings, so that the answer depends on `Accept-Encoding`.
    pub is_negotiated: bool,
}

/// Writes heads. Called on the loader's thread, once a load.
pub trait Present: Send + Sync {
    /// The head of the answer with the whole file.
    fn head(&self, subject: &Subject<'_>) -> HeadTemplate;

    /// The head of the answer that the peer has this version already.
    fn not_modified(&self, subject: &Subject<'_>) -> HeadTemplate;
}
