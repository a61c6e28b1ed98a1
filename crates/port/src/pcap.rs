//! Capture files as ports: frames replayed from one, frames recorded into one, a port recorded as it works.
//!
//! The format is classic pcap with nanoseconds, Ethernet, which every tool reads. Not pcapng, and no pacing:
//! a replay gives its frames as fast as they are taken.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use pcap_file::pcap::{PcapHeader, PcapReader};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use tidegate_base::Duration;
use tidegate_packet::{BATCH_LEN_MAX, Batch, Frame, Pool};
use tidegate_sys::clock;

use crate::singly::{Singly, fill};
use crate::{Port, PortCounters};

/// A capture file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file could not be opened or made.
    #[error("could not {attempted} the capture file {}: {source}", path.display())]
    File {
        /// `open` or `create`.
        attempted: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// What it holds is not pcap.
    #[error("{} is no pcap file: {source}; convert pcapng with: editcap -F nsecpcap", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// Where reading it ended.
        source: PcapError,
    },
    /// It was captured on something else than Ethernet.
    #[error("{} holds {link:?} frames; only Ethernet can be replayed", path.display())]
    NotEthernet {
        /// Which file.
        path: PathBuf,
        /// Its kind of link.
        link: DataLink,
    },
}

/// A capture file that is read.
#[derive(Debug)]
pub struct Replay {
    reader: PcapReader<BufReader<File>>,
    /// There is no further packet, or none that can be read.
    ended: bool,
}

impl Replay {
    /// Opens a pcap file of Ethernet frames.
    pub fn open(path: impl AsRef<Path>) -> Result<Replay, CaptureError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| CaptureError::File {
            attempted: "open",
            path: path.to_owned(),
            source,
        })?;
        let reader = PcapReader::new(BufReader::new(file));
        let reader = reader.map_err(|source| CaptureError::Format { path: path.to_owned(), source })?;
        match reader.header().datalink {
            DataLink::ETHERNET => Ok(Replay { reader, ended: false }),
            link => Err(CaptureError::NotEthernet { path: path.to_owned(), link }),
        }
    }

    /// Whether every frame was given, or the file turned out to be damaged.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The frames with their times, without those that were cut when captured. Ends with the file, or where it is damaged.
    pub fn recorded(mut self) -> impl Iterator<Item = RecordedFrame> {
        let (mut first, mut last) = (None, Duration::ZERO);
        std::iter::from_fn(move || {
            loop {
                let packet = self.reader.next_packet()?.ok()?;
                let first = *first.get_or_insert(packet.timestamp);
                last = last.max(packet.timestamp.saturating_sub(first).into());
                if packet.data.len() == packet.orig_len as usize {
                    return Some(RecordedFrame { at: last, data: packet.data.into_owned() });
                }
            }
        })
    }

    /// Puts the next packet into `frame`. False for one that was cut when captured, or does not fit.
    fn read_into(&mut self, frame: &mut Frame) -> Option<bool> {
        let packet = self.reader.next_packet().and_then(Result::ok);
        self.ended = packet.is_none();
        packet.map(|packet| packet.data.len() == packet.orig_len as usize && frame.extend(&packet.data))
    }
}

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// Since the first of the capture; that of the frame before where its clock went back.
    pub at: Duration,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// A capture file that is written; what is buffered reaches it on [`flush`](Capture::flush) and when dropped.
#[derive(Debug)]
pub struct Capture {
    file: BufWriter<File>,
}

/// Bytes of a frame that a capture keeps: all of it.
const SNAPLEN: u32 = 65_535;

impl Capture {
    /// Makes the file, or empties the one that is there.
    pub fn create(path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
        let path = path.as_ref();
        let error = |source| CaptureError::File { attempted: "create", path: path.to_owned(), source };
        let mut file = BufWriter::new(File::create(path).map_err(error)?);
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            snaplen: SNAPLEN,
            ..PcapHeader::default()
        };
        let written = header.write_to(&mut file);
        written.map_err(|source| CaptureError::Format { path: path.to_owned(), source })?;
        Ok(Capture { file })
    }

    /// Records a frame with the time of now.
    pub fn record(&mut self, frame: &Frame) -> io::Result<()> {
        let now_ns = clock::wall_ns();
        let (second, nanosecond) = ((now_ns / 1_000_000_000) as u32, (now_ns % 1_000_000_000) as u32);
        let len = frame.len() as u32;
        // The record's header: seconds, nanoseconds, bytes kept, bytes there were.
        for field in [second, nanosecond, len, len] {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.write_all(frame.data())
    }

    /// Hands what is buffered to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A port between two files: it receives what one holds, and what it sends is recorded in the other.
#[derive(Debug, Default)]
pub struct PcapPort {
    replay: Option<Replay>,
    capture: Option<Capture>,
    counters: PortCounters,
}

impl PcapPort {
    /// A port that receives the frames of `replay`, if any, and records into `capture`, if any.
    pub fn new(replay: Option<Replay>, capture: Option<Capture>) -> PcapPort {
        PcapPort { replay, capture, counters: PortCounters::default() }
    }

    /// Whether nothing more will be received.
    pub fn is_ended(&self) -> bool {
        self.replay.as_ref().is_none_or(Replay::is_ended)
    }
}

impl Singly for PcapPort {
    /// The next frame that can be replayed; those that cannot are counted.
    fn receive(&mut self, pool: &mut Pool) -> Option<Frame> {
        let replay = self.replay.as_mut().filter(|replay| !replay.ended)?;
        let mut frame = pool.alloc()?;
        loop {
            match replay.read_into(&mut frame) {
                Some(true) => return Some(frame),
                Some(false) => self.counters.rx_drop_count += 1,
                None => break,
            }
        }
        pool.free(frame);
        None
    }

    fn counters_mut(&mut self) -> &mut PortCounters {
        &mut self.counters
    }
}

impl Port for PcapPort {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        fill(self, pool, batch)
    }

    fn tx_room(&mut self, _: &mut Pool) -> usize {
        BATCH_LEN_MAX
    }

    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.drain() {
            match self.capture.as_mut().map(|capture| capture.record(&frame)) {
                Some(Err(_)) => self.counters.tx_drop_count += 1,
                Some(Ok(())) | None => {
                    self.counters.count_sent(frame.len());
                }
            }
            pool.free(frame);
        }
    }

    fn flush(&mut self, _: &mut Pool) {}

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn frame_len_max(&self) -> usize {
        SNAPLEN as usize
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}

/// Another port, with everything that crosses it recorded.
#[derive(Debug)]
pub struct CapturedPort<P> {
    port: P,
    capture: Capture,
}

impl<P: Port> CapturedPort<P> {
    /// Records what `port` receives and sends. A full disk ends the recording, never the traffic.
    pub fn new(port: P, capture: Capture) -> CapturedPort<P> {
        CapturedPort { port, capture }
    }

    fn record<'a>(&mut self, frames: impl Iterator<Item = &'a Frame>) {
        for frame in frames {
            if self.capture.record(frame).is_err() {
                return;
            }
        }
    }
}

impl<P: Port> Port for CapturedPort<P> {
    fn rx(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        let count = self.port.rx(pool, batch);
        self.record(batch.iter().skip(before));
        count
    }

    fn tx_room(&mut self, pool: &mut Pool) -> usize {
        self.port.tx_room(pool)
    }

    /// Records the frames that the port has room for, before it takes them.
    fn tx(&mut self, pool: &mut Pool, batch: &mut Batch) {
        let room = self.port.tx_room(pool);
        self.record(batch.iter().take(room));
        self.port.tx(pool, batch);
    }

    fn flush(&mut self, pool: &mut Pool) {
        self.port.flush(pool);
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.port.wait_fd()
    }

    fn frame_len_max(&self) -> usize {
        self.port.frame_len_max()
    }

    fn counters(&self) -> PortCounters {
        self.port.counters()
    }
}

#[cfg(test)]
mod tests;
