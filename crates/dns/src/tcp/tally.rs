//! What a worker's connections did: written by its worker, read by whoever shows it.

use tidegate_base::Tally;

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A worker's numbers, as they are being counted.
        #[derive(Default, Debug)]
        pub struct TcpTally {
            $($(#[doc = $doc])+ pub $name: Tally,)+
        }

        /// A worker's numbers at one moment.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct TcpCounters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl TcpTally {
            /// The numbers now.
            pub fn read(&self) -> TcpCounters {
                TcpCounters { $($name: self.$name.read(),)+ }
            }
        }

        impl TcpCounters {
            /// Each number with its name and what it counts, for an exporter.
            pub fn entries(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), concat!($($doc),+).trim_ascii(), self.$name)),+].into_iter()
            }

            /// The sum over workers.
            #[must_use]
            pub const fn plus(self, other: Self) -> Self {
                Self { $($name: self.$name.wrapping_add(other.$name),)+ }
            }
        }
    };
}

counters! {
    /// Connections let in.
    accepted_count,
    /// Connections refused because there were too many.
    refused_count,
    /// Connections that ended.
    closed_count,
    /// Messages taken from connections.
    query_count,
    /// Messages given back, those of transfers included.
    answer_count,
    /// Bytes of those, lengths included.
    answer_bytes,
    /// Transfers begun.
    transfer_count,
    /// Transfers that came to their last message.
    transfer_done_count,
    /// Connections closed because they were idle, or a query did not come whole in time.
    idle_timeout_count,
    /// Connections reset because the peer took nothing for too long.
    stalled_count,
    /// Connections closed because what came was no message.
    hopeless_count,
}
