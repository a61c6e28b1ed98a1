//! Places for records: what was given back in the very length, then what was never used, then longer places cut, then joined ones.
//!
//! ```text
//!   given back --> resting (a reader may still be in it) --quiesce--> free, by length --> taken again, cut, or joined
//! ```
//! Records of few lengths, as rules of one kind have, find a free place of their length. Joining sorts all that is free, and is
//! for when nothing else helps.
//!
//! Invariant: a place lies within one page and begins where [`record_start_max`] allows; nothing is taken while it rests.

use std::ops::Range;

use crate::layout::{PAGE_WORDS, RECORD_BODY, RECORD_WORDS_MAX, record_start_max};

/// The shortest record: a header and a word each of key and template or target.
const PLACE_WORDS_MIN: usize = RECORD_BODY + 2;

/// The pages of records.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Longer than a record: what was never used, and what was joined.
    spans: Vec<Range<usize>>,
    /// First words of places, by length.
    free: Vec<Vec<usize>>,
    /// Too short for a record, or too near to the end of their page.
    scraps: Vec<Range<usize>>,
    resting: Vec<(usize, usize)>,
    used_words: usize,
}

impl Arena {
    /// Over the pages from `first_page` to before `page_count`.
    pub(crate) fn new(first_page: usize, page_count: usize) -> Self {
        let page = |page| page * PAGE_WORDS..(page + 1) * PAGE_WORDS;
        Self {
            spans: (first_page..page_count).rev().map(page).collect(),
            free: vec![Vec::new(); RECORD_WORDS_MAX + 1],
            scraps: Vec::new(),
            resting: Vec::new(),
            used_words: 0,
        }
    }

    /// A place for so many words; `None`: there is none, but what rests may be one, and [`join`](Self::join) may make one.
    pub(crate) fn take(&mut self, words: usize) -> Option<usize> {
        let place = self.free[words].pop();
        let place = place.or_else(|| self.take_from_span(words)).or_else(|| self.cut(words))?;
        self.used_words += words;
        Some(place)
    }

    fn take_from_span(&mut self, words: usize) -> Option<usize> {
        while let Some(span) = self.spans.last_mut() {
            if span.len() >= words && span.start % PAGE_WORDS <= record_start_max(words) {
                let place = span.start;
                span.start += words;
                return Some(place);
            }
            let short = span.clone();
            self.spans.pop();
            self.put_away(short);
        }
        None
    }

    /// Of a longer free place the front part.
    fn cut(&mut self, words: usize) -> Option<usize> {
        let longer = (words + 1..=RECORD_WORDS_MAX).find(|longer| !self.free[*longer].is_empty())?;
        let place = self.free[longer].pop()?;
        self.put_away(place + words..place + longer);
        Some(place)
    }

    /// Keeps what may be of use later.
    fn put_away(&mut self, piece: Range<usize>) {
        let words = piece.len();
        if words > RECORD_WORDS_MAX {
            self.spans.push(piece);
        } else if words >= PLACE_WORDS_MIN && piece.start % PAGE_WORDS <= record_start_max(words) {
            self.free[words].push(piece.start);
        } else if words > 0 {
            self.scraps.push(piece);
        }
    }

    /// Makes one of all free pieces that touch within a page.
    pub(crate) fn join(&mut self) {
        let mut pieces: Vec<Range<usize>> = self.spans.drain(..).chain(self.scraps.drain(..)).collect();
        for (words, places) in self.free.iter_mut().enumerate() {
            pieces.extend(places.drain(..).map(|place| place..place + words));
        }
        pieces.sort_unstable_by_key(|piece| piece.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for piece in pieces {
            match joined.last_mut() {
                Some(last) if last.end == piece.start && piece.start % PAGE_WORDS != 0 => {
                    last.end = piece.end
                }
                _ => joined.push(piece),
            }
        }
        joined.into_iter().for_each(|piece| self.put_away(piece));
    }

    /// Gives a place back; readers may still be in it.
    pub(crate) fn rest(&mut self, place: usize, words: usize) {
        self.resting.push((place, words));
        self.used_words -= words;
    }

    /// Gives a place back that no reader was ever led to.
    pub(crate) fn untake(&mut self, place: usize, words: usize) {
        self.free[words].push(place);
        self.used_words -= words;
    }

    /// Whether waiting for readers would free anything.
    pub(crate) fn has_resting(&self) -> bool {
        !self.resting.is_empty()
    }

    /// No reader is in what rests any more.
    pub(crate) fn on_quiet(&mut self) {
        for (place, words) in self.resting.drain(..) {
            self.free[words].push(place);
        }
    }

    /// Words in records that are in use.
    pub(crate) fn used_words(&self) -> usize {
        self.used_words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two record pages behind one of others.
    fn arena() -> Arena {
        Arena::new(1, 3)
    }

    #[test]
    fn places_lie_in_their_page_and_apart() {
        for words in [PLACE_WORDS_MIN, 20, 37, 38, 100, RECORD_WORDS_MAX] {
            let mut arena = arena();
            let mut behind = PAGE_WORDS;
            while let Some(place) = arena.take(words) {
                assert!(place >= behind && place % PAGE_WORDS <= record_start_max(words), "{place}");
                assert_eq!(place / PAGE_WORDS, (place + words - 1) / PAGE_WORDS);
                behind = place + words;
            }
            assert!(behind <= 3 * PAGE_WORDS);
            assert!(arena.used_words() * 100 / (2 * PAGE_WORDS) >= 90, "{words}: {}", arena.used_words());
        }
    }

    #[test]
    fn what_rests_is_taken_again_when_it_is_quiet() {
        let mut arena = arena();
        let places: Vec<_> = std::iter::from_fn(|| arena.take(20)).collect();
        arena.rest(places[3], 20);
        assert!(arena.has_resting());
        assert_eq!(arena.take(20), None);
        arena.on_quiet();
        assert_eq!(arena.take(20), Some(places[3]));
    }

    #[test]
    fn a_long_place_is_cut_and_joined_again() {
        let mut arena = arena();
        let places: Vec<_> = std::iter::from_fn(|| arena.take(100)).collect();
        assert_eq!(arena.take(90), None);
        arena.untake(places[0], 100);
        assert_eq!(arena.take(90), Some(places[0]));
        assert_eq!(arena.take(10), Some(places[0] + 90));
        assert_eq!(arena.used_words(), places.len() * 100);
        arena.untake(places[0], 90);
        arena.untake(places[0] + 90, 10);
        arena.untake(places[1], 100);
        assert_eq!(arena.take(150), None);
        arena.join();
        assert_eq!(arena.take(150), Some(places[0]));
    }

    proptest! {
        #[test]
        fn places_never_overlap(
            steps in proptest::collection::vec((any::<bool>(), PLACE_WORDS_MIN..=RECORD_WORDS_MAX), 0..400),
        ) {
            let mut arena = arena();
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (gives, words) in steps {
                if gives && !taken.is_empty() {
                    let (place, words) = taken.swap_remove(words % taken.len());
                    arena.rest(place, words);
                    arena.on_quiet();
                } else {
                    let place = arena.take(words).or_else(|| {
                        arena.join();
                        arena.take(words)
                    });
                    let Some(place) = place else { continue };
                    prop_assert!(place % PAGE_WORDS <= record_start_max(words));
                    prop_assert!(taken.iter().all(|(other, len)| place + words <= *other || other + len <= place));
                    taken.push((place, words));
                }
                prop_assert_eq!(arena.used_words(), taken.iter().map(|(_, words)| words).sum::<usize>());
            }
            for (place, words) in taken {
                arena.untake(place, words);
            }
            arena.join();
            prop_assert_eq!(arena.spans.len(), 2, "two whole pages");
        }
    }
}
