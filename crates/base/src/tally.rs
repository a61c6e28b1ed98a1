//! A number that one thread counts and others read.
//!
//! Not a shared counter: with two writers counts would be lost. Each worker has its own, and who shows them adds
//! them up.

use core::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread adds to and others read.
#[derive(Default, Debug)]
pub struct Tally(AtomicU64);

impl Tally {
    /// Adds `n`. A load and a store, no locked instruction: there is one writer.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The number now.
    #[inline]
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares the numbers of one thread: those being counted, each a [`Tally`](crate::Tally), and the same at one
/// moment.
///
/// ```
/// tidegate_base::tallies! {
///     /// Numbers as they are being counted.
///     pub struct DoorTally;
///     /// Numbers at one moment.
///     pub struct DoorCounters;
///     /// Who came in.
///     entered_count,
/// }
/// let door = DoorTally::default();
/// door.entered_count.add(2);
/// let now = door.read();
/// assert_eq!(now.plus(now).entered_count, 4);
/// assert_eq!(now.entries().next(), Some(("entered_count", "Who came in.", 2)));
/// ```
#[macro_export]
macro_rules! tallies {
    (
        $(#[$tally_meta:meta])* $tally_vis:vis struct $tally:ident;
        $(#[$counters_meta:meta])* $counters_vis:vis struct $counters:ident;
        $($(#[doc = $doc:literal])+ $name:ident,)+
    ) => {
        $(#[$tally_meta])*
        #[derive(Default, Debug)]
        $tally_vis struct $tally {
            $($(#[doc = $doc])+ $tally_vis $name: $crate::Tally,)+
        }

        $(#[$counters_meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        $counters_vis struct $counters {
            $($(#[doc = $doc])+ $counters_vis $name: u64,)+
        }

        impl $tally {
            /// The numbers now.
            $tally_vis fn read(&self) -> $counters {
                $counters { $($name: self.$name.read(),)+ }
            }
        }

        impl $counters {
            /// Each number with its name and what it counts, for an exporter.
            $counters_vis fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), concat!($($doc),+).trim_ascii(), self.$name)),+].into_iter()
            }

            /// The sum over threads.
            #[must_use]
            $counters_vis const fn plus(self, other: Self) -> Self {
                Self { $($name: self.$name.wrapping_add(other.$name),)+ }
            }
        }
    };
}
