//! Bad arguments of every class, command, driver and hook, over a socket: code, text, and nothing recorded.

use prost_types::Any;
use tidegate_control::classes::{DRIVERS, HOOKS, MODULES};
use tidegate_control::proto::bess::{
    CommandRequest, ConfigureGateHookRequest, ConnectModulesRequest, CreateModuleRequest, CreatePortRequest,
    GateHookInfo, gate_hook_info::Gate,
};
use tidegate_control::{Client, ClientError, Errno, Kind};

use crate::fake::{Daemon, Fake};

/// Bytes that end in the middle of a field, whatever the message.
const CUT_SHORT: [u8; 3] = [0x0a, 0x7f, 0x01];

fn bad_arguments(kind: Kind) -> [(Any, &'static str); 3] {
    let url = |name: &str| format!("type.googleapis.com/{name}");
    [
        (Any { type_url: url(&kind.full_name()), value: CUT_SHORT.into() }, "is damaged"),
        (Any { type_url: url("bess.pb.Error"), value: Vec::new() }, "was expected"),
        (Any { type_url: "x".repeat(1 << 16), value: Vec::new() }, "was expected"),
    ]
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, ClientError>, errno: Errno, words: &[&str]) {
    let Err(ClientError::Refused(fault)) = outcome else { panic!("not refused: {outcome:?}") };
    assert_eq!(fault.errno, errno, "{fault}");
    for word in words {
        assert!(fault.text.contains(word), "{word:?} is not in: {fault}");
    }
    assert!(fault.text.len() < 400 && !fault.text.contains('\n'), "one line: {fault}");
}

#[test]
fn every_module_class_refuses_what_is_not_its_argument() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    for class in MODULES.iter().filter(|class| class.name != "NoOP") {
        for (arg, says) in bad_arguments(class.arg) {
            let request = CreateModuleRequest { name: "m".into(), mclass: class.name.into(), arg: Some(arg) };
            let words = ["module `m` of class", class.name, class.arg.name(), says];
            refused(client.create_module(request), Errno::EINVAL, &words);
        }
    }
    assert_eq!(daemon.shutdown(), [""; 0]);
}

#[test]
fn every_command_refuses_what_is_not_its_argument() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    for class in MODULES.iter().filter(|class| !class.commands.is_empty()) {
        let name = made(&mut client, class.name, class.arg);
        for command in class.commands {
            for (arg, says) in bad_arguments(command.arg) {
                let request = CommandRequest { name: name.clone(), cmd: command.name.into(), arg: Some(arg) };
                let whose = format!("command {} of module `{name}`", command.name);
                let words = [whose.as_str(), command.arg.name(), says];
                refused(client.module_command(request), Errno::EINVAL, &words);
            }
        }
        let request = CommandRequest { name: name.clone(), cmd: "dance".into(), arg: None };
        refused(client.module_command(request), Errno::ENOTSUP, &["dance", class.commands[0].name]);
    }
    let ran = daemon.shutdown().into_iter().filter(|line| line.starts_with("run_command"));
    assert_eq!(ran.collect::<Vec<_>>(), [""; 0]);
}

/// A module of that class, with the least argument that it takes.
fn made(client: &mut Client, class: &str, kind: Kind) -> String {
    use tidegate_control::Message;
    use tidegate_control::proto::bess::field::Position;
    use tidegate_control::proto::bess::{
        Field, PortIncArg, PortOutArg, QueueIncArg, RateLimiterArg, ReplayArg,
    };
    let arg = match kind {
        Kind::PortIncArg => Message::from(PortIncArg { port: "p".into(), prefetch: false }),
        Kind::PortOutArg => PortOutArg { port: "p".into() }.into(),
        Kind::ReplayArg => ReplayArg { path: "/tmp/a.pcap".into(), ..Default::default() }.into(),
        Kind::RateLimiterArg => {
            let field = Field { position: Some(Position::Offset(26)), num_bytes: 4 };
            RateLimiterArg { field: Some(field), ..Default::default() }.into()
        }
        Kind::QueueIncArg => QueueIncArg { port: "p".into(), qid: 0, prefetch: false }.into(),
        other => Message::decode(other, None).unwrap(),
    };
    let request = CreateModuleRequest { name: String::new(), mclass: class.into(), arg: Some(arg.to_any()) };
    client.create_module(request).unwrap().name
}

#[test]
fn every_driver_and_hook_refuses_what_is_not_its_argument() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    for driver in DRIVERS.iter().filter(|driver| driver.name != "VPort") {
        for (arg, says) in bad_arguments(driver.arg) {
            let request =
                CreatePortRequest { driver: driver.name.into(), arg: Some(arg), ..Default::default() };
            refused(client.create_port(request), Errno::EINVAL, &[driver.name, driver.arg.name(), says]);
        }
    }
    for class in HOOKS.iter().filter(|class| class.name != "PcapNg") {
        for (arg, says) in bad_arguments(class.arg) {
            let hook = GateHookInfo {
                class_name: class.name.into(),
                gate: Some(Gate::Igate(-1)),
                arg: Some(arg),
                ..Default::default()
            };
            let request = ConfigureGateHookRequest { hook: Some(hook), enable: true };
            refused(
                client.configure_gate_hook(request),
                Errno::EINVAL,
                &[class.name, class.arg.name(), says],
            );
        }
    }
    assert_eq!(daemon.shutdown(), [""; 0]);
}

#[test]
fn gates_beyond_a_class_are_refused_with_those_it_has() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    let source = made(&mut client, "Source", Kind::SourceArg);
    let sink = made(&mut client, "Sink", Kind::SinkArg);
    let mut connect = |m1: &str, ogate, m2: &str, igate| {
        let (m1, m2) = (m1.to_owned(), m2.to_owned());
        client.connect_modules(ConnectModulesRequest { m1, m2, ogate, igate, skip_default_hooks: false })
    };
    refused(
        connect(&source, 1, &sink, 0),
        Errno::EINVAL,
        &["`source0` has no output gate 1", "gate 0 alone"],
    );
    refused(connect(&source, u64::MAX, &sink, 0), Errno::EINVAL, &["18446744073709551615"]);
    refused(connect(&source, 0, &source, 0), Errno::EINVAL, &["no input gate 0: it has none"]);
    refused(connect("ghost", 0, &sink, 0), Errno::ENOENT, &["ghost"]);
    refused(connect("", 0, &sink, 0), Errno::EINVAL, &["name of a module is missing"]);
    connect(&source, 0, &sink, 0).unwrap();
}
