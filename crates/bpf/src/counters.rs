//! How many frames got which verdict, and why.

use crate::abi::{Reason, Verdict};

/// Frames counted a [`Reason`], summed over all CPUs, since the program was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    frames: [u64; Reason::ALL.len()],
}

impl Counters {
    pub(crate) fn try_from_fn<E>(mut frames: impl FnMut(Reason) -> Result<u64, E>) -> Result<Self, E> {
        let mut counters = Self { frames: [0; Reason::ALL.len()] };
        for reason in Reason::ALL {
            counters.frames[reason as usize] = frames(reason)?;
        }
        Ok(counters)
    }

    /// Frames counted under `reason`.
    pub const fn of(&self, reason: Reason) -> u64 {
        self.frames[reason as usize]
    }

    /// Frames that got `verdict`, for whatever reason.
    pub fn total(&self, verdict: Verdict) -> u64 {
        self.iter().filter(|(reason, _)| reason.verdict() == verdict).map(|(_, frames)| frames).sum()
    }

    /// Every reason with its frames, in the order of [`Reason::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::ALL.into_iter().zip(self.frames)
    }

    /// What was counted since `earlier`, which must be an older reading of the same program.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for (frames, before) in difference.frames.iter_mut().zip(earlier.frames) {
            *frames = frames.wrapping_sub(before);
        }
        difference
    }
}
