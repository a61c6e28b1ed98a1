//! EDNS: the OPT record of a query, read, and that of an answer, written (RFC 6891).
//!
//! ```text
//!   00  0029  udp size  ext-rcode version DO.......  length  { code length data }*
//! ```
//!
//! Not the options' meaning: a cookie is judged in `cookie`, a keepalive by the TCP side.

use super::codes::{Rcode, Rtype};

/// Octets of an OPT record without options: root owner, type, size, extended rcode and flags, length.
const OPT_LEN_MIN: usize = 11;
/// Octets before an option's data.
const OPTION_HEADER_LEN: usize = 4;
/// The DO bit among the flags (RFC 3225 section 3).
const DO: u16 = 0x8000;

/// The kind of an option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OptionCode(pub u16);

impl OptionCode {
    /// Which server is this (RFC 5001).
    pub const NSID: Self = Self(3);
    /// How long a secondary may keep the zone (RFC 7314).
    pub const EXPIRE: Self = Self(9);
    /// Cookies (RFC 7873).
    pub const COOKIE: Self = Self(10);
    /// How long an idle TCP connection stays (RFC 7828).
    pub const TCP_KEEPALIVE: Self = Self(11);
    /// Octets without meaning (RFC 7830).
    pub const PADDING: Self = Self(12);
    /// Why it went so, in more words than an rcode (RFC 8914).
    pub const EXTENDED_ERROR: Self = Self(15);
}

/// The COOKIE option of a query (RFC 7873 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cookie<'a> {
    /// The client's part.
    pub client: &'a [u8; 8],
    /// What the server gave it: 8 to 32 octets, or none.
    pub server: &'a [u8],
}

impl<'a> Cookie<'a> {
    /// `None` for a length that RFC 7873 section 5.2.2 has answered with FORMERR.
    #[inline]
    fn parse(data: &'a [u8]) -> Option<Self> {
        let (client, server) = data.split_first_chunk::<8>()?;
        matches!(server.len(), 0 | 8..=32).then_some(Self { client, server })
    }
}

/// What the OPT record of a query says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edns<'a> {
    /// Of the sender's EDNS; a query with another than 0 is refused with BADVERS.
    pub version: u8,
    /// What the sender takes over UDP, as it says: it may say less than 512.
    pub udp_size: u16,
    /// DO: it wants the DNSSEC records.
    pub dnssec_ok: bool,
    /// It asks which server this is (RFC 5001).
    pub wants_nsid: bool,
    /// It asks for the TCP idle timeout (RFC 7828).
    pub wants_keepalive: bool,
    /// It asks for the zone's remaining life (RFC 7314).
    pub wants_expire: bool,
    /// Its cookie (RFC 7873).
    pub cookie: Option<Cookie<'a>>,
    /// All options, unread.
    pub options: &'a [u8],
}

/// An OPT record that cannot be read: FORMERR (RFC 6891 section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

impl<'a> Edns<'a> {
    /// From the OPT record's class, TTL and data.
    #[inline]
    pub(crate) fn parse(class: u16, ttl: u32, options: &'a [u8]) -> Result<Self, Malformed> {
        let mut edns = Self {
            version: (ttl >> 16) as u8,
            udp_size: class,
            dnssec_ok: ttl as u16 & DO != 0,
            wants_nsid: false,
            wants_keepalive: false,
            wants_expire: false,
            cookie: None,
            options,
        };
        // Another version's options are not ours to read (RFC 6891 section 6.1.3).
        if !options.is_empty() && edns.version == 0 {
            edns.read_options()?;
        }
        Ok(edns)
    }

    fn read_options(&mut self) -> Result<(), Malformed> {
        let mut options = self.options();
        for option in options.by_ref() {
            match option.code {
                OptionCode::NSID => self.wants_nsid = true,
                OptionCode::TCP_KEEPALIVE => self.wants_keepalive = true,
                OptionCode::EXPIRE => self.wants_expire = true,
                // Of several only the first counts (RFC 7873 section 5.2).
                OptionCode::COOKIE if self.cookie.is_none() => {
                    self.cookie = Some(Cookie::parse(option.data).ok_or(Malformed)?);
                }
                // RFC 6891 section 6.1.2: what is not known is ignored.
                _ => {}
            }
        }
        if options.rest.is_empty() { Ok(()) } else { Err(Malformed) }
    }

    /// The options one by one, up to the first that is cut off.
    #[inline]
    pub const fn options(&self) -> EdnsOptions<'a> {
        EdnsOptions::of(self.options)
    }
}

/// An option of an OPT record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdnsOption<'a> {
    /// Its kind.
    pub code: OptionCode,
    /// Its content.
    pub data: &'a [u8],
}

/// The options of an OPT record.
#[derive(Clone, Debug)]
pub struct EdnsOptions<'a> {
    rest: &'a [u8],
}

impl<'a> EdnsOptions<'a> {
    /// The options in the data of an OPT record.
    pub(crate) const fn of(data: &'a [u8]) -> Self {
        Self { rest: data }
    }
}

impl<'a> Iterator for EdnsOptions<'a> {
    type Item = EdnsOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<EdnsOption<'a>> {
        let ([code_high, code_low, len @ ..], rest) = self.rest.split_first_chunk::<OPTION_HEADER_LEN>()?;
        let (data, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        self.rest = rest;
        Some(EdnsOption { code: OptionCode(u16::from_be_bytes([*code_high, *code_low])), data })
    }
}

/// Why an answer is what it is (RFC 8914 section 4): an INFO-CODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtendedError(pub u16);

impl ExtendedError {
    /// None of the other codes.
    pub const OTHER: Self = Self(0);
    /// The server has no data yet.
    pub const NOT_READY: Self = Self(14);
    /// The client may not ask this.
    pub const PROHIBITED: Self = Self(18);
    /// The server is not authoritative for the name.
    pub const NOT_AUTHORITATIVE: Self = Self(20);
    /// The server does not do what is asked.
    pub const NOT_SUPPORTED: Self = Self(21);
    /// The zone's data is not usable, or has expired.
    pub const INVALID_DATA: Self = Self(24);
}

/// The OPT record of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Opt<'a> {
    /// What this server takes over UDP.
    pub udp_size: u16,
    /// DO, as the query had it (RFC 3225 section 3).
    pub dnssec_ok: bool,
    /// This server's name for itself (RFC 5001).
    pub nsid: Option<&'a [u8]>,
    /// The client's cookie and the server's, 8 and 16 octets (RFC 9018 section 4).
    pub cookie: Option<[u8; 24]>,
    /// Why it went so (RFC 8914).
    pub extended_error: Option<ExtendedError>,
    /// How long an idle TCP connection stays, in units of 100 ms (RFC 7828 section 3.1).
    pub keepalive: Option<u16>,
    /// How many seconds a secondary may keep the zone (RFC 7314).
    pub expire_s: Option<u32>,
}

impl<'a> Opt<'a> {
    /// Without any option.
    #[inline]
    pub const fn new(udp_size: u16, dnssec_ok: bool) -> Self {
        Self {
            udp_size,
            dnssec_ok,
            nsid: None,
            cookie: None,
            extended_error: None,
            keepalive: None,
            expire_s: None,
        }
    }

    /// Octets of the record.
    #[inline]
    pub fn wire_len(&self) -> usize {
        OPT_LEN_MIN + self.options_len()
    }

    #[inline]
    fn options_len(&self) -> usize {
        let option = |data_len: Option<usize>| data_len.map_or(0, |len| OPTION_HEADER_LEN + len);
        option(self.nsid.map(<[u8]>::len))
            + option(self.cookie.map(|_| 24))
            + option(self.extended_error.map(|_| 2))
            + option(self.keepalive.map(|_| 2))
            + option(self.expire_s.map(|_| 4))
    }

    /// Writes the record at the beginning of `out`; `None` if it does not fit.
    pub fn emit(&self, rcode: Rcode, out: &mut [u8]) -> Option<usize> {
        let len = self.wire_len();
        let out = out.get_mut(..len)?;
        let (fixed, rest) = out.split_first_chunk_mut::<OPT_LEN_MIN>()?;
        *fixed = self.fixed(rcode)?;
        self.emit_options(rest)?;
        Some(len)
    }

    fn fixed(&self, rcode: Rcode) -> Option<[u8; OPT_LEN_MIN]> {
        let [type_high, type_low] = Rtype::OPT.0.to_be_bytes();
        let [size_high, size_low] = self.udp_size.to_be_bytes();
        let [flags_high, flags_low] = if self.dnssec_ok { DO } else { 0 }.to_be_bytes();
        let [len_high, len_low] = u16::try_from(self.options_len()).ok()?.to_be_bytes();
        let rcode_high = (rcode.0 >> 4) as u8;
        let version = 0;
        Some([
            0, type_high, type_low, size_high, size_low, rcode_high, version, flags_high, flags_low,
            len_high, len_low,
        ])
    }

    fn emit_options(&self, mut out: &mut [u8]) -> Option<()> {
        if let Some(nsid) = self.nsid {
            push_option(&mut out, OptionCode::NSID, nsid)?;
        }
        if let Some(cookie) = &self.cookie {
            push_option(&mut out, OptionCode::COOKIE, cookie)?;
        }
        if let Some(error) = self.extended_error {
            push_option(&mut out, OptionCode::EXTENDED_ERROR, &error.0.to_be_bytes())?;
        }
        if let Some(timeout) = self.keepalive {
            push_option(&mut out, OptionCode::TCP_KEEPALIVE, &timeout.to_be_bytes())?;
        }
        if let Some(expire_s) = self.expire_s {
            push_option(&mut out, OptionCode::EXPIRE, &expire_s.to_be_bytes())?;
        }
        Some(())
    }
}

fn push_option(out: &mut &mut [u8], code: OptionCode, data: &[u8]) -> Option<()> {
    let len = u16::try_from(data.len()).ok()?;
    out.split_off_mut(..2)?.copy_from_slice(&code.0.to_be_bytes());
    out.split_off_mut(..2)?.copy_from_slice(&len.to_be_bytes());
    out.split_off_mut(..data.len())?.copy_from_slice(data);
    Some(())
}
