//! The scoreboard against a model that keeps one word a byte.
use super::*;
use proptest::prelude::*;

const LEN: u32 = 200;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Byte {
    InFlight,
    Lost,
    Again,
    Sacked,
}

/// The bytes from SND.UNA to SND.NXT, one by one.
struct Model {
    una: u32,
    bytes: Vec<Byte>,
}

impl Model {
    fn above(&mut self, from: u32, to: u32) -> &mut [Byte] {
        let from = from.max(self.una);
        &mut self.bytes[from as usize..to.max(from) as usize]
    }

    fn hole(&self) -> Option<(u32, u32)> {
        let is_lost = |offset: &usize| self.bytes[*offset] == Byte::Lost;
        let start = (self.una as usize..self.bytes.len()).find(is_lost)?;
        let end = (start..self.bytes.len()).find(|offset| !is_lost(offset)).unwrap_or(self.bytes.len());
        Some((start as u32, end as u32))
    }

    fn count(&self, what: &[Byte]) -> u32 {
        self.bytes[self.una as usize..].iter().filter(|byte| what.contains(byte)).count() as u32
    }
}

#[derive(Clone, Debug)]
enum Step {
    Sack(u32, u32),
    Ack(u32),
    LoseBelow(u32),
    SendAgain(u32),
    LoseAgain,
    Timeout,
    Undo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..LEN, 1..40u32).prop_map(|(start, len)| Step::Sack(start, (start + len).min(LEN))),
        2 => (0..LEN).prop_map(Step::Ack),
        2 => (0..=LEN).prop_map(Step::LoseBelow),
        4 => (1..30u32).prop_map(Step::SendAgain),
        1 => Just(Step::LoseAgain),
        1 => Just(Step::Timeout),
        1 => Just(Step::Undo),
    ]
}

fn apply(board: &mut Scoreboard, model: &mut Model, base: SeqNumber, step: &Step, time: u64) {
    let (una, nxt) = (base + model.una, base + LEN);
    match *step {
        Step::Sack(start, end) if end > model.una => {
            let start = start.max(model.una);
            let before = model.count(&[Byte::Sacked]);
            model.above(start, end).fill(Byte::Sacked);
            let news = board.on_sack(Range { start: base + start, end: base + end }, None);
            assert_eq!(news.byte_count, model.count(&[Byte::Sacked]) - before);
        }
        Step::Sack(..) => {}
        Step::Ack(to) => {
            model.una = model.una.max(to);
            board.on_ack(base + model.una);
        }
        Step::LoseBelow(edge) => {
            for byte in model.above(0, edge).iter_mut().filter(|byte| **byte == Byte::InFlight) {
                *byte = Byte::Lost;
            }
            board.lose_below((base + edge).max(una));
        }
        Step::SendAgain(len) => {
            let hole = board.next_hole(una);
            assert_eq!(hole.map(|hole| (hole.start.since(base), hole.end.since(base))), model.hole());
            if let Some(hole) = hole {
                let range = Range { start: hole.start, end: hole.end.min(hole.start + len) };
                model.above(range.start.since(base), range.end.since(base)).fill(Byte::Again);
                board.on_send_again(range, Instant::from_nanos(time), nxt);
            }
        }
        Step::LoseAgain => {
            board.lose_again(|_| true);
            model
                .above(0, LEN)
                .iter_mut()
                .filter(|byte| **byte == Byte::Again)
                .for_each(|byte| *byte = Byte::Lost);
        }
        Step::Timeout => {
            let reneged = model.bytes.get(model.una as usize) == Some(&Byte::Sacked);
            board.on_timeout(una, nxt);
            let keeps = |byte: Byte| byte == Byte::Sacked && !reneged;
            model.above(0, LEN).iter_mut().filter(|byte| !keeps(**byte)).for_each(|byte| *byte = Byte::Lost);
        }
        Step::Undo => {
            board.undo(una);
            let is_sacked = |byte: Byte| byte == Byte::Sacked;
            model.above(0, LEN).iter_mut().filter(|b| !is_sacked(**b)).for_each(|b| *b = Byte::InFlight);
        }
    }
}

proptest! {
    #[test]
    fn agrees_with_a_byte_by_byte_model(base: u32, steps in prop::collection::vec(step(), 1..60)) {
        let base = SeqNumber(base);
        let mut board = Scoreboard::new(base);
        let mut model = Model { una: 0, bytes: vec![Byte::InFlight; LEN as usize] };
        for (time, step) in steps.iter().enumerate() {
            apply(&mut board, &mut model, base, step, time as u64);
            let (una, nxt) = (base + model.una, base + LEN);
            board.check_invariants(una, nxt);
            prop_assert_eq!(board.pipe(nxt), model.count(&[Byte::InFlight, Byte::Again]));
            prop_assert_eq!(board.sacked_len(), model.count(&[Byte::Sacked]));
            let hole = board.next_hole(una).map(|hole| (hole.start.since(base), hole.end.since(base)));
            prop_assert_eq!(hole, model.hole());
        }
    }
}

fn range(start: u32, end: u32) -> Range {
    Range { start: SeqNumber(start), end: SeqNumber(end) }
}

#[test]
fn overtaking_shows_only_on_what_was_sent_once() {
    let mut board = Scoreboard::new(SeqNumber(0));
    assert!(!board.on_sack(range(50, 60), None).overtaken);
    assert!(!board.on_sack(range(10, 12), None).overtaken, "both came in one acknowledgement");
    let highest = board.highest_sacked();
    assert!(board.on_sack(range(20, 30), highest).overtaken);
    board.lose_below(SeqNumber(50));
    board.on_send_again(range(0, 10), Instant::ZERO, SeqNumber(100));
    board.on_send_again(range(12, 20), Instant::ZERO, SeqNumber(100));
    board.on_send_again(range(30, 50), Instant::ZERO, SeqNumber(100));
    assert!(!board.on_sack(range(30, 50), highest).overtaken);
}

#[test]
fn a_peer_cannot_make_us_remember_without_end() {
    let mut board = Scoreboard::new(SeqNumber(0));
    for n in 0..100_000 {
        board.on_sack(range(2 * n + 1, 2 * n + 2), None);
    }
    assert_eq!(board.sacked_len() as usize, SACKED_COUNT_MAX);
}
