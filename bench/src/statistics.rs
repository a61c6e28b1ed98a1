//! The one statistic that results quote: the median of a few runs, which a disturbed run does not move.

/// The middle value, or the mean of the two middle ones; 0 of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// The median of those values that are known; none of none.
pub(crate) fn median_known(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.into_iter().flatten().collect();
    (!known.is_empty()).then(|| median(known))
}

#[cfg(test)]
mod tests {
    use super::{median, median_known};

    #[test]
    fn what_is_not_known_does_not_count() {
        assert_eq!(median_known([None, Some(3.0), Some(1.0), None]), Some(2.0));
        assert_eq!(median_known([None, None]), None);
    }

    #[test]
    fn the_middle_of_odd_even_and_none() {
        assert_eq!(median([9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median([4.0, 1.0, 2.0, 100.0]), 3.0);
        assert_eq!(median([]), 0.0);
    }
}
