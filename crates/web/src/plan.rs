//! What to answer: a pure function of the request and of one moment of the library.
//!
//! ```text
//!   locate: target -> a document | a redirect | an error       negotiate: which coding of it
//!   decide: conditions, then ranges -> whole | nothing new | parts | an error
//! ```
//!
//! Nothing here reads a file, looks at a clock or knows a connection, so each rule is a table's row in
//! the tests.

use crate::field::coding::{self, CodingSet};
use crate::field::precondition::{self, Validators, Verdict};
use crate::field::range::{self, ByteRange, RANGE_COUNT_MAX, Ranges};
use crate::field::validator::EntityTag;
use crate::head::{modified, opaque_tag};
use crate::request::fields::Fields;
use crate::request::line::Method;
use crate::request::{Request, Target};
use crate::status::Status;
use crate::target::{DocumentName, directory_location};
use arrayvec::ArrayVec;
use tidegate_content::{Encoding, FileMeta};

#[cfg(test)]
mod tests;

/// What names stand for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Naming {
    /// The file that stands for its directory.
    pub index: String,
    /// Whether names that start with a dot are served.
    pub dotfiles: bool,
    /// Whether precompressed files are sent.
    pub precompressed: bool,
}

/// What a library has under a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found<D> {
    /// A file.
    Document(D),
    /// A directory.
    Directory,
}

/// Where a request leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Located<D> {
    /// To a document.
    Document(D),
    /// To the same directory, with its slash: a `Location`.
    Moved(Vec<u8>),
    /// To what may be done.
    Options,
    /// Nowhere.
    Refused(Status),
}

/// How a document is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// With all of it: 200.
    Whole,
    /// The client has it: 304.
    NotModified,
    /// With one part: 206.
    Part(ByteRange),
    /// With several parts: 206.
    Parts(ArrayVec<ByteRange, RANGE_COUNT_MAX>),
    /// With an error.
    Refused(Status),
}

/// Finds what a request leads to; `find` looks a name up.
pub fn locate<D>(
    request: &Request<'_, '_>,
    naming: &Naming,
    mut find: impl FnMut(&[u8]) -> Option<Found<D>>,
) -> Located<D> {
    if let Some(status) = request.refusal() {
        return Located::Refused(status);
    }
    let (path, query) = match (request.line.method, request.target) {
        (Method::Options, _) | (_, Target::Server) => return Located::Options,
        (_, Target::Path { path, query }) => (path, query),
    };
    match DocumentName::parse(path) {
        Ok(name) if name.is_hidden() && !naming.dotfiles => Located::Refused(Status::NotFound),
        Ok(name) => locate_name(&name, query, naming, &mut find),
        Err(status) => Located::Refused(status),
    }
}

fn locate_name<D>(
    name: &DocumentName<'_>,
    query: &[u8],
    naming: &Naming,
    mut find: impl FnMut(&[u8]) -> Option<Found<D>>,
) -> Located<D> {
    match (find(&name.bytes), name.is_directory) {
        (Some(Found::Document(document)), false) => Located::Document(document),
        (Some(Found::Directory), true) => match find(&name.join(&naming.index)) {
            Some(Found::Document(document)) => Located::Document(document),
            // There is a directory, and its list is nobody's business.
            _ => Located::Refused(Status::Forbidden),
        },
        (Some(Found::Directory), false) => Located::Moved(directory_location(&name.bytes, query)),
        // A file's name with a slash behind it is another name.
        (Some(Found::Document(_)), true) | (None, _) => Located::Refused(Status::NotFound),
    }
}

/// Chooses one of a document's codings.
pub fn negotiate(
    fields: &Fields<'_, '_>,
    naming: &Naming,
    available: impl IntoIterator<Item = Encoding>,
) -> Encoding {
    if !naming.precompressed {
        return Encoding::Identity;
    }
    let coded = available.into_iter().filter(|&coding| coding != Encoding::Identity);
    coding::choose(fields, coded.fold(CodingSet::default(), CodingSet::with))
}

/// Decides how much of a version of a document is sent.
pub fn decide(request: &Request<'_, '_>, meta: &FileMeta, encoding: Encoding) -> Decision {
    let opaque = opaque_tag(meta, encoding);
    let etag = EntityTag { is_weak: false, opaque: opaque.as_bytes() };
    let validators = Validators { etag, modified: modified(meta) };
    match precondition::evaluate(&request.fields, &validators) {
        Verdict::Failed => Decision::Refused(Status::PreconditionFailed),
        Verdict::NotModified => Decision::NotModified,
        Verdict::Proceed => decide_range(request, meta.size, &validators),
    }
}

fn decide_range(request: &Request<'_, '_>, len: u64, validators: &Validators<'_>) -> Decision {
    // RFC 9110 section 14.2: Range is defined for GET only, and looked at after the conditions.
    let Some(value) = request.fields.single("range").once().filter(|_| request.line.method == Method::Get)
    else {
        return Decision::Whole;
    };
    if !precondition::range_applies(&request.fields, validators) {
        return Decision::Whole;
    }
    match range::parse(value, len) {
        Ranges::Ignored => Decision::Whole,
        Ranges::Unsatisfiable => Decision::Refused(Status::RangeNotSatisfiable),
        Ranges::Parts(parts) => match parts.as_slice() {
            [one] => Decision::Part(*one),
            _ => Decision::Parts(parts),
        },
    }
}
