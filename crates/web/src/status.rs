//! The status codes that this server sends, and no others.
//!
//! A closed set, so that each has its prebuilt page and its counter class.

macro_rules! statuses {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal $reason:literal,)+) => {
        /// A response's status (RFC 9110 section 15).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Status {
            $($(#[doc = $doc])+ $name = $code,)+
        }

        impl Status {
            /// All of them, by code.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The phrase that follows the code in the status line.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason),+ }
            }
        }
    };
}

statuses! {
    /// The whole representation.
    Ok = 200 "OK",
    /// Nothing to send: the answer to OPTIONS.
    NoContent = 204 "No Content",
    /// One part of the representation, or several.
    PartialContent = 206 "Partial Content",
    /// A directory was asked for without its trailing slash.
    MovedPermanently = 301 "Moved Permanently",
    /// The client's copy is current.
    NotModified = 304 "Not Modified",
    /// Not HTTP, or HTTP that two readers could read in two ways.
    BadRequest = 400 "Bad Request",
    /// There, but not to be read.
    Forbidden = 403 "Forbidden",
    /// Not there.
    NotFound = 404 "Not Found",
    /// A method that files do not have.
    MethodNotAllowed = 405 "Method Not Allowed",
    /// The head did not come in time.
    RequestTimeout = 408 "Request Timeout",
    /// `If-Match` or `If-Unmodified-Since` does not hold.
    PreconditionFailed = 412 "Precondition Failed",
    /// A body longer than this server is willing to throw away.
    ContentTooLarge = 413 "Content Too Large",
    /// The request line is too long.
    UriTooLong = 414 "URI Too Long",
    /// No part that was asked for exists.
    RangeNotSatisfiable = 416 "Range Not Satisfiable",
    /// `Expect` with something else than `100-continue`.
    ExpectationFailed = 417 "Expectation Failed",
    /// For another origin: an `https` URI over a connection without TLS.
    MisdirectedRequest = 421 "Misdirected Request",
    /// The fields are too long or too many.
    FieldsTooLarge = 431 "Request Header Fields Too Large",
    /// The document is there and could not be read.
    InternalServerError = 500 "Internal Server Error",
    /// A method or a transfer coding that this server does not know.
    NotImplemented = 501 "Not Implemented",
    /// Not now: the document did not become ready in time.
    ServiceUnavailable = 503 "Service Unavailable",
    /// Not HTTP/1.
    VersionNotSupported = 505 "HTTP Version Not Supported",
}

impl Status {
    /// The three digits.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// Its class, 2 to 5.
    pub const fn class(self) -> u8 {
        (self as u16 / 100) as u8
    }

    /// Whether it carries an error page.
    pub const fn is_error(self) -> bool {
        self.code() >= 400
    }

    /// The status with that code, if this server sends it.
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.code() == code)
    }
}
