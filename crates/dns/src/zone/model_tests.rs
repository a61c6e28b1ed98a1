//! Zones of random records against a model that has nothing but a list of names and walks it each time.

use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::{builder, name};
use super::*;

#[derive(Clone, Debug)]
struct Sample {
    owner: NameBuf,
    rtype: Rtype,
}

/// Names of few labels over a small alphabet, so that they are often each other's ancestors.
fn owners() -> impl Strategy<Value = NameBuf> {
    let label = proptest::sample::select(vec!["a", "b", "!", "*", "a\0", "A"]);
    vec(label, 0..4).prop_map(|labels| {
        let apex = name("example.");
        labels.into_iter().fold(apex, |parent, label| NameBuf::child(label.as_bytes(), &parent).unwrap())
    })
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let rtype = prop_oneof![4 => Just(Rtype::A), 1 => Just(Rtype::NS), 1 => Just(Rtype::DNAME), 2 => Just(Rtype::NSEC)];
    vec((owners(), rtype).prop_map(|(owner, rtype)| Sample { owner, rtype }), 0..12)
}

fn data(rtype: Rtype) -> Vec<u8> {
    match rtype {
        Rtype::A => vec![192, 0, 2, 1],
        Rtype::NSEC => b"\x01z\x00\x00\x01\x40".to_vec(),
        _ => b"\x02ns\x00".to_vec(),
    }
}

struct Model {
    samples: Vec<Sample>,
}

impl Model {
    fn of(samples: &[Sample]) -> Self {
        let mut samples = samples.to_vec();
        let apex = |rtype| Sample { owner: name("example."), rtype };
        samples.extend([apex(Rtype::SOA), apex(Rtype::NS)]);
        Model { samples }
    }

    fn zone(&self) -> Zone {
        let mut builder = builder();
        for Sample { owner, rtype } in self.samples.iter().filter(|sample| sample.rtype != Rtype::SOA) {
            builder.add(owner, *rtype, 60, &data(*rtype)).unwrap();
        }
        builder.finish().unwrap()
    }

    fn owns(&self, name: &Name, rtype: Rtype) -> bool {
        self.samples.iter().any(|sample| *sample.owner == *name && sample.rtype == rtype)
    }

    fn exists(&self, name: &Name) -> bool {
        self.samples.iter().any(|sample| sample.owner.is_within(name))
    }

    /// The topmost cut or owner of a DNAME strictly above `name`, and whether it is a cut.
    fn shadow<'n>(&self, name: &'n Name) -> Option<(&'n Name, bool)> {
        let apex = super::tests::name("example.");
        let above = name.ancestors().skip(1).filter(|above| above.is_within(&apex));
        let cut = |above: &Name| *above != *apex && self.owns(above, Rtype::NS);
        let shadows = above.filter(|above| cut(above) || self.owns(above, Rtype::DNAME));
        shadows.last().map(|above| (above, cut(above)))
    }

    /// The case of RFC 1034 section 4.3.2 that `name` is, in words.
    fn find(&self, name: &Name) -> String {
        let apex = super::tests::name("example.");
        if let Some((above, is_cut)) = self.shadow(name) {
            return format!("{} {}", if is_cut { "below" } else { "dname" }, lower(above));
        }
        if *name != *apex && self.owns(name, Rtype::NS) {
            return format!("at {}", lower(name));
        }
        if self.exists(name) {
            return format!("exact {}", lower(name));
        }
        let encloser = name.ancestors().find(|above| self.exists(above)).unwrap();
        let wildcard = NameBuf::wildcard_of(encloser).unwrap();
        match self.exists(&wildcard) {
            true => format!("wildcard {}", lower(encloser)),
            false => format!("missing {}", lower(encloser)),
        }
    }

    /// The greatest owner of an NSEC in the open that is not after `name`.
    fn nsec_for(&self, name: &Name) -> Option<String> {
        let owners =
            self.samples.iter().filter(|sample| sample.rtype == Rtype::NSEC).map(|sample| &*sample.owner);
        let before = owners.filter(|owner| self.shadow(owner).is_none() && *owner <= name);
        before.max().map(lower)
    }
}

fn lower(name: &Name) -> String {
    Folded::of(name).name().to_string()
}

fn in_words(lookup: Lookup<'_>) -> String {
    match lookup {
        Lookup::Cut { cut, at_cut: true } => format!("at {}", cut.name()),
        Lookup::Cut { cut, at_cut: false } => format!("below {}", cut.name()),
        Lookup::Dname { owner } => format!("dname {}", owner.name()),
        Lookup::Exact(node) => format!("exact {}", node.name()),
        Lookup::Wildcard { encloser, .. } => format!("wildcard {}", encloser.name()),
        Lookup::Missing { encloser } => format!("missing {}", encloser.name()),
    }
}

proptest! {
    #[test]
    fn find_agrees_with_the_model(samples in samples(), asked in owners()) {
        let model = Model::of(&samples);
        let zone = model.zone();
        prop_assert_eq!(in_words(zone.find(&Folded::of(&asked))), model.find(&asked));
    }

    #[test]
    fn the_nsec_for_a_name_agrees_with_the_model(samples in samples(), asked in owners()) {
        let model = Model::of(&samples);
        let zone = model.zone();
        let found = zone.nsec_for(&Folded::of(&asked)).map(|node| node.name().to_string());
        prop_assert_eq!(found, model.nsec_for(&asked));
    }

    #[test]
    fn the_nsec_for_a_wildcard_is_that_for_its_name(samples in samples()) {
        let zone = Model::of(&samples).zone();
        for node in zone.nodes().filter(|node| node.wildcard_child().is_none()) {
            let wildcard = Folded::of(&NameBuf::wildcard_of(node.name()).unwrap());
            prop_assert_eq!(zone.nsec_for_wildcard(node), zone.nsec_for(&wildcard));
        }
    }

    #[test]
    fn nodes_are_in_canonical_order_and_know_their_parents(samples in samples()) {
        let zone = Model::of(&samples).zone();
        let names: Vec<_> = zone.nodes().map(|node| node.name().to_owned()).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        prop_assert_eq!(&names, &sorted);
        for node in zone.nodes().skip(1) {
            prop_assert_eq!(node.parent().map(|parent| parent.name()), node.name().parent());
        }
    }

    #[test]
    fn a_difference_leads_from_one_version_to_the_other(old in samples(), new in samples()) {
        let (old, new) = (Model::of(&old).zone(), Model::of(&new).zone());
        let mut builder = old.to_builder().unwrap();
        let changes: Vec<_> = diff(&old, &new).collect();
        for change in &changes {
            if let Change::Removed(record) = change {
                builder.remove(&record.owner, record.rtype, record.rdata).unwrap();
            }
        }
        for change in &changes {
            if let Change::Added(record) = change {
                builder.add(&record.owner, record.rtype, record.ttl, record.rdata).unwrap();
            }
        }
        let made = builder.finish().unwrap();
        prop_assert!(made.records().eq(new.records()));
        prop_assert_eq!(diff(&made, &new).count(), 0);
    }
}
