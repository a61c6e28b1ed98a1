//! Content codings that a file may lie beside itself in (RFC 9110 section 8.4.1).

/// How the bytes of a variant are coded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encoding {
    /// As they are.
    Identity,
    /// Brotli, in a file with the suffix `.br` (RFC 7932).
    Brotli,
    /// gzip, in a file with the suffix `.gz` (RFC 1952).
    Gzip,
    /// Zstandard, in a file with the suffix `.zst` (RFC 8878).
    Zstd,
}

impl Encoding {
    /// All of them, the one that every document has first.
    pub const ALL: [Self; 4] = [Self::Identity, Self::Brotli, Self::Gzip, Self::Zstd];

    /// Its name in `Accept-Encoding` and `Content-Encoding`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// What its file's name has more than the document's.
    pub(crate) const fn suffix(self) -> &'static [u8] {
        match self {
            Self::Identity => b"",
            Self::Brotli => b".br",
            Self::Gzip => b".gz",
            Self::Zstd => b".zst",
        }
    }
}
