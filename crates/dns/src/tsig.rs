//! Transaction signatures (RFC 8945): that a message comes from a holder of a shared key, whole and now.
//!
//! ```text
//!   server:  request --check--> Unsigned | Signed(Pass) --Signer--> one answer, or each message of a transfer
//!                                  \-> Rejected: NOTAUTH with the error in a TSIG record
//!   client:  request --Verifier::of_request--> signed request;  each answer --Verifier::check--> its plain length
//! ```
//!
//! Absent: GSS-TSIG, TKEY, and HMAC-MD5, which RFC 8945 section 6 no longer asks for: a key of it is refused
//! when it is configured. Time is an argument, in seconds since 1970.
//!
//! Invariant: a [`Pass`] exists only for a message whose signature was right; what is signed or verified is
//! the message as it stands on the wire but for its own TSIG record.

mod key;
mod mac;
mod record;
mod server;
mod verifier;

pub use key::{Algorithm, Key, KeyError, Keyring};
pub use record::RECORD_LEN_MAX;
pub use server::{Checked, Pass, Rejection, Signer, check};
pub use verifier::{Verifier, VerifyError};

/// How far apart two clocks may be, in seconds (RFC 8945 section 10).
const FUDGE_S: u16 = 300;

/// Errors that a TSIG record carries (RFC 8945 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum TsigError {
    /// The signature is wrong.
    BadSig = 16,
    /// The key is not known here, or not with that algorithm.
    BadKey = 17,
    /// Signed too long ago, or in the future.
    BadTime = 18,
    /// The signature is cut shorter than is accepted here.
    BadTrunc = 22,
}

#[cfg(test)]
mod tests;
