//! Messages on a stream: each behind its length in two bytes (RFC 1035 section 4.2.2), wherever the stream is
//! cut into segments.

/// The longest message that a length can say.
pub(crate) const MESSAGE_LEN_MAX: usize = u16::MAX as usize;
/// The length before a message.
pub(crate) const PREFIX_LEN: usize = 2;
/// Answers are gathered up to here before they go out.
const BLOCK_LEN: usize = 16 << 10;

/// The first message of `stream`, if all of it is there.
pub(crate) fn first_message(stream: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = stream.split_first_chunk::<PREFIX_LEN>()?;
    rest.get(..usize::from(u16::from_be_bytes(*prefix)))
}

/// How many bytes the first message of `stream` takes with its length, as far as that is known.
pub(super) fn first_len(stream: &[u8]) -> usize {
    let prefix = stream.first_chunk::<PREFIX_LEN>();
    PREFIX_LEN + prefix.map_or(0, |prefix| usize::from(u16::from_be_bytes(*prefix)))
}

/// Where a worker writes answers, one behind the other, before they go out as one block.
pub(super) struct Room {
    bytes: Box<[u8]>,
    used: usize,
    message_count: u64,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BLOCK_LEN + PREFIX_LEN + MESSAGE_LEN_MAX].into(), used: 0, message_count: 0 }
    }

    /// Where the next message may be written: always as much as the longest takes.
    pub(super) fn for_message(&mut self) -> &mut [u8] {
        &mut self.bytes[self.used + PREFIX_LEN..][..MESSAGE_LEN_MAX]
    }

    /// The message is written, in the first `len` bytes.
    pub(super) fn commit(&mut self, len: usize) {
        let len = len.min(MESSAGE_LEN_MAX);
        self.bytes[self.used..][..PREFIX_LEN].copy_from_slice(&(len as u16).to_be_bytes());
        self.used += PREFIX_LEN + len;
        self.message_count += 1;
    }

    /// Whether what was written should go out before more is.
    pub(super) const fn is_full(&self) -> bool {
        self.used >= BLOCK_LEN
    }

    /// How many bytes wait to go out.
    pub(super) const fn len(&self) -> usize {
        self.used
    }

    /// How many messages those are.
    pub(super) const fn message_count(&self) -> u64 {
        self.message_count
    }

    /// What was written, and room again.
    pub(super) fn drain(&mut self) -> &[u8] {
        self.message_count = 0;
        let used = std::mem::take(&mut self.used);
        &self.bytes[..used]
    }
}
