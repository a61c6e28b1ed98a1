//! The OPT records of answers from what is ready.
//!
//! ```text
//!   no option asked for    one of two records that were made beforehand, without and with DO, and their sums
//!   a cookie, NSID         a record made for this answer, in a place that is used over and over
//! ```
//! Not here: what the options say, which is the source's to know.

use super::glance::{Edns, OPT_LEN};
use crate::message::{Opt, Rcode};
use tidegate_base::Sum;

/// Octets of the longest record that is made here: with the longest NSID that is configured and a cookie.
const OPT_LEN_MAX: usize = 256;

/// An OPT record, and its sum at an even offset.
pub(super) struct OptRecord {
    octets: [u8; OPT_LEN_MAX],
    len: usize,
    sum: Sum,
}

impl OptRecord {
    const EMPTY: Self = Self { octets: [0; OPT_LEN_MAX], len: 0, sum: Sum::ZERO };

    fn of(opt: &Opt<'_>) -> Self {
        let mut record = Self::EMPTY;
        record.write(opt);
        record
    }

    /// Becomes `opt`. `None`, and nothing that may be sent, if that is too long.
    #[inline]
    fn write(&mut self, opt: &Opt<'_>) -> Option<()> {
        self.len = 0;
        self.len = opt.emit(Rcode::NOERROR, &mut self.octets)?;
        self.sum = Sum::of(self.octets());
        Some(())
    }

    /// The record.
    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// The record, if it has no options.
    #[inline]
    pub(super) fn bare(&self) -> Option<&[u8; OPT_LEN]> {
        if self.len == OPT_LEN { self.octets.first_chunk() } else { None }
    }

    /// Octets that it has.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Its sum, as though it began at an even offset.
    #[inline]
    pub(super) const fn sum(&self) -> Sum {
        self.sum
    }
}

/// The OPT records of a worker's answers.
pub(super) struct Opts {
    bare: [OptRecord; 2],
    made: OptRecord,
}

impl Opts {
    /// Records that say that this side takes `udp_size` octets.
    pub(super) fn new(udp_size: u16) -> Self {
        let bare = [false, true].map(|dnssec_ok| OptRecord::of(&Opt::new(udp_size, dnssec_ok)));
        Self { bare, made: OptRecord::EMPTY }
    }

    /// The record of the answer to a query with `edns` that asks for no option.
    #[inline]
    pub(super) const fn bare(&self, edns: Edns) -> &OptRecord {
        // RFC 3225 section 3: the DO bit goes back as it came.
        &self.bare[edns.wants_dnssec as usize]
    }

    /// `opt` as a record, until another is made. `None` if it is too long to be made here.
    #[inline]
    pub(super) fn make(&mut self, opt: &Opt<'_>) -> Option<()> {
        self.made.write(opt)
    }

    /// The record that was made last.
    #[inline]
    pub(super) const fn made(&self) -> &OptRecord {
        &self.made
    }
}
