//! Netlink messages as bytes: built, and walked.
//!
//! ```text
//!   | nlmsghdr 16: len u32, type u16, flags u16, seq u32, pid u32 | family header | attribute | attribute ...
//!   attribute: | len u16 (with this header) | type u16 | value | padding to 4 |
//! ```
//! All integers are in the machine's order unless a family says otherwise; every part is padded to four
//! bytes. Source: netlink(7), userspace-api/netlink/intro.rst. No I/O here.

/// Bytes of `struct nlmsghdr`.
pub(super) const HEADER_LEN: usize = 16;
/// Bytes of `struct rtattr`.
const ATTRIBUTE_HEADER_LEN: usize = 4;

/// A request under construction.
pub(super) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request of `kind` whose family header is `family`.
    pub(super) fn new(kind: u16, flags: i32, family: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&((flags | libc::NLM_F_REQUEST) as u16).to_ne_bytes());
        bytes.extend_from_slice(family);
        Self { bytes }
    }

    /// Appends an attribute.
    pub(super) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let len = (ATTRIBUTE_HEADER_LEN + value.len()) as u16;
        self.bytes.extend_from_slice(&len.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Appends an attribute that holds a number.
    pub(super) fn number(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute that holds a text with its final NUL.
    pub(super) fn text(self, kind: u16, value: &str) -> Self {
        let bytes: Vec<u8> = value.bytes().chain([0]).collect();
        self.attribute(kind, &bytes)
    }

    /// Appends an attribute that holds whatever `inner` appends.
    pub(super) fn nested(mut self, kind: u16, inner: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self = inner(self.attribute(kind, &[]));
        let len = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self
    }

    /// Appends bytes that are no attribute, such as the family header inside VETH_INFO_PEER.
    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// The message, its length and sequence number filled in.
    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A message of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) sequence: u32,
    /// What follows the header.
    pub(super) body: &'a [u8],
}

/// The messages in a datagram; ends at the first that is cut short.
pub(super) fn messages(mut rest: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(rest, 0)? as usize;
        let message = Message {
            kind: u16_at(rest, 4)?,
            flags: u16_at(rest, 6)?,
            sequence: u32_at(rest, 8)?,
            body: rest.get(HEADER_LEN..len)?,
        };
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The attributes in `rest` as (type, value), the flag bits of the type taken off; ends at the first that is
/// cut short.
pub(super) fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = u16_at(rest, 0)? as usize;
        let kind = u16_at(rest, 2)? & libc::NLA_TYPE_MASK as u16;
        let value = rest.get(ATTRIBUTE_HEADER_LEN..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of that type.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// The number in an attribute.
pub(super) fn number(bytes: &[u8], kind: u16) -> Option<u32> {
    u32_at(attribute(bytes, kind)?, 0)
}

/// The text in an attribute, without its final NUL.
pub(super) fn text(bytes: &[u8], kind: u16) -> Option<String> {
    let value = attribute(bytes, kind)?;
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    Some(String::from_utf8_lossy(&value[..end]).into_owned())
}

/// Four bytes at `offset` as a number in the machine's order.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*field))
}

/// Two bytes at `offset` as a number in the machine's order.
pub(super) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_built_is_walked_back() {
        let bytes = Request::new(16, libc::NLM_F_ACK, &[9; 4])
            .text(3, "veth")
            .nested(18, |inner| inner.number(1, 7).attribute(2, &[1, 2, 3]))
            .finish(5);
        let all: Vec<_> = messages(&bytes).collect();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].kind, all[0].sequence), (16, 5));
        let attributes = &all[0].body[4..];
        assert_eq!(text(attributes, 3).as_deref(), Some("veth"));
        let inner = attribute(attributes, 18).unwrap();
        assert_eq!(number(inner, 1), Some(7));
        assert_eq!(attribute(inner, 2), Some(&[1, 2, 3][..]));
        assert_eq!(attribute(inner, 4), None);
    }

    proptest! {
        #[test]
        fn any_bytes_end_the_walk(bytes: Vec<u8>) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER_LEN);
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE_HEADER_LEN);
        }
    }
}
