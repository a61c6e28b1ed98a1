//! Control messages: 128 bytes each, numbers in the machine's order, names padded with zeros.
//!
//! ```text
//!   0      2                                                            128
//!   | type | fields, packed, of which the type decides | zeros ............|
//!
//!   1 ack         -
//!   2 hello       name[32] version_min version_max region_max rx_ring_max tx_ring_max (u16 each) ring_log2_max (u8)
//!   3 init        version (u16) id (u32) mode (u8) secret[24] name[32]
//!   4 add region  index (u16) size (u64)                                + the memory's descriptor
//!   5 add ring    flags index region (u16 each) offset (u32) log2 (u8) private header's length (u16) + the interrupt's
//!   6 connect     name[32]
//!   7 connected   name[32]
//!   8 disconnect  code (u32) text[96]
//! ```
//! Source: DPDK's memif.h and guide to the memif driver. Nothing here does I/O; what is parsed is not believed yet.

/// Bytes of a message.
pub(super) const MESSAGE_LEN: usize = 128;
/// Version 2.0, the only one there is: major in the high byte.
pub(super) const VERSION: u16 = 0x0200;
/// A ring in the direction from the client to the server.
pub(super) const RING_TO_SERVER: u16 = 1;
/// Frames of Ethernet, the only mode here.
pub(super) const MODE_ETHERNET: u8 = 0;

pub(super) const NAME_LEN: usize = 32;
pub(super) const SECRET_LEN: usize = 24;
const REASON_LEN: usize = 96;

/// What the server can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) name: String,
    pub(super) version_min: u16,
    pub(super) version_max: u16,
    /// The highest index of a region.
    pub(super) region_max: u16,
    /// The highest index of a ring from the server to the client.
    pub(super) to_client_max: u16,
    /// The highest index of a ring from the client to the server.
    pub(super) to_server_max: u16,
    pub(super) ring_log2_max: u8,
}

/// Who the client is and which interface it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Init {
    pub(super) version: u16,
    pub(super) id: u32,
    pub(super) mode: u8,
    pub(super) secret: [u8; SECRET_LEN],
    pub(super) name: String,
}

/// Where a ring lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddRing {
    pub(super) flags: u16,
    pub(super) index: u16,
    pub(super) region: u16,
    pub(super) offset: u32,
    pub(super) log2: u8,
    pub(super) private_len: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Ack,
    Hello(Hello),
    Init(Init),
    AddRegion { index: u16, size: u64 },
    AddRing(AddRing),
    Connect { name: String },
    Connected { name: String },
    Disconnect { code: u32, reason: String },
}

impl Message {
    /// What it is called in errors.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Message::Ack => "ack",
            Message::Hello(_) => "hello",
            Message::Init(_) => "init",
            Message::AddRegion { .. } => "add region",
            Message::AddRing(_) => "add ring",
            Message::Connect { .. } => "connect",
            Message::Connected { .. } => "connected",
            Message::Disconnect { .. } => "disconnect",
        }
    }

    /// `None` if it is no message of this protocol.
    pub(super) fn parse(bytes: &[u8; MESSAGE_LEN]) -> Option<Message> {
        let mut fields = Fields(bytes);
        Some(match fields.u16()? {
            1 => Message::Ack,
            2 => Message::Hello(parse_hello(&mut fields)?),
            3 => Message::Init(parse_init(&mut fields)?),
            4 => Message::AddRegion { index: fields.u16()?, size: u64::from_ne_bytes(fields.take()?) },
            5 => Message::AddRing(parse_add_ring(&mut fields)?),
            6 => Message::Connect { name: fields.text::<NAME_LEN>()? },
            7 => Message::Connected { name: fields.text::<NAME_LEN>()? },
            8 => Message::Disconnect { code: fields.u32()?, reason: fields.text::<REASON_LEN>()? },
            _ => return None,
        })
    }

    pub(super) fn emit(&self) -> [u8; MESSAGE_LEN] {
        let mut bytes = Vec::with_capacity(MESSAGE_LEN);
        self.emit_into(&mut bytes);
        let mut message = [0; MESSAGE_LEN];
        message.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
        message
    }

    fn emit_into(&self, bytes: &mut Vec<u8>) {
        let mut put = |part: &[u8]| bytes.extend_from_slice(part);
        match self {
            Message::Ack => put(&1_u16.to_ne_bytes()),
            Message::Hello(hello) => {
                put(&2_u16.to_ne_bytes());
                put(&padded::<NAME_LEN>(&hello.name));
                let (to_client, to_server) = (hello.to_client_max, hello.to_server_max);
                for number in [hello.version_min, hello.version_max, hello.region_max, to_client, to_server] {
                    put(&number.to_ne_bytes());
                }
                put(&[hello.ring_log2_max]);
            }
            Message::Init(init) => {
                put(&3_u16.to_ne_bytes());
                put(&init.version.to_ne_bytes());
                put(&init.id.to_ne_bytes());
                put(&[init.mode]);
                put(&init.secret);
                put(&padded::<NAME_LEN>(&init.name));
            }
            Message::AddRegion { index, size } => {
                put(&4_u16.to_ne_bytes());
                put(&index.to_ne_bytes());
                put(&size.to_ne_bytes());
            }
            Message::AddRing(ring) => {
                for number in [5, ring.flags, ring.index, ring.region] {
                    put(&number.to_ne_bytes());
                }
                put(&ring.offset.to_ne_bytes());
                put(&[ring.log2]);
                put(&ring.private_len.to_ne_bytes());
            }
            Message::Connect { name } => {
                put(&6_u16.to_ne_bytes());
                put(&padded::<NAME_LEN>(name));
            }
            Message::Connected { name } => {
                put(&7_u16.to_ne_bytes());
                put(&padded::<NAME_LEN>(name));
            }
            Message::Disconnect { code, reason } => {
                put(&8_u16.to_ne_bytes());
                put(&code.to_ne_bytes());
                put(&padded::<REASON_LEN>(reason));
            }
        }
    }
}

fn parse_hello(fields: &mut Fields<'_>) -> Option<Hello> {
    Some(Hello {
        name: fields.text::<NAME_LEN>()?,
        version_min: fields.u16()?,
        version_max: fields.u16()?,
        region_max: fields.u16()?,
        to_client_max: fields.u16()?,
        to_server_max: fields.u16()?,
        ring_log2_max: fields.u8()?,
    })
}

fn parse_init(fields: &mut Fields<'_>) -> Option<Init> {
    Some(Init {
        version: fields.u16()?,
        id: fields.u32()?,
        mode: fields.u8()?,
        secret: fields.take()?,
        name: fields.text::<NAME_LEN>()?,
    })
}

fn parse_add_ring(fields: &mut Fields<'_>) -> Option<AddRing> {
    Some(AddRing {
        flags: fields.u16()?,
        index: fields.u16()?,
        region: fields.u16()?,
        offset: fields.u32()?,
        log2: fields.u8()?,
        private_len: fields.u16()?,
    })
}

/// As many bytes of the text as leave a zero at the end.
pub(super) fn padded<const LEN: usize>(text: &str) -> [u8; LEN] {
    let mut array = [0; LEN];
    array.iter_mut().take(LEN - 1).zip(text.bytes()).for_each(|(slot, byte)| *slot = byte);
    array
}

/// What is left of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const LEN: usize>(&mut self) -> Option<[u8; LEN]> {
        let (first, rest) = self.0.split_first_chunk::<LEN>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    /// Up to the first zero, what is no text of this world replaced: it is shown to people.
    fn text<const LEN: usize>(&mut self) -> Option<String> {
        let bytes: [u8; LEN] = self.take()?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn samples() -> [Message; 8] {
        let name = String::from("tidegate");
        [
            Message::Ack,
            Message::Hello(Hello {
                name: name.clone(),
                version_min: VERSION,
                version_max: VERSION,
                region_max: 255,
                to_client_max: 3,
                to_server_max: 4,
                ring_log2_max: 14,
            }),
            Message::Init(Init { version: VERSION, id: 7, mode: 0, secret: [9; 24], name: name.clone() }),
            Message::AddRegion { index: 1, size: 1 << 33 },
            Message::AddRing(AddRing { flags: 1, index: 2, region: 3, offset: 4, log2: 5, private_len: 6 }),
            Message::Connect { name: name.clone() },
            Message::Connected { name },
            Message::Disconnect { code: 1, reason: "why".into() },
        ]
    }

    #[test]
    fn what_is_emitted_is_parsed() {
        for message in samples() {
            assert_eq!(Message::parse(&message.emit()), Some(message));
        }
    }

    #[test]
    fn fields_lie_where_the_published_structures_have_them() {
        let bytes = samples()[4].emit();
        assert_eq!(bytes[..17], [5, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0, 5, 6, 0, 0, 0]);
        let bytes = samples()[3].emit();
        assert_eq!(bytes[..12], [4, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        let bytes = samples()[2].emit();
        assert_eq!(bytes[..9], [3, 0, 0, 2, 7, 0, 0, 0, 0]);
        assert_eq!((bytes[9], bytes[32], bytes[33]), (9, 9, b't'));
        let bytes = samples()[1].emit();
        assert_eq!(bytes[34..45], [0, 2, 0, 2, 255, 0, 3, 0, 4, 0, 14]);
    }

    #[test]
    fn long_names_are_cut_and_end_with_a_zero() {
        let bytes = Message::Connect { name: "n".repeat(40) }.emit();
        assert_eq!((bytes[32], bytes[33]), (b'n', 0));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_do_not(kind in 0_u8..12, bytes in proptest::collection::vec(any::<u8>(), MESSAGE_LEN)) {
            let mut message: [u8; MESSAGE_LEN] = bytes.try_into().unwrap();
            message[..2].copy_from_slice(&[kind, 0]);
            let parsed = Message::parse(&message);
            prop_assert_eq!(parsed.is_some(), (1..=8).contains(&kind));
        }
    }
}
