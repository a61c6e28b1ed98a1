//! From the bytes of a head to the answer: the plan, carried out with what the library has.

use super::intake::Awaited;
use crate::head::Heads;
use crate::memo::{Answer, AnswerTraits, Era, Memo};
use crate::page::{Pages, moved};
use crate::plan::{self, Decision, Found, Located, Naming};
use crate::request::Request;
use crate::request::body::BodySkip;
use crate::request::fields::FieldStorage;
use crate::request::line::Method;
use crate::status::Status;
use std::sync::Arc;
use tidegate_content::{
    Document, Encoding, Entry, LoadError, Loaded, Part, Prepared, Reader, Requested, Subject,
};

/// What comes of a head.
pub(crate) enum Planned {
    /// An answer, and a body to be thrown away before the next request.
    Answer(Answer, Option<BodySkip>),
    /// No request, or none that can be served: where the next one starts is not known.
    Refuse(Status),
    /// The document is being loaded under the ticket that was given.
    Await(Arc<Document>, Encoding),
}

/// A response and how lasting it is.
struct Outcome {
    code: u16,
    prepared: Arc<Prepared>,
    /// Whether the same bytes get it again, and somebody else keeps it.
    is_lasting: bool,
}

/// What the planner needs and does not own.
pub(crate) struct Rules<'a> {
    pub(crate) naming: &'a Naming,
    pub(crate) heads: &'a Heads,
    pub(crate) pages: &'a Pages,
    pub(crate) body_len_max: u64,
}

/// A worker's way from heads to answers.
pub(crate) struct Planner {
    reader: Reader,
    memo: Memo,
}

impl Planner {
    pub(crate) fn new(reader: Reader, memo: Memo) -> Self {
        Self { reader, memo }
    }

    /// The library's generation.
    #[inline]
    pub(crate) fn generation(&mut self) -> u64 {
        self.reader.generation()
    }

    pub(crate) const fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The answer to a head that was answered before in this era.
    #[inline]
    pub(crate) fn recall(&self, head: &[u8], era: Era) -> Option<Answer> {
        self.memo.find(head, era)
    }

    /// Plans the answer to a whole head. `awaited` is what came of the load that it waited for;
    /// without it, a load is asked for under `ticket` where one is needed.
    pub(crate) fn plan(
        &mut self,
        head: &[u8],
        rules: &Rules<'_>,
        era: Era,
        ticket: u64,
        awaited: Option<Awaited>,
    ) -> Planned {
        let mut storage = FieldStorage::new();
        let request = match Request::parse(head, &mut storage) {
            Ok(request) => request,
            Err(status) => return Planned::Refuse(status),
        };
        let body = match BodySkip::new(request.framing, rules.body_len_max) {
            Ok(body) => body,
            Err(status) => return Planned::Refuse(request.refusal().unwrap_or(status)),
        };
        let outcome = match self.respond(&request, rules, ticket, awaited) {
            Ok(outcome) => outcome,
            Err((document, encoding)) => return Planned::Await(document, encoding),
        };
        let traits = AnswerTraits {
            code: outcome.code,
            head_only: request.line.method == Method::Head,
            close: !request.keep_alive,
        };
        let answer = Answer { prepared: outcome.prepared, traits };
        if outcome.is_lasting && body.is_none() {
            self.memo.put(head, era, &answer);
        }
        Planned::Answer(answer, body)
    }

    fn respond(
        &mut self,
        request: &Request<'_, '_>,
        rules: &Rules<'_>,
        ticket: u64,
        awaited: Option<Awaited>,
    ) -> Result<Outcome, (Arc<Document>, Encoding)> {
        let located = plan::locate(request, rules.naming, |name| self.reader.find(name).map(found));
        let document = match located {
            Located::Document(document) => document,
            Located::Moved(location) => return Ok(redirect(rules.pages, &location)),
            Located::Options => return Ok(lasting(Status::NoContent, rules.pages.options())),
            Located::Refused(status) => return Ok(error(rules.pages, status)),
        };
        let (document, encoding, outcome) = match awaited {
            Some(Awaited { document, encoding, outcome }) => (document, encoding, outcome),
            None => {
                let codings = document.variants().iter().map(|variant| variant.encoding);
                let encoding = plan::negotiate(&request.fields, rules.naming, codings);
                match self.reader.request(&document, encoding, ticket) {
                    Requested::Ready(loaded) => (document, encoding, Ok(loaded)),
                    Requested::Queued => return Err((document, encoding)),
                    Requested::Refused => (document, encoding, Err(LoadError::Exhausted)),
                }
            }
        };
        Ok(match outcome {
            Ok(loaded) => represent(request, rules, &document, encoding, &loaded),
            Err(cause) => Outcome { is_lasting: false, ..error(rules.pages, status_of(cause)) },
        })
    }
}

fn found(entry: &Entry) -> Found<Arc<Document>> {
    match entry {
        Entry::File(document) => Found::Document(Arc::clone(document)),
        Entry::Directory(_) => Found::Directory,
    }
}

/// Carries out the decision about a document that is loaded.
fn represent(
    request: &Request<'_, '_>,
    rules: &Rules<'_>,
    document: &Document,
    encoding: Encoding,
    loaded: &Loaded,
) -> Outcome {
    let subject = Subject {
        path: document.path(),
        meta: &loaded.meta,
        encoding,
        is_negotiated: document.variants().len() > 1,
    };
    let part = match plan::decide(request, &loaded.meta, encoding) {
        Decision::Whole => return lasting(Status::Ok, Arc::clone(&loaded.full)),
        Decision::NotModified => return lasting(Status::NotModified, Arc::clone(&loaded.not_modified)),
        Decision::Refused(Status::RangeNotSatisfiable) => {
            return once(Status::RangeNotSatisfiable, rules.pages.range_not_satisfiable(loaded.meta.size));
        }
        Decision::Refused(status) => return error(rules.pages, status),
        Decision::Part(range) => {
            loaded.full.range(rules.heads.part(&subject, range), range.start, range.len())
        }
        Decision::Parts(ranges) => assemble(rules.heads, &subject, &ranges, &loaded.full),
    };
    match part {
        Some(prepared) => once(Status::PartialContent, prepared),
        None => error(rules.pages, Status::InternalServerError),
    }
}

fn assemble(
    heads: &Heads,
    subject: &Subject<'_>,
    ranges: &[crate::field::range::ByteRange],
    whole: &Prepared,
) -> Option<Arc<Prepared>> {
    let multipart = heads.multipart(subject, ranges);
    let part = |(opening, range): (String, &crate::field::range::ByteRange)| {
        [Part::Text(opening.into_bytes()), Part::Range { of: whole, offset: range.start, len: range.len() }]
    };
    let parts = multipart.openings.into_iter().zip(ranges).flat_map(part);
    let closing = Part::Text(multipart.closing.into_bytes());
    Prepared::assemble(multipart.head, parts.chain([closing]))
}

fn redirect(pages: &Pages, location: &[u8]) -> Outcome {
    match moved(location) {
        Some(prepared) => once(Status::MovedPermanently, prepared),
        None => error(pages, Status::InternalServerError),
    }
}

fn error(pages: &Pages, status: Status) -> Outcome {
    lasting(status, pages.error(status))
}

fn lasting(status: Status, prepared: Arc<Prepared>) -> Outcome {
    Outcome { code: status.code(), prepared, is_lasting: true }
}

fn once(status: Status, prepared: Arc<Prepared>) -> Outcome {
    Outcome { code: status.code(), prepared, is_lasting: false }
}

const fn status_of(cause: LoadError) -> Status {
    match cause {
        LoadError::Gone => Status::NotFound,
        LoadError::Denied => Status::Forbidden,
        LoadError::Unsettled | LoadError::Exhausted => Status::ServiceUnavailable,
        LoadError::Failed(_) => Status::InternalServerError,
    }
}
