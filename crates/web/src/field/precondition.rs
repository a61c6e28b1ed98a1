//! Conditional requests, in the order of RFC 9110 section 13.2.2.

use super::validator::{EntityTag, EntityTags, HttpSecond};
use crate::request::fields::{Fields, Single};

/// What a representation is compared by.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    /// Its entity tag.
    pub etag: EntityTag<'a>,
    /// When it was last changed. A strong validator (RFC 9110 section 8.8.2.2), because a head tells it
    /// only once that second is over: no two versions were ever sent with the same one.
    pub modified: HttpSecond,
}

/// What the conditions of a GET or HEAD come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They hold, or there are none.
    Proceed,
    /// The client has it: 304.
    NotModified,
    /// 412.
    Failed,
}

/// Evaluates the conditions against the selected representation.
pub fn evaluate(fields: &Fields<'_, '_>, now: &Validators<'_>) -> Verdict {
    // Steps 1 and 2.
    let holds = match is_listed(fields, "if-match", |tag| tag.matches_strongly(&now.etag)) {
        Some(is_match) => is_match,
        None => date(fields, "if-unmodified-since").is_none_or(|since| now.modified <= since),
    };
    if !holds {
        return Verdict::Failed;
    }
    // Steps 3 and 4.
    let is_current = match is_listed(fields, "if-none-match", |tag| tag.matches_weakly(&now.etag)) {
        Some(is_match) => is_match,
        None => date(fields, "if-modified-since").is_some_and(|since| now.modified <= since),
    };
    if is_current { Verdict::NotModified } else { Verdict::Proceed }
}

/// Step 5: whether `Range` is to be heeded (RFC 9110 section 13.1.5).
pub fn range_applies(fields: &Fields<'_, '_>, now: &Validators<'_>) -> bool {
    let value = match fields.single("if-range") {
        Single::Absent => return true,
        Single::Once(value) => value,
        Single::Repeated => return false,
    };
    if let Some(tag) = EntityTag::parse(value) {
        return tag.matches_strongly(&now.etag);
    }
    // A date must match exactly, and be a strong validator, as ours are.
    HttpSecond::parse(value) == Some(now.modified)
}

fn is_listed(
    fields: &Fields<'_, '_>,
    name: &'static str,
    is_match: impl Fn(&EntityTag<'_>) -> bool,
) -> Option<bool> {
    let mut lines = fields.values(name).peekable();
    lines.peek()?;
    // "*" is met by any current representation (RFC 9110 sections 13.1.1 and 13.1.2).
    Some(lines.any(|line| line == b"*" || EntityTags::of(line).any(|tag| is_match(&tag))))
}

// RFC 9110 sections 13.1.3 and 13.1.4: what is no valid date is ignored.
fn date(fields: &Fields<'_, '_>, name: &'static str) -> Option<HttpSecond> {
    fields.single(name).once().and_then(HttpSecond::parse)
}
