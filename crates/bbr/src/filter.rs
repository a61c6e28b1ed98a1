//! The greatest value of late, in constant space: three candidates, each the best since the one before it.

/// A maximum over a window of rounds.
#[derive(Debug, Default)]
pub(crate) struct MaxFilter {
    /// The best, and the best after each; with the round that it was seen in.
    best: [(u64, u64); 3],
}

impl MaxFilter {
    /// The greatest value of the last `window` rounds.
    pub(crate) const fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Takes a value of round `round`; what is `window` rounds old is forgotten.
    pub(crate) fn update(&mut self, round: u64, value: u64, window: u64) {
        let new = (round, value);
        let is_stale = round.saturating_sub(self.best[2].0) > window;
        if value >= self.best[0].1 || is_stale {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        self.age(new, window);
    }

    /// Lets the best go when its time is over, and the others before they all are of one round.
    fn age(&mut self, new: (u64, u64), window: u64) {
        let since = |at: u64| new.0.saturating_sub(at);
        let [first, second, third] = self.best;
        if since(first.0) > window {
            self.best = [second, third, new];
            if since(self.best[0].0) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if second.0 == first.0 && since(second.0) > window / 4 {
            self.best = [first, new, new];
        } else if third.0 == second.0 && since(third.0) > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MaxFilter;

    /// The same by remembering everything.
    fn greatest(values: &[(u64, u64)], now: u64, window: u64) -> u64 {
        values.iter().filter(|(round, _)| now - round <= window).map(|(_, value)| *value).max().unwrap_or(0)
    }

    #[test]
    fn the_greatest_value_stays_for_its_window_and_no_longer() {
        let mut filter = MaxFilter::default();
        filter.update(1, 100, 10);
        for round in 2..=11 {
            filter.update(round, 40, 10);
            assert_eq!(filter.get(), 100, "round {round}");
        }
        filter.update(12, 40, 10);
        assert_eq!(filter.get(), 40);
    }

    #[test]
    fn a_falling_sequence_is_followed_from_above() {
        let mut filter = MaxFilter::default();
        let mut values = Vec::new();
        for round in 0..200 {
            let value = 1000 - round * 4;
            values.push((round, value));
            filter.update(round, value, 10);
            let (truth, seen) = (greatest(&values, round, 10), filter.get());
            assert!(seen <= truth && seen + 4 * 10 >= truth, "round {round}: {seen} for {truth}");
        }
    }

    #[test]
    fn a_greater_value_counts_at_once() {
        let mut filter = MaxFilter::default();
        for (round, value) in [(1, 10), (2, 5), (3, 20), (4, 7)] {
            filter.update(round, value, 10);
        }
        assert_eq!(filter.get(), 20);
    }
}
