//! What a worker's site did: written by its worker, read by whoever shows it.

tidegate_base::tallies! {
    /// A worker's numbers, as they are being counted.
    pub struct SiteTally;
    /// A worker's numbers at one moment.
    pub struct SiteCounters;
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
