//! The tables: complete, in order, and of one spelling.

use std::collections::HashSet;

use super::*;

#[test]
fn every_table_is_in_the_order_of_names() {
    assert!(MODULES.is_sorted_by_key(|class| class.name));
    assert!(DRIVERS.is_sorted_by_key(|driver| driver.name));
    assert!(HOOKS.is_sorted_by_key(|class| class.name));
}

#[test]
fn no_name_stands_twice() {
    let names: HashSet<_> = MODULES.iter().map(|class| class.name).collect();
    let short_names: HashSet<_> = MODULES.iter().map(|class| class.short_name).collect();
    assert_eq!((MODULES.len(), names.len(), short_names.len()), (64, 64, 64));
}

#[test]
fn a_class_takes_the_argument_that_is_named_after_it() {
    for class in MODULES {
        let named = format!("{}Arg", class.name).to_ascii_lowercase();
        let expected =
            if ["IPSwap", "UpdateTTL"].contains(&class.name) { "emptyarg" } else { named.as_str() };
        assert_eq!(class.arg.name().to_ascii_lowercase(), expected);
    }
    for driver in DRIVERS {
        assert_eq!(driver.arg.name(), format!("{}Arg", driver.name));
    }
}

#[test]
fn gates_and_commands_are_those_that_controllers_know() {
    let queue = module("Queue").unwrap();
    assert_eq!(queue.gates, GateLimits { inputs: 1, outputs: 1 });
    let set_size = queue.command("set_size").unwrap();
    assert_eq!((set_size.arg.name(), set_size.safety), ("QueueCommandSetSizeArg", Safety::Paused));
    assert_eq!(queue.command("set_burst").unwrap().safety, Safety::Live);
    assert_eq!(module("Replicate").unwrap().gates.outputs, 8192);
    assert_eq!(module("WorkerSplit").unwrap().gates.outputs, 64);
    assert_eq!(module("VLANSplit").unwrap().gates.outputs, 4096);
    assert_eq!(MODULES.iter().map(|class| class.commands.len()).sum::<usize>(), 85);
    assert!(module("queue").is_none());
}
