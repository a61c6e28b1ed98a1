//! What a worker's connections did: written by its worker, read by whoever shows it.

tidegate_base::tallies! {
    /// A worker's numbers, as they are being counted.
    pub struct TcpTally;
    /// A worker's numbers at one moment.
    pub struct TcpCounters;
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
