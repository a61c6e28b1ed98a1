//! Which steps have frames waiting: a bit each, the lowest first, so that a step is taken after all that feed it.

/// Steps by number; numbers rise downstream.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// The first 64: few graphs have more.
    first: u64,
    more: Vec<u64>,
}

impl Agenda {
    /// Nothing is due of `step_count` steps.
    pub(crate) fn new(step_count: usize) -> Self {
        Self { first: 0, more: vec![0; step_count.div_ceil(64).saturating_sub(1)] }
    }

    /// `step` has something to do.
    #[inline]
    pub(crate) fn add(&mut self, step: usize) {
        if step < 64 {
            self.first |= 1 << step;
        } else if let Some(word) = self.more.get_mut(step / 64 - 1) {
            *word |= 1 << (step % 64);
        }
    }

    /// Takes the first step off that has something to do.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<usize> {
        if self.first != 0 {
            let bit = self.first.trailing_zeros() as usize;
            self.first &= self.first - 1;
            return Some(bit);
        }
        if self.more.is_empty() { None } else { self.take_more() }
    }

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
        for step in [130, 3, 64, 3, 199] {
            agenda.add(step);
        }
        let order: Vec<usize> = std::iter::from_fn(|| agenda.take_first()).collect();
        assert_eq!(order, [3, 64, 130, 199]);
    }
}
