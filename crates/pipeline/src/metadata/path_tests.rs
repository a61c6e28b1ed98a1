//! Layouts of random graphs, against frames that take every path.
//!
//! The checker knows nothing of components. A frame's scratch area holds tokens in place of values: each write puts a
//! fresh one into the bytes of its place, and each read must find the one that the last write of its attribute on this
//! path has put there. What a module does it does in the worst order: writes, then updates, then reads.
//!
//! The same where the graph changes under a frame: one that a module keeps must find its values in the new layout.
use super::drawing::Drawing;
use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_packet::SCRATCH_LEN;

const MODULES_MAX: usize = 12;
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// A declaration: module, and which of its attributes.
type Declared = (usize, usize);

/// A frame under way.
#[derive(Clone)]
struct Travel {
    /// For each byte, the token in it and which of its bytes it is.
    bytes: [(usize, usize); SCRATCH_LEN],
    /// For each name, the token last written, wherever that was put.
    last: [Option<usize>; NAMES.len()],
}

/// What frames met on all paths together.
struct Journal<'a> {
    drawing: &'a Drawing,
    layout: &'a Layout,
    /// For each token, the declaration that wrote it.
    tokens: Vec<Declared>,
    /// Writes whose token was wanted.
    wanted: BTreeSet<Declared>,
    /// Reads to which a value came.
    met: BTreeSet<Declared>,
    /// Reads to which none came.
    missed: BTreeSet<Declared>,
    /// Reads that found something else in the place.
    spoilt: BTreeSet<Declared>,
    /// Frames as they left a module, if they are to be kept.
    left: Option<Vec<(usize, Travel)>>,
}

impl<'a> Journal<'a> {
    fn of(drawing: &'a Drawing, layout: &'a Layout) -> Self {
        let mut journal = Self::blank(drawing, layout);
        journal.start();
        journal
    }

    fn blank(drawing: &'a Drawing, layout: &'a Layout) -> Self {
        let (wanted, met, missed, spoilt) = Default::default();
        Self { drawing, layout, tokens: vec![(0, 0)], wanted, met, missed, spoilt, left: None }
    }

    /// Sends a frame along every path.
    fn start(&mut self) {
        let drawing = self.drawing;
        let entered = |module: &usize| !drawing.next.iter().flatten().any(|to| to == module);
        for entry in (0..drawing.next.len()).filter(entered) {
            self.visit(entry, Travel { bytes: [(0, 0); SCRATCH_LEN], last: [None; NAMES.len()] });
        }
    }

    fn visit(&mut self, module: usize, mut frame: Travel) {
        for access in [Access::Write, Access::Update, Access::Read] {
            for (index, attribute) in self.drawing.attributes[module].iter().enumerate() {
                if attribute.access != access {
                    continue;
                }
                if access != Access::Write {
                    self.read((module, index), attribute, &frame);
                }
                if access != Access::Read {
                    self.write((module, index), attribute, &mut frame);
                }
            }
        }
        self.leave(module, &frame);
        if let Some(left) = &mut self.left {
            left.push((module, frame));
        }
    }

    fn leave(&mut self, module: usize, frame: &Travel) {
        for next in &self.drawing.next[module] {
            self.visit(*next, frame.clone());
        }
    }

    fn read(&mut self, at: Declared, attribute: &Attribute, frame: &Travel) {
        let Some(token) = frame.last[number(attribute)] else {
            self.missed.insert(at);
            return;
        };
        self.met.insert(at);
        self.wanted.insert(self.tokens[token]);
        let found = match self.layout.places(at.0)[at.1] {
            Place::At(offset) => {
                let bytes = &frame.bytes[usize::from(offset)..][..usize::from(attribute.size)];
                bytes.iter().enumerate().all(|(index, byte)| *byte == (token, index))
            }
            Place::NoRoom => true,
            Place::Unwritten | Place::Unread => false,
        };
        if !found {
            self.spoilt.insert(at);
        }
    }

    fn write(&mut self, at: Declared, attribute: &Attribute, frame: &mut Travel) {
        let token = self.tokens.len();
        self.tokens.push(at);
        frame.last[number(attribute)] = Some(token);
        if let Place::At(offset) = self.layout.places(at.0)[at.1] {
            let bytes = &mut frame.bytes[usize::from(offset)..][..usize::from(attribute.size)];
            bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = (token, index));
        }
    }

    /// Whether `at` needs a place, going by what frames met.
    fn needs(&self, at: Declared) -> bool {
        self.met.contains(&at) || self.wanted.contains(&at)
    }

    fn faults_of(&self, attribute: &str, module: usize) -> Vec<&'static str> {
        let name = format!("m{module}");
        let own = |fault: &Fault| match fault {
            Fault::Unwritten { module, attribute: of } if (module, of.as_str()) == (&name, attribute) => {
                Some("unwritten")
            }
            Fault::PartlyWritten { module, attribute: of, .. }
                if (module, of.as_str()) == (&name, attribute) =>
            {
                Some("partly")
            }
            _ => None,
        };
        self.layout.faults().iter().filter_map(own).collect()
    }
}

fn number(attribute: &Attribute) -> usize {
    NAMES.iter().position(|name| *name == attribute.name).unwrap()
}

/// Random modules, edges and uses: at most one use of a name in a module, one size for a name. Modules are numbered
/// without regard to who comes first.
fn any_drawing() -> impl Strategy<Value = Drawing> {
    let size = prop_oneof![3 => 1..=8_u8, 1 => 9..=32_u8];
    let access = prop_oneof![2 => Just(Access::Read), 2 => Just(Access::Write), 1 => Just(Access::Update)];
    let uses = prop::collection::btree_map((0..MODULES_MAX, 0..NAMES.len()), access, 0..30);
    let edges = prop::collection::btree_set((0..MODULES_MAX, 0..MODULES_MAX), 0..24);
    let numbers = Just((0..MODULES_MAX).collect::<Vec<usize>>()).prop_shuffle();
    let sizes = prop::collection::vec(size, NAMES.len());
    (2..=MODULES_MAX, edges, uses, sizes, numbers).prop_map(|(count, edges, uses, sizes, numbers)| {
        let numbers: Vec<usize> = numbers.into_iter().filter(|number| *number < count).collect();
        let kept = edges.into_iter().filter(|(from, to)| from < to && *to < count);
        let edges: Vec<(usize, usize)> = kept.map(|(from, to)| (numbers[from], numbers[to])).collect();
        let mut drawing = Drawing::new(count, &edges);
        for ((module, name), access) in uses.into_iter().filter(|((module, _), _)| *module < count) {
            let attribute = Attribute { name: NAMES[name].into(), size: sizes[name], access };
            drawing.attributes[module].push(attribute);
        }
        drawing
    })
}

/// A graph before and after a change: some modules declare other attributes, some lead nowhere any more. Sizes stay.
fn any_change() -> impl Strategy<Value = (Drawing, Drawing)> {
    let changed = prop::collection::vec((prop::bool::weighted(0.3), prop::bool::weighted(0.1)), MODULES_MAX);
    (any_drawing(), any_drawing(), changed).prop_map(|(one, two, changed)| {
        let declared = one.attributes.iter().flatten();
        let sizes: BTreeMap<String, u8> = declared.map(|it| (it.name.to_string(), it.size)).collect();
        let mut other = one.clone();
        for (module, (declares, is_cut)) in changed.into_iter().enumerate().take(one.next.len()) {
            if is_cut {
                other.next[module].clear();
            }
            if let Some(attributes) = two.attributes.get(module).filter(|_| declares) {
                other.attributes[module] = attributes.clone();
            }
        }
        for attribute in other.attributes.iter_mut().flatten() {
            attribute.size = *sizes.get(attribute.name.as_ref()).unwrap_or(&attribute.size);
        }
        (one, other)
    })
}

/// Whether `layout` keeps a value of `name` in `module`, in a place.
fn is_kept(layout: &Layout, name: &str, module: usize) -> bool {
    let own = |it: &&Component| it.attribute == name && it.members.contains(&module);
    layout.components().iter().find(own).is_some_and(|it| it.offset.is_some())
}

/// Whether components could not but find room: all of them together, each with a gap, fit.
fn is_roomy(layout: &Layout) -> bool {
    let padded = layout.components().iter().map(|it| usize::from(it.size).next_multiple_of(8));
    padded.sum::<usize>() <= SCRATCH_LEN
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_read_finds_the_last_write_on_its_path(drawing in any_drawing()) {
        let layout = drawing.lay_out();
        let journal = Journal::of(&drawing, &layout);
        prop_assert_eq!(&journal.spoilt, &BTreeSet::new());
        for (module, attributes) in drawing.attributes.iter().enumerate() {
            for (index, attribute) in attributes.iter().enumerate() {
                let at = (module, index);
                let place = layout.places(module)[index];
                let has_place = matches!(place, Place::At(_) | Place::NoRoom);
                prop_assert_eq!(has_place, journal.needs(at), "{:?} has {:?}", at, place);
                prop_assert!(place != Place::NoRoom || !is_roomy(&layout));
                let told = match (attribute.access, journal.met.contains(&at), journal.missed.contains(&at)) {
                    (Access::Write, _, _) | (_, true, false) => vec![],
                    (_, false, _) => vec!["unwritten"],
                    (_, true, true) => vec!["partly"],
                };
                prop_assert_eq!(journal.faults_of(&attribute.name, module), told);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_frame_that_is_kept_through_a_change_keeps_its_values((one, other) in any_change(), afresh: bool) {
        let before = one.lay_out();
        let after = if afresh { other.lay_out() } else { other.lay_out_after(&before) };
        prop_assert_eq!(Journal::of(&other, &after).spoilt, BTreeSet::new());
        let mut journal = Journal::blank(&one, &before);
        journal.left = Some(Vec::new());
        journal.start();
        let relocations = after.relocations(&before);
        for (module, mut frame) in journal.left.unwrap_or_default() {
            let Some(relocation) = relocations.get(module) else { continue };
            relocation.apply_to(&mut frame.bytes);
            for (name, last) in NAMES.iter().zip(&mut frame.last) {
                let is_carried = is_kept(&before, name, module) && is_kept(&after, name, module);
                *last = last.filter(|_| is_carried);
            }
            let mut resumed = Journal::blank(&other, &after);
            resumed.tokens = journal.tokens.clone();
            resumed.leave(module, &frame);
            prop_assert_eq!(resumed.spoilt, BTreeSet::new());
        }
    }
}

/// The checker itself: each way to spoil a value is found.
#[test]
fn a_layout_of_overlapping_bytes_is_found_out() {
    let drawing = Drawing::row(3).byte("a", 0, &[2]).byte("b", 1, &[2]);
    let spoilt = |places: [&[Place]; 3]| {
        let places = places.map(<[Place]>::to_vec).to_vec();
        let layout = Layout { places, ..Layout::default() };
        Journal::of(&drawing, &layout).spoilt.into_iter().collect::<Vec<_>>()
    };
    let [zero, one] = [Place::At(0), Place::At(1)];
    assert_eq!(spoilt([&[zero], &[one], &[zero, one]]), []);
    assert_eq!(spoilt([&[zero], &[zero], &[zero, zero]]), [(2, 0)], "b over a");
    assert_eq!(spoilt([&[zero], &[one], &[one, one]]), [(2, 0)], "a sought where b is");
    assert_eq!(spoilt([&[Place::Unread], &[one], &[zero, one]]), [(2, 0)], "a not written");
}
