//! The answers that no file stands behind: errors, and OPTIONS. Made once, at the start.

use crate::config::Config;
use crate::head::{begin, media_type};
use crate::status::Status;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use tidegate_config::ConfigFault;
use tidegate_content::{HeadWriter, Part, Prepared};

/// The methods that files have (RFC 9110 section 10.2.1).
const ALLOW: &str = "Allow: GET, HEAD, OPTIONS\r\n";

/// A page's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Its media type.
    pub media_type: String,
    /// Its bytes.
    pub body: Vec<u8>,
}

impl Page {
    fn own(status: Status) -> Self {
        let (code, reason) = (status.code(), status.reason());
        let body = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{code} {reason}</title>\n\
             <h1>{code} {reason}</h1>\n"
        );
        Self { media_type: "text/html; charset=utf-8".to_owned(), body: body.into_bytes() }
    }
}

/// Reads the configured error pages.
pub fn read_custom(config: &Config) -> Result<BTreeMap<Status, Page>, ConfigFault> {
    let read = |(key, file): (&crate::config::StatusKey, &std::path::PathBuf)| {
        let body = std::fs::read(config.root.join(file))
            .map_err(|e| ConfigFault::new(format!("error_pages.{} {}: {e}", key.0.code(), file.display())))?;
        Ok((key.0, Page { media_type: media_type(file.as_os_str().as_bytes()), body }))
    };
    config.error_pages.iter().map(read).collect()
}

/// All prebuilt answers. Shared by the workers.
pub struct Pages {
    contents: BTreeMap<Status, Page>,
    answers: BTreeMap<Status, Arc<Prepared>>,
    options: Arc<Prepared>,
}

impl Pages {
    /// The server's own pages, and `custom` ones in place of some.
    pub fn new(mut custom: BTreeMap<Status, Page>) -> Self {
        let mut page = |status: Status| custom.remove(&status).unwrap_or_else(|| Page::own(status));
        let errors = Status::ALL.iter().copied().filter(|status| status.is_error());
        let contents: BTreeMap<Status, Page> = errors.map(|status| (status, page(status))).collect();
        let answers = contents.iter().map(|(&status, page)| (status, whole(status, page))).collect();
        let options = begin(Status::NoContent).text(ALLOW).text("\r\n").finish();
        Self { contents, answers, options: Prepared::new(options, Vec::new()) }
    }

    /// The answer with an error status; what is no error is answered as an internal one.
    pub fn error(&self, status: Status) -> Arc<Prepared> {
        let answer = self.answers.get(&status).or_else(|| self.answers.get(&Status::InternalServerError));
        answer.unwrap_or(&self.options).clone()
    }

    /// The answer to OPTIONS.
    pub fn options(&self) -> Arc<Prepared> {
        self.options.clone()
    }

    /// 416 for a representation of `len` bytes (RFC 9110 section 15.5.17).
    pub fn range_not_satisfiable(&self, len: u64) -> Arc<Prepared> {
        let status = Status::RangeNotSatisfiable;
        let Some(page) = self.contents.get(&status) else { return self.error(status) };
        let mut head = begin(status);
        head.text(format!("Content-Range: bytes */{len}\r\n"));
        assemble(head, page).unwrap_or_else(|| self.error(status))
    }
}

/// 301 to `location`, which is encoded.
pub fn moved(location: &[u8]) -> Option<Arc<Prepared>> {
    let mut head = begin(Status::MovedPermanently);
    head.text("Location: ").text(location).text("\r\n");
    assemble(head, &Page::own(Status::MovedPermanently))
}

fn whole(status: Status, page: &Page) -> Arc<Prepared> {
    let mut head = begin(status);
    match status {
        // RFC 9110 section 15.5.6: a 405 must say what is allowed.
        Status::MethodNotAllowed => _ = head.text(ALLOW),
        Status::ServiceUnavailable => _ = head.text("Retry-After: 1\r\n"),
        _ => {}
    }
    Prepared::new(finish(head, page), page.body.clone())
}

fn assemble(head: HeadWriter, page: &Page) -> Option<Arc<Prepared>> {
    Prepared::assemble(finish(head, page), [Part::Text(page.body.clone())])
}

fn finish(mut head: HeadWriter, page: &Page) -> tidegate_content::HeadTemplate {
    head.text(format!("Content-Type: {}\r\nContent-Length: {}\r\n\r\n", page.media_type, page.body.len()));
    head.finish()
}
