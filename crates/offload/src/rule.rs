//! The rule language: which requests, and what becomes of them.
//!
//! A rule knows nothing of any protocol: offsets are into the payload of a datagram. Invariant: nothing here is checked before
//! [`Rule::check`] or a table does; what passes that is what the kernel can do.

use tidegate_base::Instant;

use crate::normal::Normal;

/// The longest request that a rule can match, in bytes: what an Ethernet frame holds of a UDP datagram over IPv4.
pub const REQUEST_LEN_MAX: usize = 1472;
/// The longest reply, in bytes.
pub const REPLY_LEN_MAX: usize = 1472;
/// Pieces of a request that a rule may look at, once those that touch are joined.
pub const REGION_COUNT_MAX: usize = 4;
/// Pieces of a request that a reply may repeat, once those that touch are joined.
pub const COPY_COUNT_MAX: usize = 16;
/// Rules and groups that a request may invalidate.
pub const TARGET_COUNT_MAX: usize = 8;
/// Groups of a table: their numbers are smaller.
pub const GROUP_COUNT: u16 = 256;

/// A place for a rule in a table; what is in it may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// Rules that are replaced or dropped together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

/// Shows that the place of a rule was not invalidated since: taken before the server is asked for what a rule shall answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) u32);

/// Which requests are answered, and how; or what they make stale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All of them must hold; one at the least.
    pub conditions: Vec<Condition>,
    /// The request's length in bytes; `None`: any that has room for the conditions.
    pub request_len: Option<usize>,
    /// What becomes of a matching request.
    pub action: Action,
    /// The group that the rule lives and dies with.
    pub group: GroupId,
    /// When it ends by itself, on the clock of the kernel's monotonic time; `None`: never.
    pub expires: Option<Instant>,
}

/// Bytes that a request must have at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Where they begin, in bytes from the beginning of the payload.
    pub offset: usize,
    /// What they are; one byte at the least.
    pub pattern: Vec<u8>,
    /// Whether `A` and `a` are the same.
    pub case: Case,
}

impl Condition {
    /// Bytes that must be exactly these.
    pub fn exact(offset: usize, pattern: impl Into<Vec<u8>>) -> Self {
        Self { offset, pattern: pattern.into(), case: Case::Exact }
    }

    /// Bytes that must be these but for the case of ASCII letters (DNS names: RFC 4343).
    pub fn any_case(offset: usize, pattern: impl Into<Vec<u8>>) -> Self {
        Self { offset, pattern: pattern.into(), case: Case::Ignored }
    }
}

/// Whether ASCII letters are compared with their case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// They are.
    Exact,
    /// They are not.
    Ignored,
}

/// What becomes of a matching request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is answered by what these make, one after the other: a later one writes over what an earlier one wrote.
    Answer(Vec<Processor>),
    /// These end before it is passed on to the server.
    Invalidate(Vec<Target>),
}

/// A step in making a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Processor {
    /// Bytes of a template.
    Put {
        /// Where they go, in bytes from the beginning of the reply.
        at: usize,
        /// What they are; one at the least.
        bytes: Vec<u8>,
    },
    /// Bytes of the request.
    Copy {
        /// Where they are in the request.
        from: usize,
        /// How many; one at the least.
        len: usize,
        /// Where they go in the reply.
        to: usize,
    },
}

/// What a request may invalidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// What is in this place.
    Rule(RuleId),
    /// All rules of a group.
    Group(GroupId),
}

/// Why a rule can be none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It would match everything.
    #[error("a rule needs a condition: give it a byte to look at")]
    NoCondition,
    /// A condition that compares nothing.
    #[error("the condition at offset {offset} has no pattern: give it bytes, or leave it out")]
    EmptyPattern {
        /// Where it is.
        offset: usize,
    },
    /// A condition behind the longest request.
    #[error(
        "the condition at offset {offset} ends {end} bytes into the request: only the first {REQUEST_LEN_MAX} are looked at"
    )]
    ConditionBeyond {
        /// Where it begins.
        offset: usize,
        /// Where it ends.
        end: usize,
    },
    /// Two conditions want different bytes at one place.
    #[error("two conditions want different bytes at offset {offset}: such a rule never matches")]
    Contradiction {
        /// Where.
        offset: usize,
    },
    /// The exact length has no room for a condition, or is more than a request can have.
    #[error(
        "requests of {len} bytes cannot match: the conditions end at {end}, and no request is longer than {REQUEST_LEN_MAX}"
    )]
    RequestLen {
        /// The exact length.
        len: usize,
        /// Where the last condition ends.
        end: usize,
    },
    /// Too many separate pieces to compare.
    #[error(
        "the conditions look at {count} separate pieces of the request: at most {REGION_COUNT_MAX} are possible; join those that are close"
    )]
    TooManyRegions {
        /// How many there are.
        count: usize,
    },
    /// A processor that writes nothing.
    #[error("a processor writes nothing at byte {at} of the reply: leave it out")]
    EmptyProcessor {
        /// Where.
        at: usize,
    },
    /// An answer of no bytes.
    #[error("the reply has no bytes: give the rule a processor")]
    NoReply,
    /// Too long a reply.
    #[error("the reply has {len} bytes: at most {REPLY_LEN_MAX} fit a datagram")]
    ReplyTooLong {
        /// How long it is.
        len: usize,
    },
    /// Bytes of the reply that nothing writes.
    #[error("nothing writes byte {at} of the reply: put or copy something there")]
    Gap {
        /// The first of them.
        at: usize,
    },
    /// A copy of bytes that a matching request need not have.
    #[error(
        "a processor copies the request's bytes up to {end}, of which a matching request may have only {len}: state the exact length, or copy less"
    )]
    CopyBeyond {
        /// Where the copy ends.
        end: usize,
        /// How many bytes there are for sure.
        len: usize,
    },
    /// Too many separate pieces to copy.
    #[error(
        "the reply repeats {count} separate pieces of the request: at most {COPY_COUNT_MAX} are possible"
    )]
    TooManyCopies {
        /// How many there are.
        count: usize,
    },
    /// No target, or too many.
    #[error("a rule invalidates between 1 and {TARGET_COUNT_MAX} rules and groups, not {count}")]
    TargetCount {
        /// How many there are.
        count: usize,
    },
    /// A group that no table has.
    #[error("there is no group {}: the last one is {}", .group.0, GROUP_COUNT - 1)]
    NoGroup {
        /// The group.
        group: GroupId,
    },
}

impl Rule {
    /// Whether a table would take the rule, whatever else is in it.
    pub fn check(&self) -> Result<(), RuleError> {
        Normal::of(self).map(drop)
    }
}
