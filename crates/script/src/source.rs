//! The text that is read: a file and those that it includes, and places in them.

/// A part of one of the texts, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) file: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    /// From the start of this one to the end of `last`, which is in the same file.
    pub(crate) fn to(self, last: Span) -> Span {
        Span { end: last.end, ..self }
    }
}

/// One text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    /// The files that led here, outermost first.
    pub(crate) includers: Vec<String>,
}
