//! `tidegate.v1`: whole pipelines, layouts, counters and services; faults as gRPC statuses.

use std::thread;

use crossbeam_channel::bounded;
use tidegate_control::ClientError;
use tidegate_control::proto::bess::{
    AddWorkerRequest, CommandRequest, ConnectModulesRequest, CreateModuleRequest, TrafficClass,
};
use tidegate_control::proto::v1::{PipelineSpec, ReloadZonesRequest, StartServiceRequest, WatchRequest};

use crate::fake::{Daemon, Fake};

fn module(name: &str, mclass: &str) -> CreateModuleRequest {
    CreateModuleRequest { name: name.into(), mclass: mclass.into(), arg: None }
}

fn edge(m1: &str, m2: &str) -> ConnectModulesRequest {
    ConnectModulesRequest { m1: m1.into(), m2: m2.into(), ..Default::default() }
}

/// Source -> queue -> sink, the source's task below a class of worker 0.
fn whole() -> PipelineSpec {
    PipelineSpec {
        workers: vec![AddWorkerRequest::default()],
        ports: Vec::new(),
        modules: vec![module("src", "Source"), module("q", "Queue"), module("end", "Sink")],
        connections: vec![edge("src", "q"), edge("q", "end")],
        classes: vec![TrafficClass {
            name: "turns".into(),
            policy: "round_robin".into(),
            ..Default::default()
        }],
        tasks: vec![TrafficClass {
            leaf_module_name: "src".into(),
            parent: "turns".into(),
            wid: -1,
            ..Default::default()
        }],
        commands: vec![CommandRequest { name: "q".into(), cmd: "set_burst".into(), arg: None }],
    }
}

#[test]
fn a_pipeline_arrives_whole() {
    let daemon = Daemon::start(Fake::default());
    let answer = daemon.client().replace_pipeline(whole(), true).unwrap();
    assert_eq!(answer.created, ["src", "q", "end"]);
    let expected = "replace_pipeline 1 workers, [\"src\", \"q\", \"end\"], 2 connections, 1 classes, \
                    1 tasks, check_only true";
    assert_eq!(daemon.shutdown(), [expected]);
}

#[test]
fn a_pipeline_that_does_not_fit_together_never_arrives() {
    type Break = fn(&mut PipelineSpec);
    let broken: [(&str, Break); 13] = [
        ("a module of the pipeline has no name", |p| p.modules[0].name.clear()),
        ("module `q` stands in the pipeline twice", |p| p.modules.push(module("q", "Sink"))),
        ("there is no module class `Quueue`", |p| p.modules[1].mclass = "Quueue".into()),
        ("module `gone` is not in the pipeline", |p| p.connections[0].m2 = "gone".into()),
        ("output gate 0 of module `src` leads to two places", |p| p.connections.push(edge("src", "end"))),
        ("module `gone` is not in the pipeline", |p| p.commands[0].name = "gone".into()),
        ("module `q` has no command `fill`", |p| p.commands[0].cmd = "fill".into()),
        ("module `src` has no output gate 1", |p| p.connections[0].ogate = 1),
        ("worker `0` stands in the pipeline twice", |p| p.workers.push(AddWorkerRequest::default())),
        ("worker 5 is not in the pipeline", |p| p.classes[0].wid = 5),
        ("policy `fifo` is none of", |p| p.classes[0].policy = "fifo".into()),
        ("traffic class `late` must stand before", |p| p.tasks[0].parent = "late".into()),
        ("a task of the pipeline names no module", |p| {
            p.tasks[0].leaf_module_name.clear();
            p.tasks[0].name = "turns".into();
        }),
    ];
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    for (says, break_it) in broken {
        let mut pipeline = whole();
        break_it(&mut pipeline);
        let error = client.replace_pipeline(pipeline, false).unwrap_err();
        assert!(matches!(error, ClientError::Status(_)), "{error:?}");
        assert!(error.to_string().contains(says), "{says:?} is not in: {error}");
    }
    assert_eq!(daemon.shutdown(), [""; 0]);
}

#[test]
fn counters_come_again_and_again_until_nobody_wants_them() {
    let daemon = Daemon::start(Fake::default());
    let mut told = 0;
    let request = WatchRequest { interval_ms: 100, kinds: vec![1, 4] };
    daemon
        .client()
        .watch(request, |_| {
            told += 1;
            told < 3
        })
        .unwrap();
    let log = daemon.shutdown();
    assert!(log.len() >= 3, "{log:?}");
    assert_eq!(log[0], "counters Kinds { gates: true, modules: false, classes: false, ports: true }");
}

#[test]
fn a_watch_out_of_range_says_the_range() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    for (request, says) in [
        (WatchRequest { interval_ms: 99, kinds: Vec::new() }, "interval_ms is 99: it may be 100 to 3600000"),
        (WatchRequest { interval_ms: 0, kinds: vec![7] }, "7 is no kind of counters: 1 to 4 are"),
    ] {
        assert_eq!(client.watch(request, |_| true).unwrap_err().to_string(), says);
    }
}

#[test]
fn layouts_and_services_are_told() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    for name in ["a", "b"] {
        client.create_module(module(name, "Sink")).unwrap();
    }
    assert_eq!(client.show_metadata(Vec::new()).unwrap().modules.len(), 2);
    assert_eq!(client.show_metadata(vec!["b".into()]).unwrap().modules[0].module, "b");
    assert!(client.show_metadata(vec!["ghost".into()]).is_err());
    assert_eq!(client.list_services().unwrap()[0].listens, ["10.77.0.2:80"]);
    assert_eq!(client.show_pipeline().unwrap(), PipelineSpec::default());
}

#[test]
fn reading_for_a_service_keeps_no_other_call_waiting() {
    let (entered, has_entered) = bounded(1);
    let (release, released) = bounded(1);
    let daemon = Daemon::start(Fake { hold: Some((entered, released)), ..Fake::default() });
    let mut starter = daemon.client();
    let request = StartServiceRequest { name: "held".into(), directory: "/".into(), ..Default::default() };
    let starting = thread::spawn(move || starter.start_service(request).unwrap().name);
    has_entered.recv().unwrap();
    let mut client = daemon.client();
    client.create_module(module("a", "Sink")).unwrap();
    let news = client.reload_zones(ReloadZonesRequest { service: "s".into(), zone: "a.".into() }).unwrap();
    assert_eq!((news[0].zone.as_str(), news[0].serial), ("a.", Some(7)));
    release.send(()).unwrap();
    assert_eq!(starting.join().unwrap(), "held");
}
