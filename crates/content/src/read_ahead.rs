//! What a worker has read of large files and not sent yet.
//!
//! A stream asks for a segment at a time; a window holds up to 64 KiB from where it asked, so that most
//! segments cost a copy and no system call. With more streams than windows, windows are thrown away half
//! used and reading far ahead only wastes memory bandwidth: the length read adapts, doubling after a window
//! that was used up, halving after one that was not.
//!
//! Invariant: a window holds exactly the bytes of its file and offset; no memory is taken before the first
//! large file is served.

use crate::file::StreamedFile;

const WINDOW_COUNT: usize = 32;
const READ_LEN_MAX: usize = 64 << 10;
const READ_LEN_MIN: usize = 4 << 10;

struct Window {
    file_id: u64,
    offset: u64,
    bytes: Vec<u8>,
    served_len: usize,
}

impl Window {
    /// Where `offset` of the file is in this window, if it is.
    #[inline]
    fn position(&self, file: &StreamedFile, offset: u64) -> Option<usize> {
        let position = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        (self.file_id == file.id() && position <= self.bytes.len()).then_some(position)
    }

    /// Whether it was worth reading.
    fn was_used(&self) -> bool {
        self.served_len >= self.bytes.len() / 2
    }

    fn refill(&mut self, file: &StreamedFile, offset: u64, len: usize) -> bool {
        self.bytes.resize(len, 0);
        (self.file_id, self.offset, self.served_len) = (file.id(), offset, 0);
        let is_good = file.read(offset, &mut self.bytes);
        if !is_good {
            self.bytes.clear();
        }
        is_good
    }
}

/// A worker's windows.
pub(crate) struct ReadAhead {
    windows: Vec<Window>,
    next: usize,
    read_len: usize,
}

impl ReadAhead {
    pub(crate) const fn new() -> Self {
        Self { windows: Vec::new(), next: 0, read_len: READ_LEN_MAX }
    }

    /// Fills `out` with the file's bytes from `offset` on. False if the file no longer has them.
    pub(crate) fn read(&mut self, file: &StreamedFile, offset: u64, out: &mut [u8]) -> bool {
        let near = self.windows.iter().position(|w| w.position(file, offset).is_some());
        if near.is_some_and(|index| self.serve(index, file, offset, out)) {
            return true;
        }
        // The window that ends here belongs to the same stream, which has moved on.
        let index = near.unwrap_or_else(|| self.victim());
        self.adapt(index);
        let left = usize::try_from(file.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = self.read_len.max(out.len()).min(left);
        self.windows[index].refill(file, offset, len) && self.serve(index, file, offset, out)
    }

    /// Copies from a window, if all of `out` is in it.
    fn serve(&mut self, index: usize, file: &StreamedFile, offset: u64, out: &mut [u8]) -> bool {
        let window = &mut self.windows[index];
        let found = window.position(file, offset).and_then(|at| window.bytes.get(at..at + out.len()));
        if let Some(bytes) = found {
            out.copy_from_slice(bytes);
            window.served_len += out.len();
        }
        found.is_some()
    }

    /// A new window while there may be more, the oldest one then.
    fn victim(&mut self) -> usize {
        if self.windows.len() < WINDOW_COUNT {
            self.windows.push(Window { file_id: u64::MAX, offset: 0, bytes: Vec::new(), served_len: 0 });
            return self.windows.len() - 1;
        }
        self.next = (self.next + 1) % WINDOW_COUNT;
        self.next
    }

    fn adapt(&mut self, index: usize) {
        let read_len = if self.windows[index].was_used() { self.read_len * 2 } else { self.read_len / 2 };
        self.read_len = read_len.clamp(READ_LEN_MIN, READ_LEN_MAX);
    }
}
