//! What the Python package is generated from is what this crate serves: descriptors, and the tables of classes.
//!
//! `make python` sets `TIDEGATE_WRITE`, and then the files are written and not compared.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_control::classes::{DRIVERS, Driver, HOOKS, HookClass, MODULES, ModuleClass};
use tidegate_control::proto::DESCRIPTORS;

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python")
}

/// Holds a file of the package against what it is to be.
fn keep(path: &str, wanted: &[u8]) {
    let path = package().join(path);
    if std::env::var_os("TIDEGATE_WRITE").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read(&path).unwrap_or_default();
    assert!(found == wanted, "{} is not as the protocol is now: run `make python`", path.display());
}

fn module(class: &ModuleClass) -> Value {
    let command =
        |it: &tidegate_control::classes::ModuleCommand| json!({"name": it.name, "arg": it.arg.name()});
    json!({
        "name": class.name,
        "short_name": class.short_name,
        "arg": class.arg.name(),
        "inputs": class.gates.inputs,
        "outputs": class.gates.outputs,
        "help": class.help,
        "commands": class.commands.iter().map(command).collect::<Vec<_>>(),
    })
}

fn driver(driver: &Driver) -> Value {
    json!({
        "name": driver.name,
        "short_name": driver.short_name,
        "arg": driver.arg.name(),
        "help": driver.help,
    })
}

fn hook(class: &HookClass) -> Value {
    let command = |(name, arg): &(&str, tidegate_control::Kind)| json!({"name": name, "arg": arg.name()});
    json!({
        "name": class.name,
        "short_name": class.short_name,
        "arg": class.arg.name(),
        "help": class.help,
        "commands": class.commands.iter().map(command).collect::<Vec<_>>(),
    })
}

#[test]
fn descriptors_of_the_python_package_are_those_of_the_daemon() {
    keep("src/tidegate/proto/interface.binpb", DESCRIPTORS);
}

#[test]
fn classes_of_the_python_package_are_those_of_the_protocol() {
    let classes = json!({
        "modules": MODULES.iter().map(module).collect::<Vec<_>>(),
        "drivers": DRIVERS.iter().map(driver).collect::<Vec<_>>(),
        "hooks": HOOKS.iter().map(hook).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&classes).unwrap();
    text.push('\n');
    keep("tools/classes.json", text.as_bytes());
}
