//! How often times were how long: buckets of one width, and one for all that is longer.

/// What a histogram says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HistogramSummary {
    /// Values.
    pub count: u64,
    /// Values beyond the last bucket.
    pub above_range: u64,
    /// Nanoseconds of a bucket.
    pub resolution_ns: u64,
    /// The least value.
    pub min_ns: u64,
    /// The mean.
    pub avg_ns: u64,
    /// The greatest value.
    pub max_ns: u64,
    /// All values together.
    pub total_ns: u64,
    /// For each share asked for, the upper end of the bucket in which it lies; the greatest value, if beyond the last.
    pub percentile_values_ns: Vec<u64>,
}

/// The histogram.
pub(super) struct Histogram {
    buckets: Vec<u64>,
    resolution_ns: u64,
    above_range: u64,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    total_ns: u64,
}

impl Histogram {
    /// Buckets of `resolution_ns` each up to `max_ns`.
    pub(super) fn new(max_ns: u64, resolution_ns: u64) -> Self {
        Self {
            buckets: vec![0; (max_ns / resolution_ns) as usize + 1],
            resolution_ns,
            above_range: 0,
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            total_ns: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, ns: u64) {
        match self.buckets.get_mut((ns / self.resolution_ns) as usize) {
            Some(bucket) => *bucket += 1,
            None => self.above_range += 1,
        }
        self.count += 1;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.total_ns = self.total_ns.saturating_add(ns);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new((self.buckets.len() as u64 - 1) * self.resolution_ns, self.resolution_ns);
    }

    /// What it says, with the values below which these shares of all lie; shares from 0 to 1, rising.
    pub(super) fn summary(&self, shares: &[f64]) -> HistogramSummary {
        let is_empty = self.count == 0;
        HistogramSummary {
            count: self.count,
            above_range: self.above_range,
            resolution_ns: self.resolution_ns,
            min_ns: if is_empty { 0 } else { self.min_ns },
            avg_ns: self.total_ns.checked_div(self.count).unwrap_or(0),
            max_ns: self.max_ns,
            total_ns: self.total_ns,
            percentile_values_ns: self.percentiles(shares),
        }
    }

    fn percentiles(&self, shares: &[f64]) -> Vec<u64> {
        let mut buckets = self.buckets.iter().enumerate();
        let (mut seen, mut value) = (0, 0);
        let mut values = Vec::with_capacity(shares.len());
        for share in shares {
            let wanted = (share * self.count as f64).ceil() as u64;
            while seen < wanted {
                let Some((n, count)) = buckets.next() else {
                    value = self.max_ns;
                    break;
                };
                seen += count;
                value = ((n as u64 + 1) * self.resolution_ns).min(self.max_ns);
            }
            values.push(value);
        }
        values
    }
}
