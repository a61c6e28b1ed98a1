//! What a worker's site did: written by its worker, read by whoever shows it.

use tidegate_base::Tally;

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A worker's numbers, as they are being counted.
        #[derive(Default, Debug)]
        pub struct SiteTally {
            $($(#[doc = $doc])+ pub $name: Tally,)+
        }

        /// A worker's numbers at one moment.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct SiteCounters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl SiteTally {
            /// The numbers now.
            pub fn read(&self) -> SiteCounters {
                SiteCounters { $($name: self.$name.read(),)+ }
            }
        }

        impl SiteCounters {
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
    /// Requests answered.
    request_count,
    /// Requests answered from memory of the same bytes.
    repeated_count,
    /// Requests that waited for a file to be loaded.
    awaited_count,
    /// Answers with a status of class 2.
    success_count,
    /// Answers with a status of class 3.
    redirection_count,
    /// Answers with a status of class 4.
    client_error_count,
    /// Answers with a status of class 5.
    server_error_count,
    /// Bytes of heads and bodies that were handed to TCP.
    response_bytes,
    /// Connections closed because they were idle.
    idle_timeout_count,
    /// Connections closed because a request did not come whole in time.
    header_timeout_count,
    /// Records that the access log had no room for.
    unlogged_count,
}

impl SiteTally {
    /// Counts one answer.
    #[inline]
    pub fn answer(&self, code: u16, len: u64) {
        self.request_count.add(1);
        self.response_bytes.add(len);
        let class = match code {
            ..=299 => &self.success_count,
            300..=399 => &self.redirection_count,
            400..=499 => &self.client_error_count,
            500.. => &self.server_error_count,
        };
        class.add(1);
    }
}
