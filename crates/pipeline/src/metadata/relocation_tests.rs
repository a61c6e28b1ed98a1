//! What stays where it was, and what becomes of frames where something moves.
use super::super::drawing::Drawing;
use super::super::{Attribute, Place};
use super::*;

/// Three modules; `a` from first to last, two bytes.
fn pair() -> Drawing {
    Drawing::row(3).with(0, Attribute::write("a", 2)).with(2, Attribute::read("a", 2))
}

#[test]
fn what_stays_alive_stays_where_it_was() {
    let before = pair().lay_out();
    let larger = pair().with(0, Attribute::write("b", 8)).with(2, Attribute::read("b", 8));
    assert_eq!(larger.lay_out().places(0), [Place::At(8), Place::At(0)], "without a past");
    let after = larger.lay_out_after(&before);
    assert_eq!(after.places(0), [Place::At(0), Place::At(8)]);
    let zeros = Relocation { steps: vec![Step { from: None, to: 8, size: 8 }] };
    assert_eq!(after.relocations(&before), [zeros.clone(), zeros.clone(), zeros]);
    assert!(after.relocations(&after).iter().all(Relocation::is_empty));
}

#[test]
fn what_would_cost_another_cache_line_moves() {
    let both = pair().with(0, Attribute::write("b", 32)).with(2, Attribute::read("b", 32));
    let three = both.clone().with(0, Attribute::write("c", 32)).with(2, Attribute::read("c", 32));
    let before = three.lay_out();
    assert_eq!(before.places(0), [Place::At(64), Place::At(0), Place::At(32)]);
    let after = both.lay_out_after(&before);
    assert_eq!(after.places(0), [Place::At(32), Place::At(0)]);
    let moved = Relocation { steps: vec![Step { from: Some(64), to: 32, size: 2 }] };
    assert_eq!(after.relocations(&before)[1], moved);
}

#[test]
fn a_place_that_two_components_had_goes_to_one_of_them_when_they_meet() {
    let before = Drawing::row(4).byte("a", 0, &[1]).byte("b", 2, &[3]).lay_out();
    assert_eq!(before.places(0), before.places(2));
    let after = Drawing::row(4).byte("a", 0, &[1, 2]).byte("b", 2, &[3]).lay_out_after(&before);
    assert_eq!((after.places(0), after.used_len()), (before.places(0), 2));
    assert_ne!(after.places(0)[0], after.places(3)[0]);
}

#[test]
fn another_size_has_no_past() {
    let before = pair().lay_out();
    let wider = Drawing::row(3).with(0, Attribute::write("a", 4)).with(2, Attribute::read("a", 4));
    let after = wider.lay_out_after(&before);
    assert_eq!(after.relocations(&before)[1].steps, [Step { from: None, to: 0, size: 4 }]);
}

#[test]
fn a_new_module_keeps_no_frames() {
    let after = pair().lay_out_after(&Layout::default());
    assert!(after.relocations(&Layout::default()).iter().all(Relocation::is_empty));
    assert_eq!(after, pair().lay_out());
}

#[test]
fn values_that_change_places_do_so_at_once() {
    let step = |from, to| Step { from, to, size: 2 };
    let relocation = Relocation { steps: vec![step(Some(0), 2), step(Some(2), 0), step(None, 4)] };
    let mut scratch = [9_u8; SCRATCH_LEN];
    scratch[..4].copy_from_slice(&[1, 2, 3, 4]);
    relocation.apply_to(&mut scratch);
    assert_eq!(scratch[..7], [3, 4, 1, 2, 0, 0, 9]);
}
