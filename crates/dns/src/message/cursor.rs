//! A walk over a message that is not a query on the data path: an answer of another server, or a record at its end.
//!
//! Not the parser of queries, which knows what to expect and looks at nothing else.

use crate::name::NameBuf;

/// The bytes are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

/// A message, or a part of one, and how far it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'m> {
    pub(crate) message: &'m [u8],
    pub(crate) at: usize,
}

impl<'m> Cursor<'m> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'m [u8], Malformed> {
        let bytes = self.message.get(self.at..self.at + len).ok_or(Malformed)?;
        self.at += len;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// A name, its pointers followed.
    pub(crate) fn name(&mut self) -> Result<NameBuf, Malformed> {
        let mut name = NameBuf::new();
        self.at = name.decompress(self.message, self.at).map_err(|_| Malformed)?;
        Ok(name)
    }

    /// Steps over a name, following no pointer.
    pub(crate) fn skip_name(&mut self) -> Result<(), Malformed> {
        loop {
            match self.take(1)?[0] {
                0 => return Ok(()),
                len @ 1..=63 => self.take(usize::from(len))?,
                0xc0.. => return self.take(1).map(drop),
                _ => return Err(Malformed),
            };
        }
    }
}
