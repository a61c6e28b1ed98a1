//! Places, faults and their words; figures 5.6 and 5.7; large graphs.
use super::drawing::{Drawing, told};
use super::*;

/// Figures 5.6 and 5.7: six attributes of one byte, never more than three alive at once, in three bytes.
///
/// ```text
///               +--> 3 --+            A 0-1   B 0-4   C 1-2
///   0 --> 1 --> 2        5 --> 6      D 3-6   E 3-5   each also from 4 on, where B ends
///               +--> 4 --+            F 5-6
/// ```
#[test]
fn six_attributes_share_three_bytes() {
    let drawing = Drawing::new(7, &[(0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6)]);
    let drawing = drawing.byte("A", 0, &[1]).byte("B", 0, &[4]).byte("C", 1, &[2]).byte("F", 5, &[6]);
    let drawing = drawing.byte("D", 3, &[6]).with(4, Attribute::write("D", 1));
    let layout = drawing.byte("E", 3, &[5]).with(4, Attribute::write("E", 1)).lay_out();
    assert_eq!(layout.faults(), []);
    assert_eq!((layout.components().len(), layout.alive_len_max()), (6, 3));
    assert_eq!(layout.used_len(), 3);
}

#[test]
fn what_ends_in_a_module_does_not_share_with_what_begins_there() {
    let layout = Drawing::row(3).byte("a", 0, &[1]).byte("b", 1, &[2]).lay_out();
    assert_eq!(layout.places(1), [Place::At(0), Place::At(1)]);
}

#[test]
fn what_never_meets_shares() {
    let layout = Drawing::row(4).byte("a", 0, &[1]).byte("b", 2, &[3]).lay_out();
    assert_eq!(layout.places(0), layout.places(2));
}

#[test]
fn a_written_attribute_that_nobody_reads_needs_no_room() {
    let layout = Drawing::row(3).byte("a", 1, &[0]).lay_out();
    assert_eq!(layout.places(1), [Place::Unread]);
    assert_eq!(layout.used_len(), 0);
    assert_eq!(layout.components(), []);
}

#[test]
fn a_read_before_any_write_is_a_fault() {
    let layout = Drawing::row(3).byte("a", 1, &[0]).lay_out();
    assert_eq!(layout.places(0), [Place::Unwritten]);
    let text = "`m0` reads `a`, but no module before it writes it: put one before it that does";
    assert_eq!(told(&layout), [text]);
    assert!(!layout.faults()[0].is_warning());
}

#[test]
fn an_update_of_nothing_is_a_fault_though_its_write_has_room() {
    let layout =
        Drawing::row(2).with(0, Attribute::update("a", 4)).with(1, Attribute::read("a", 4)).lay_out();
    assert_eq!((layout.places(0), layout.places(1)), (&[Place::At(0)][..], &[Place::At(0)][..]));
    assert_eq!(layout.faults(), [Fault::Unwritten { module: "m0".into(), attribute: "a".into() }]);
}

#[test]
fn an_update_that_nobody_needs_has_no_room() {
    let layout = Drawing::row(2).with(0, Attribute::update("a", 4)).lay_out();
    assert_eq!(layout.places(0), [Place::Unwritten]);
}

/// ```text
///   0 w ---> 2 r
///   1 -------^
/// ```
#[test]
fn a_way_without_a_write_is_a_warning_that_names_where_it_begins() {
    let layout = Drawing::new(3, &[(0, 2), (1, 2)]).byte("a", 0, &[2]).lay_out();
    let text =
        "`m2` reads `a`, but frames that enter at `m1` can reach it without: have it written on that way too";
    assert_eq!(told(&layout), [text]);
    assert!(layout.faults()[0].is_warning());
    assert_eq!(layout.places(2), [Place::At(0)]);
}

#[test]
fn a_way_round_the_writer_is_a_warning_too() {
    let layout = Drawing::new(3, &[(0, 1), (0, 2), (1, 2)]).byte("a", 1, &[2]).lay_out();
    let from = "m0".to_string();
    assert_eq!(layout.faults(), [Fault::PartlyWritten { module: "m2".into(), attribute: "a".into(), from }]);
}

#[test]
fn two_sizes_of_one_value_are_a_fault_and_have_room_for_the_larger() {
    let drawing = Drawing::row(3).with(0, Attribute::write("a", 2)).byte("b", 0, &[2]);
    let layout = drawing.with(2, Attribute::read("a", 4)).lay_out();
    let text =
        "`a` has 2 bytes in `m0`, 4 in `m2`, and frames carry it between them: declare the same size in both";
    assert_eq!(told(&layout), [text]);
    assert_eq!(layout.components()[0].size, 4);
    assert_eq!(layout.places(0), [Place::At(0), Place::At(4)]);
}

#[test]
fn two_sizes_of_values_that_never_meet_are_none() {
    let drawing = Drawing::row(4).byte("a", 0, &[1]);
    let drawing = drawing.with(2, Attribute::write("a", 4)).with(3, Attribute::read("a", 4));
    assert_eq!(drawing.lay_out().faults(), []);
}

#[test]
fn two_sizes_in_one_module_are_a_fault() {
    let drawing = Drawing::row(1).with(0, Attribute::write("a", 2)).with(0, Attribute::write("a", 3));
    assert!(matches!(drawing.lay_out().faults(), [Fault::TwoSizes { size: 2, other_size: 3, .. }]));
}

#[test]
fn a_size_that_is_not_allowed_is_a_fault() {
    for size in [0, 33, 255] {
        let layout = Drawing::row(1).with(0, Attribute::write("a", size)).lay_out();
        assert_eq!(told(&layout), [format!("`m0` declares `a` with {size} bytes: declare 1 to 32")]);
        assert_eq!(layout.places(0), [Place::NoRoom]);
    }
}

#[test]
fn more_than_fits_is_a_fault_that_names_the_most_crowded_module() {
    let names = ["a", "b", "c", "d", "e"];
    let wide = |drawing: Drawing, name| {
        drawing.with(0, Attribute::write(name, 32)).with(2, Attribute::read(name, 32))
    };
    let layout = names.into_iter().fold(Drawing::row(3).byte("f", 1, &[2]), wide).lay_out();
    let mut places: Vec<Place> = layout.places(0).to_vec();
    places.sort_by_key(|place| place.bess_offset());
    let offsets: Vec<i64> = places.iter().map(|place| place.bess_offset()).collect();
    assert_eq!(offsets, [-3, 0, 32, 64, 96]);
    let without: Vec<&Fault> = layout.faults().iter().collect();
    assert_eq!(without.len(), 2, "one wide one and `f`");
    assert!(
        without.iter().all(|it| matches!(it, Fault::NoRoom { module, alive_len: 161, .. } if module == "m2"))
    );
    assert!(told(&layout)[0].contains("161 bytes of attributes are alive in `m2`, of at most 128"));
}

#[test]
fn places_have_the_numbers_that_bess_clients_know() {
    let places = [Place::At(0), Place::At(127), Place::Unwritten, Place::Unread, Place::NoRoom];
    assert_eq!(places.map(Place::bess_offset), [0, 127, -1, -2, -3]);
}

#[test]
fn an_empty_scene_is_laid_out() {
    assert_eq!(lay_out(&Scene { modules: &[] }), Layout::default());
    assert_eq!(Layout::default().places(3), []);
}

/// A ladder has 2^499 paths; a walk over paths would not end.
#[test]
fn a_thousand_modules_are_laid_out_without_walking_every_path() {
    let rungs = (0..499).flat_map(|rung| {
        let from = rung * 2;
        [(from, from + 2), (from, from + 3), (from + 1, from + 2), (from + 1, from + 3)]
    });
    let edges: Vec<(usize, usize)> = rungs.collect();
    let mut drawing = Drawing::new(1_000, &edges);
    for index in 0..400 {
        let (name, module) = (format!("a{index}"), index * 2);
        for writer in [module, module + 1] {
            drawing = drawing.with(writer, Attribute::write(name.clone(), 4));
        }
        drawing = drawing.with(module + 40, Attribute::read(name, 4));
    }
    let layout = drawing.byte("long", 0, &[999]).lay_out();
    assert_eq!(layout.components().len(), 401);
    assert_eq!(layout.faults().len(), 1, "`long`, which m1 lets pass unwritten");
    assert_eq!(layout.used_len(), layout.alive_len_max());
}
