//! Plants without threads: what is refused, and where things come to be.

use super::*;
use crate::make::{self, Seat};
use tidegate_control::Errno;
use tidegate_control::classes::module;
use tidegate_control::controller::{ClassSpec, Policy, Slot};
use tidegate_control::proto::bess::ReclassArg;

fn plant(modules: &[(&str, &str)], links: &[(&str, u16, &str, u16)]) -> Plant {
    let mut plant = Plant::default();
    for wid in 0..2 {
        plant.workers.insert(wid, WorkerWish::on(0));
    }
    for (serial, (name, class)) in modules.iter().enumerate() {
        let arg = Message::decode(module(class).unwrap().arg, None).unwrap();
        plant.modules.insert((*name).to_owned(), wish(class, arg, serial as u64));
    }
    for (from, out, to, input) in links {
        plant.links.insert(((*from).to_owned(), *out), ((*to).to_owned(), *input));
    }
    plant
}

fn wish(class: &str, arg: Message, serial: u64) -> ModuleWish {
    let class = module(class).unwrap();
    let made = make::make(class, &arg, Seat::TRIAL).unwrap();
    ModuleWish {
        class,
        arg,
        serial,
        gates: made.gates(),
        attributes: made.attributes().to_vec(),
        task_count: made.task_count() as u32,
        port: None,
        said: Vec::new(),
        planned: Vec::new(),
        is_told_later: false,
    }
}

fn put(plant: &mut Plant, module: &str, above: Above, slot: Option<Slot>) {
    plant.tasks.insert((module.to_owned(), 0), Place { above, slot });
}

fn errno(outcome: Result<impl Sized, tidegate_control::Fault>) -> Option<Errno> {
    outcome.err().map(|fault| fault.errno)
}

#[test]
fn modules_are_where_tasks_reach_them() {
    let mut plant = plant(
        &[("a", "Source"), ("b", "Source"), ("s", "Sink"), ("idle", "Bypass")],
        &[("a", 0, "s", 0), ("b", 0, "s", 0)],
    );
    put(&mut plant, "b", Above::Worker(1), None);
    check(&plant).unwrap();
    let placement = place(&plant, &Placement::default()).unwrap();
    assert_eq!(placement.modules["a"], [0].into());
    assert_eq!(placement.modules["b"], [1].into());
    assert_eq!(placement.modules["s"], [0, 1].into());
    assert!(placement.modules["idle"].is_empty());
    plant.links.remove(&("a".to_owned(), 0));
    plant.links.remove(&("b".to_owned(), 0));
    let stayed = place(&plant, &placement).unwrap();
    assert_eq!(stayed.modules["s"], [0].into());
}

#[test]
fn module_with_state_is_refused_on_two_workers() {
    let modules = [("a", "Source"), ("b", "Source"), ("r", "ArpResponder")];
    let mut plant = plant(&modules, &[("a", 0, "r", 0), ("b", 0, "r", 0)]);
    place(&plant, &Placement::default()).unwrap();
    put(&mut plant, "b", Above::Worker(1), None);
    let refused = place(&plant, &Placement::default()).unwrap_err();
    assert_eq!(refused.errno, Errno::EBUSY);
    assert!(refused.text.contains("r (ArpResponder)") && refused.text.contains("0, 1"), "{}", refused.text);
}

#[test]
fn what_cannot_run_is_placed_as_far_as_may_be_and_told() {
    let modules = [("a", "Source"), ("b", "Source"), ("r", "ArpResponder"), ("s", "Sink"), ("x", "Bypass")];
    let links = [("a", 0, "r", 0), ("b", 0, "r", 0), ("r", 0, "s", 0), ("x", 0, "s", 0)];
    let mut plant = plant(&modules, &links);
    put(&mut plant, "b", Above::Worker(1), None);
    let (placement, violations) = place_as_far_as_may_be(&plant, &Placement::default());
    assert_eq!((&placement.modules["r"], &placement.modules["b"]), (&[0].into(), &[1].into()));
    let told: Vec<_> = violations.iter().map(|it| (it.module.as_str(), it.is_fatal)).collect();
    assert_eq!(told, [("r", true), ("x", false)]);
    put(&mut plant, "a", Above::Worker(1), None);
    let (moved, violations) = place_as_far_as_may_be(&plant, &placement);
    assert_eq!(moved.modules["r"], [1].into());
    assert!(violations.iter().all(|it| !it.is_fatal));
    plant.tasks.remove(&("a".to_owned(), 0));
    let (stays, _) = place_as_far_as_may_be(&plant, &moved);
    assert_eq!(stays.modules["r"], [1].into());
}

#[test]
fn loops_and_gates_beyond_the_last_are_refused() {
    let modules = [("a", "Source"), ("x", "Bypass"), ("y", "Bypass"), ("s", "Sink")];
    check(&plant(&modules, &[("a", 0, "x", 0), ("x", 0, "y", 0), ("y", 0, "s", 0)])).unwrap();
    let looped = plant(&modules, &[("a", 0, "x", 0), ("x", 0, "y", 0), ("y", 0, "x", 1)]);
    assert_eq!(errno(check(&looped)), Some(Errno::EINVAL));
    assert_eq!(errno(check(&plant(&modules, &[("x", 0, "x", 0)]))), Some(Errno::EINVAL));
    assert_eq!(errno(check(&plant(&modules, &[("a", 1, "x", 0)]))), Some(Errno::EINVAL));
    assert_eq!(errno(check(&plant(&modules, &[("a", 0, "s", 1)]))), Some(Errno::EINVAL));
    assert_eq!(errno(check(&plant(&modules, &[("a", 0, "gone", 0)]))), Some(Errno::ENOENT));
}

#[test]
fn classes_that_do_not_fit_are_refused() {
    let mut plant = plant(&[("a", "Source"), ("b", "Source")], &[]);
    let class = |name: &str, policy, above| ClassSpec {
        name: name.to_owned(),
        policy,
        place: Place { above, slot: None },
    };
    plant.classes.push(class("top", Policy::Priority, Above::Worker(1)));
    put(&mut plant, "a", Above::Class("top".to_owned()), Some(Slot::Priority(0)));
    check(&plant).unwrap();
    assert_eq!(plant.worker_of_task("a", 0), Some(1));
    put(&mut plant, "a", Above::Class("top".to_owned()), None);
    assert_eq!(errno(check(&plant)), Some(Errno::EINVAL));
    put(&mut plant, "a", Above::Class("nowhere".to_owned()), None);
    assert_eq!(plant.worker_of_task("a", 0), None);
}

#[test]
fn tasks_of_a_transformer_edge_are_in_its_new_classes() {
    let mut plant = plant(&[], &[]);
    let arg = ReclassArg { classes: [("old".into(), "fast".into())].into(), others: "fair".into(), size: 0 };
    plant.modules.insert("edge".to_owned(), wish("Reclass", arg.into(), 0));
    assert_eq!(errno(check(&plant)), Some(Errno::ENOENT));
    let fair = Policy::WeightedFair(tidegate_control::controller::Resource::Bit);
    for (name, policy) in [("old", Policy::RoundRobin), ("fair", fair), ("fast", Policy::Priority)] {
        let place = Place { above: Above::Worker(1), slot: None };
        plant.classes.push(ClassSpec { name: name.to_owned(), policy, place });
    }
    check(&plant).unwrap();
    let in_class = |name: &str, slot| Some(Place { above: Above::Class(name.to_owned()), slot: Some(slot) });
    assert_eq!(plant.place_of("edge", 0), in_class("fair", Slot::Share(1)));
    assert_eq!(plant.place_of("edge", 1), in_class("fast", Slot::Priority(0)));
    assert_eq!(place(&plant, &Placement::default()).unwrap().modules["edge"], [1].into());
    put(&mut plant, "edge", Above::Class("old".to_owned()), None);
    check(&plant).unwrap();
    plant.classes.remove(0);
    assert_eq!(check(&plant).unwrap_err().text.find("edge names traffic class old"), Some(0));
}

#[test]
fn trees_come_from_any_wish_to_any_other() {
    use tidegate_pipeline::class::{ClassTree, LeafId, Policy as TreePolicy, Position};
    let group = |name: &str, policy, parent: Option<&str>, slot| {
        let above = parent.map_or(Above::Worker(0), |parent| Above::Class(parent.to_owned()));
        ClassSpec { name: name.to_owned(), policy, place: Place { above, slot } }
    };
    let limit = |limit| Policy::RateLimit {
        resource: tidegate_control::controller::Resource::Packet,
        limit: Some(limit),
        max_burst: 0,
    };
    let fair = Policy::WeightedFair(tidegate_control::controller::Resource::Bit);
    let wishes = [
        (vec![], vec![(None, Position::LAST), (None, Position::LAST)]),
        (
            vec![
                group("top", Policy::Priority, None, None),
                group("l", limit(9), Some("top"), Some(Slot::Priority(1))),
            ],
            vec![(Some("l".to_owned()), Position::None), (Some("top".to_owned()), Position::Priority(0))],
        ),
        (
            vec![group("top", fair, None, None), group("l", limit(7), Some("top"), Some(Slot::Share(3)))],
            vec![(Some("top".to_owned()), Position::Share(2)), (Some("l".to_owned()), Position::None)],
        ),
        (
            vec![group("l", limit(7), None, None)],
            vec![(None, Position::None), (Some("l".to_owned()), Position::None)],
        ),
    ];
    for from in &wishes {
        for to in &wishes {
            let mut tree = ClassTree::new(0, 1);
            for leaf in 0..2 {
                tree.add(&format!("!leaf_{leaf}"), None, TreePolicy::Leaf(LeafId(leaf)), Position::LAST)
                    .unwrap();
            }
            for (classes, seats) in [from, to] {
                let leaves: Vec<_> = (0..).map(LeafId).zip(seats.iter().cloned()).collect();
                sync(&mut tree, classes, &leaves).unwrap();
            }
            let names = tree.iter().filter(|it| !it.name.starts_with('!')).count();
            assert_eq!(names, to.0.len());
            for class in &to.0 {
                assert!(tree.find(&class.name).is_ok());
            }
        }
    }
}

#[test]
fn every_class_that_is_known_is_in_the_protocols_table() {
    for class in tidegate_control::classes::MODULES.iter().filter(|class| make::is_known(class)) {
        // Arguments that are empty make a module or a fault, and never a panic.
        let Ok(arg) = Message::decode(class.arg, None) else { continue };
        match make::make(class, &arg, Seat::TRIAL) {
            Ok(module) => assert!(module.gates().inputs <= 8192),
            Err(fault) => assert_ne!(fault.errno, Errno::ENOTSUP, "{}: {fault}", class.name),
        }
    }
}
