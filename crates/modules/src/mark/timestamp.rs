//! Gives every frame the time, so that a measure further down knows how long it was under way.
//!
//! | | |
//! |---|---|
//! | gates | in: 0; out: 0 |
//! | parameters | an offset in the frame (54: behind Ethernet, IPv4 and TCP), where a marker and the time take 12 bytes; or an attribute of 8 bytes (`timestamp`) |
//! | attributes | writes the one it is given |
//! | counters | `no_room`: frames too full for it, which pass unchanged |
//! | short frames | grow, by zeros and the time |
//! | rate | 4.2 ns a frame at most, the making of a longer one among it, on one core (`make bench-pipeline`) |
//!
//! The time is that at which the worker's round began, in nanoseconds. Checksums are not put right.

use crate::parameter::{FRAME_LEN_MAX, ParameterError};
use crate::stamp::{STAMP_LEN, write_stamp};
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{Attribute, Place, Slot};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Behind Ethernet, IPv4 and TCP headers without options.
pub const TIMESTAMP_OFFSET_DEFAULT: u64 = 54;

/// Where the time goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimestampPlace {
    /// Bytes from the frame's start.
    Offset(u64),
    /// An attribute of this name.
    Attribute(String),
}

impl Default for TimestampPlace {
    fn default() -> Self {
        Self::Offset(TIMESTAMP_OFFSET_DEFAULT)
    }
}

enum Target {
    Data(usize),
    Attribute(Slot<8>),
}

/// The module.
pub struct Timestamp {
    target: Target,
    attributes: Vec<Attribute>,
    no_room_count: u64,
}

impl Timestamp {
    /// Puts the time there.
    pub fn new(place: &TimestampPlace) -> Result<Self, ParameterError> {
        let size = STAMP_LEN as u64;
        let (target, attributes) = match place {
            TimestampPlace::Offset(offset) if offset.saturating_add(size) > FRAME_LEN_MAX as u64 => {
                return Err(ParameterError::BeyondFrame { offset: *offset, size });
            }
            TimestampPlace::Offset(offset) => (Target::Data(*offset as usize), Vec::new()),
            TimestampPlace::Attribute(name) if name.is_empty() => return Err(ParameterError::Nameless),
            TimestampPlace::Attribute(name) => {
                (Target::Attribute(Slot::new(Place::Unread)), vec![Attribute::write(name.clone(), 8)])
            }
        };
        Ok(Self { target, attributes, no_room_count: 0 })
    }
}

impl Module for Timestamp {
    fn class(&self) -> &'static str {
        "timestamp"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::THROUGH
    }

    #[inline]
    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        let now = ctx.now().as_nanos();
        for frame in batch.iter_mut() {
            match self.target {
                Target::Data(offset) => self.no_room_count += u64::from(!write_stamp(frame, offset, now)),
                Target::Attribute(slot) => slot.write_number(frame, now),
            }
        }
        ctx.emit_batch(0, batch);
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn bind(&mut self, places: &[Place]) {
        if let (Target::Attribute(slot), [place]) = (&mut self.target, places) {
            *slot = Slot::new(*place);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("no_room", self.no_room_count)]
    }
}
