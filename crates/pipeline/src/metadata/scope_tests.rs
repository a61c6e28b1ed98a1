//! Scope components of drawn graphs.
use super::super::drawing::{Drawing, members};
use super::super::{Attribute, Place};

/// Figure 5.5, as its text describes it.
///
/// ```text
///   1 w ---> 2 ---> 4 r ---> 6 ---> 8 ---> 10 w ---> 11 r
///   |        +----> 5 r ---> 7 -----^
///   +------> 3 ---> 9 --------------^
/// ```
#[test]
fn a_new_write_begins_a_component_and_what_nobody_reads_is_in_none() {
    let edges =
        [(1, 2), (1, 3), (2, 4), (2, 5), (4, 6), (5, 7), (6, 8), (7, 8), (3, 9), (9, 8), (8, 10), (10, 11)];
    let layout = Drawing::new(12, &edges).byte("A", 1, &[4, 5]).byte("A", 10, &[11]).lay_out();
    assert_eq!(members(&layout, "A"), [vec![1, 2, 4, 5], vec![10, 11]]);
    assert_eq!(layout.faults(), []);
    assert_eq!(layout.used_len(), 1);
}

#[test]
fn modules_between_writer_and_reader_belong() {
    let layout = Drawing::row(5).byte("a", 1, &[3]).lay_out();
    assert_eq!(members(&layout, "a"), [[1, 2, 3]]);
}

/// ```text
///   0 w ---> 2 r        1 and 0 write what 2 may get from either; 3 reads only 1's
///   1 w -----^
///   +------> 3 r
/// ```
#[test]
fn paths_that_meet_unite_their_components() {
    let drawing = Drawing::new(4, &[(0, 2), (1, 2), (1, 3)]);
    let layout = drawing.with(0, Attribute::write("a", 2)).byte("x", 3, &[]);
    let layout = layout.with(1, Attribute::write("a", 2)).with(2, Attribute::read("a", 2));
    let layout = layout.with(3, Attribute::read("a", 2)).lay_out();
    assert_eq!(members(&layout, "a"), [[0, 1, 2, 3]]);
}

#[test]
fn two_pairs_that_never_meet_are_two_components() {
    let layout = Drawing::new(4, &[(0, 1), (2, 3)]).byte("a", 0, &[1]).byte("a", 2, &[3]).lay_out();
    assert_eq!(members(&layout, "a"), [[0, 1], [2, 3]]);
}

#[test]
fn an_update_keeps_its_component() {
    let drawing = Drawing::row(3).byte("a", 0, &[2]).with(1, Attribute::update("a", 1));
    assert_eq!(members(&drawing.lay_out(), "a"), [[0, 1, 2]]);
}

#[test]
fn a_write_between_writer_and_reader_cuts_the_first_off() {
    let drawing = Drawing::row(3).byte("a", 0, &[2]).with(1, Attribute::write("a", 1));
    let layout = drawing.lay_out();
    assert_eq!(members(&layout, "a"), [[1, 2]]);
    assert_eq!(layout.places(0), [Place::Unread]);
}

/// ```text
///   0 w ---> 1 w ---> 3 r      0's value lives on past 1, by way of 2
///   +------> 2 -------^
/// ```
#[test]
fn a_value_that_goes_round_a_write_shares_its_place() {
    let drawing = Drawing::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]).byte("a", 0, &[3]);
    let layout = drawing.with(1, Attribute::write("a", 1)).lay_out();
    assert_eq!(members(&layout, "a"), [[0, 1, 2, 3]]);
}

#[test]
fn a_module_that_declares_both_reads_one_component_and_may_begin_another() {
    let both = |drawing: Drawing| drawing.with(1, Attribute::read("a", 1)).with(1, Attribute::write("a", 1));
    let layout = both(Drawing::row(3).byte("a", 0, &[2])).lay_out();
    assert_eq!(members(&layout, "a"), [[0, 1, 2]]);
    let layout = both(Drawing::row(3).byte("a", 0, &[])).lay_out();
    assert_eq!(layout.places(1), [Place::At(0), Place::Unread]);
    let layout = both(Drawing::row(3)).with(2, Attribute::read("a", 1)).lay_out();
    assert_eq!(layout.places(1), [Place::Unwritten, Place::At(0)]);
}

#[test]
fn a_loop_ends_and_joins_what_it_passes() {
    let drawing = Drawing::new(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]).byte("a", 0, &[3]);
    let layout = drawing.lay_out();
    assert_eq!(members(&layout, "a"), [[0, 1, 2, 3]]);
    assert_eq!(layout.faults(), []);
}

#[test]
fn an_open_gate_and_a_doubled_edge_change_nothing() {
    let once = Drawing::row(3).byte("a", 0, &[2]).lay_out();
    let mut drawing = Drawing::row(3).byte("a", 0, &[2]);
    drawing.next[0].extend([1, 77, usize::MAX]);
    assert_eq!(drawing.lay_out(), once);
}
