//! A gate hook that writes what passes to a FIFO, as a pcap file (`tcpdump -r FIFO`).
//!
//! A worker never waits for the reader: a frame that the FIFO has no room for is left out and counted. A record is at
//! most PIPE_BUF bytes (pipe(7)), so that it is written whole or not at all.

use crate::change::Daemon;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use tidegate_base::Instant;
use tidegate_control::controller::Direction;
use tidegate_control::{Errno, Fault, Message};
use tidegate_packet::Frame;
use tidegate_pipeline::{GateHook, GateSide};

/// open(2): do not wait for a reader.
const O_NONBLOCK: i32 = 0o4000;
/// Bytes of a frame that are written, so that a record stays below PIPE_BUF.
const SNAP_LEN: usize = 2048;
/// A pcap file's head: nanoseconds, version 2.4, Ethernet.
const HEAD_LEN: usize = 24;

/// The class's name.
pub(crate) const TCPDUMP: &str = "TcpDump";

/// A hook that is on a gate.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    pub(crate) name: String,
    pub(crate) module: String,
    pub(crate) side: GateSide,
    pub(crate) arg: Message,
}

/// The hook itself.
pub(crate) struct FifoTap {
    fifo: Option<File>,
    record: Vec<u8>,
}

impl FifoTap {
    /// Opens `path`, which somebody must be reading.
    pub(crate) fn open(path: &str) -> Result<Self, Fault> {
        let failed = |why: String| Fault::new(Errno::EIO, format!("cannot write to {path}: {why}"));
        let is_fifo = std::fs::metadata(path).map_err(|e| failed(e.to_string()))?.file_type().is_fifo();
        if !is_fifo {
            return Err(Fault::invalid(format!("{path} is no FIFO: make one (mkfifo), and read from it")));
        }
        let mut fifo = OpenOptions::new()
            .write(true)
            .custom_flags(O_NONBLOCK)
            .open(path)
            .map_err(|e| failed(format!("{e} (is anybody reading it?)")))?;
        fifo.write_all(&head()).map_err(|e| failed(e.to_string()))?;
        Ok(Self { fifo: Some(fifo), record: Vec::with_capacity(SNAP_LEN + 16) })
    }

    fn write(&mut self, wall_ns: u64, frame: &Frame) {
        let Some(fifo) = &mut self.fifo else { return };
        let data = frame.data();
        let kept = &data[..data.len().min(SNAP_LEN)];
        let fields = [
            (wall_ns / 1_000_000_000) as u32,
            (wall_ns % 1_000_000_000) as u32,
            kept.len() as u32,
            data.len() as u32,
        ];
        self.record.clear();
        fields.iter().for_each(|field| self.record.extend_from_slice(&field.to_le_bytes()));
        self.record.extend_from_slice(kept);
        match fifo.write(&self.record) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // Nobody reads any more.
            Err(_) => self.fifo = None,
        }
    }
}

fn head() -> [u8; HEAD_LEN] {
    let mut head = [0; HEAD_LEN];
    let words = [0xa1b2_3c4d_u32, 2 | 4 << 16, 0, 0, SNAP_LEN as u32, 1];
    for (place, word) in head.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    head
}

impl GateHook for FifoTap {
    fn class(&self) -> &'static str {
        TCPDUMP
    }

    fn on_frames(&mut self, _: Instant, frames: &[Frame]) {
        let now = tidegate_sys::clock::wall_ns();
        frames.iter().for_each(|frame| self.write(now, frame));
    }
}

impl Daemon {
    /// Forgets hooks whose gate is not connected any more.
    pub(crate) fn drop_lost_taps(&mut self) {
        let links = &self.plant.links;
        self.taps.retain(|tap| match tap.side {
            GateSide::Output(gate) => links.contains_key(&(tap.module.clone(), gate as u16)),
            GateSide::Input(gate) => links.values().any(|to| *to == (tap.module.clone(), gate as u16)),
        });
    }

    /// The connected gates that a hook's place means.
    pub(crate) fn sides(
        &self,
        module: Option<&str>,
        direction: Direction,
        gate: Option<u16>,
    ) -> Vec<(String, GateSide)> {
        let is_meant = |(name, number): &&(String, u16)| {
            module.is_none_or(|module| module == name) && gate.is_none_or(|gate| gate == *number)
        };
        let mut sides: Vec<(String, GateSide)> = match direction {
            Direction::Output => {
                let gates = self.plant.links.keys().filter(is_meant);
                gates.map(|(name, gate)| (name.clone(), GateSide::Output((*gate).into()))).collect()
            }
            Direction::Input => {
                let gates = self.plant.links.values().filter(is_meant);
                gates.map(|(name, gate)| (name.clone(), GateSide::Input((*gate).into()))).collect()
            }
        };
        sides.dedup();
        sides
    }
}
