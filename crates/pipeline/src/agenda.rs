//! At which input gates frames wait: a bit each, the lowest first, so that a gate is served after all that feed it.

/// Queues by number; numbers rise downstream.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The first 64: few graphs have more.
    first: u64,
    more: Vec<u64>,
}

/// The number of queues that [`Agenda::add_first`] takes.
pub(crate) const FIRST_COUNT: usize = 64;

impl Agenda {
    /// Nothing waits at `queue_count` queues.
    pub(crate) fn new(queue_count: usize) -> Self {
        Self { first: 0, more: vec![0; queue_count.div_ceil(64).saturating_sub(1)] }
    }

    /// Something waits at `queue`.
    #[inline]
    pub(crate) fn add(&mut self, queue: usize) {
        if queue < FIRST_COUNT {
            self.add_first(queue);
        } else if let Some(word) = self.more.get_mut(queue / 64 - 1) {
            *word |= 1 << (queue % 64);
        }
    }

    /// Something waits at `queue`, which is one of the first.
    #[inline]
    pub(crate) const fn add_first(&mut self, queue: usize) {
        self.first |= 1 << (queue % FIRST_COUNT);
    }

    /// Takes the first queue off at which something waits, where none does before `guess`. A guess that is right costs
    /// least: the processor goes on with it, where a number that was read would have to arrive first.
    #[inline]
    pub(crate) fn take(&mut self, guess: usize) -> Option<usize> {
        let bit = 1_u64.checked_shl(guess as u32).unwrap_or(0);
        if self.first & bit != 0 {
            self.first ^= bit;
            return Some(guess);
        }
        if self.first == 0 && self.more.is_empty() { None } else { self.take_first() }
    }

    #[inline(never)]
    fn take_first(&mut self) -> Option<usize> {
        if self.first == 0 {
            return self.take_more();
        }
        let at = self.first.trailing_zeros() as usize;
        self.first &= self.first - 1;
        Some(at)
    }

    #[cold]
    fn take_more(&mut self) -> Option<usize> {
        let at = self.more.iter().position(|word| *word != 0)?;
        let bit = self.more[at].trailing_zeros() as usize;
        self.more[at] &= self.more[at] - 1;
        Some((at + 1) * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_furthest_upstream_comes_first_and_each_once() {
        let mut agenda = Agenda::new(200);
        for queue in [130, 3, 64, 3, 199] {
            agenda.add(queue);
        }
        let order: Vec<usize> = std::iter::from_fn(|| agenda.take(0)).collect();
        assert_eq!(order, [3, 64, 130, 199]);
    }

    #[test]
    fn a_right_guess_is_taken_and_a_wrong_one_does_no_harm() {
        let mut agenda = Agenda::new(70);
        [3, 4, 9, 66].into_iter().for_each(|queue| agenda.add(queue));
        assert_eq!(
            [3, 4, 5, 10, 67].map(|guess| agenda.take(guess)),
            [Some(3), Some(4), Some(9), Some(66), None]
        );
    }
}
