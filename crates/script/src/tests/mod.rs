//! Texts that are read, texts that are refused, and pipelines written and read again.

mod mistakes;
mod random;
mod roundtrip;

use super::*;
use tidegate_control::Message;
use tidegate_control::proto::bess::{self, TrafficClass};

fn parse(text: &str) -> Result<Script, Mistakes> {
    let mut nothing = |path: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("no {path}")));
    Script::parse("test.tg", text, &mut nothing)
}

fn pipeline(text: &str) -> PipelineSpec {
    parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}")).pipeline
}

fn links(pipeline: &PipelineSpec) -> Vec<String> {
    let link = |link: &bess::ConnectModulesRequest| {
        format!("{}:{} -> {}:{}", link.m1, link.ogate, link.igate, link.m2)
    };
    pipeline.connections.iter().map(link).collect()
}

fn arg(pipeline: &PipelineSpec, module: &str) -> Message {
    let module = pipeline.modules.iter().find(|it| it.name == module).expect("a module of that name");
    let class = tidegate_control::classes::module(&module.mclass).expect("a class");
    Message::decode(class.arg, module.arg.as_ref()).expect("an argument")
}

#[test]
fn a_chain_makes_modules_and_connects_them() {
    let it = pipeline("src::Source() -> q::Queue(size=64) -> Sink()");
    let made: Vec<(&str, &str)> =
        it.modules.iter().map(|it| (it.name.as_str(), it.mclass.as_str())).collect();
    assert_eq!(made, [("src", "Source"), ("q", "Queue"), ("sink0", "Sink")]);
    assert_eq!(links(&it), ["src:0 -> 0:q", "q:0 -> 0:sink0"]);
    assert_eq!(arg(&it, "q"), bess::QueueArg { size: 64, ..Default::default() }.into());
}

#[test]
fn gates_stand_in_brackets() {
    let it = pipeline(
        "m::Merge()\n  -> split::HashLB(gates=[0, 1])[1] -> Sink()\nsplit -> b::Bypass()[3] -> [2]m\nSource() -> m",
    );
    let expected =
        ["m:0 -> 0:split", "split:1 -> 0:sink0", "split:0 -> 0:b", "b:3 -> 2:m", "source0:0 -> 0:m"];
    assert_eq!(links(&it), expected);
}

#[test]
fn lines_end_statements_but_not_within_brackets_or_beside_arrows() {
    for text in [
        "a::Source() -> b::Sink()",
        "a::Source(\n) ->\n b::Sink()",
        "a::Source()\n\n  -> b::Sink() # the end",
        "b::Sink(); a::Source(); a -> b;",
        "a -> b\na::Source() // first\nb::Sink()\n",
    ] {
        assert_eq!(links(&pipeline(text)), ["a:0 -> 0:b"], "{text}");
    }
}

#[test]
fn made_up_names_keep_out_of_the_way_of_given_ones() {
    let it = pipeline("Sink()\nsink0::Sink()\nSink()");
    let names: Vec<&str> = it.modules.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["sink1", "sink0", "sink2"]);
}

#[test]
fn arguments_are_lists_records_tables_bytes_and_numbers() {
    let it = pipeline(
        r#"em::ExactMatch(fields=[{offset=26, num_bytes=4}, {attr_name=vlan, num_bytes=2}], masks=[x"ff ff ff 00", 0xfff])
           r::Rewrite(templates=[x"00
01", "text\t\u{41}"])
           w::WorkerSplit(worker_gates={0=1, 5=0})
           f::FlowGen(template=x"", pps=1.5M, flow_rate=1_000, quick_rampup=true, arrival=uniform)
           mt::MetadataTest(read={"odd name"=2, plain=4})"#,
    );
    let Message::ExactMatchArg(em) = arg(&it, "em") else { panic!("another message") };
    assert_eq!(em.fields[0].position, Some(bess::field::Position::Offset(26)));
    assert_eq!(em.fields[1].position, Some(bess::field::Position::AttrName("vlan".into())));
    assert_eq!(em.masks[0].encoding, Some(bess::field_data::Encoding::ValueBin(vec![255, 255, 255, 0])));
    assert_eq!(em.masks[1].encoding, Some(bess::field_data::Encoding::ValueInt(0xfff)));
    let Message::RewriteArg(rewrite) = arg(&it, "r") else { panic!("another message") };
    assert_eq!(rewrite.templates, [vec![0, 1], b"text\tA".to_vec()]);
    assert_eq!(arg(&it, "w"), bess::WorkerSplitArg { worker_gates: [(0, 1), (5, 0)].into() }.into());
    let Message::FlowGenArg(flows) = arg(&it, "f") else { panic!("another message") };
    assert_eq!((flows.pps, flows.flow_rate, flows.quick_rampup), (1_500_000.0, 1000.0, true));
    let Message::MetadataTestArg(test) = arg(&it, "mt") else { panic!("another message") };
    assert_eq!(test.read, [("odd name".to_owned(), 2), ("plain".to_owned(), 4)].into());
}

#[test]
fn ports_workers_classes_tasks_and_commands() {
    let it = pipeline(
        "worker 0(core=1)
         p::PMDPort(vdev=net_null0, num_inc_q=2)
         slow::rate_limit(parent=fair, share=3, resource=bit, limit=10M, max_burst={bit=1000})
         fair::weighted_fair(wid=0, resource=packet)
         in::PortInc(port=p) -> routes::IPLookup() -> PortOut(port=p)
         routes.add(prefix=\"10.0.0.0\", prefix_len=8, gate=1)
         in.attach_task(parent=slow)",
    );
    assert_eq!((it.workers[0].wid, it.workers[0].core), (0, 1));
    assert_eq!((it.ports[0].driver.as_str(), it.ports[0].num_inc_q), ("PMDPort", 2));
    let slow = &it.classes[1];
    assert_eq!((it.classes[0].name.as_str(), slow.name.as_str()), ("fair", "slow"), "parents come first");
    assert_eq!((slow.limit["bit"], slow.max_burst["bit"]), (10_000_000, 1000));
    assert_eq!(slow.arg, Some(bess::traffic_class::Arg::Share(3)));
    assert_eq!((it.commands[0].name.as_str(), it.commands[0].cmd.as_str()), ("routes", "add"));
    let task = TrafficClass { leaf_module_name: "in".into(), parent: "slow".into(), ..Default::default() };
    assert_eq!(it.tasks, [task]);
}

#[test]
fn what_is_included_belongs_to_the_pipeline() {
    let mut read = |path: &str| match path {
        "dir/parts/queue.tg" => Ok("include \"more.tg\"\nq::Queue()".to_owned()),
        "dir/parts/more.tg" => Ok("end::Sink()".to_owned()),
        other => panic!("{other}"),
    };
    let text = "include \"parts/queue.tg\"\nSource() -> q -> end";
    let script =
        Script::parse("dir/main.tg", text, &mut read).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(links(&script.pipeline), ["source0:0 -> 0:q", "q:0 -> 0:end"]);

    let mut itself = |_: &str| Ok("include \"main.tg\"".to_owned());
    let mistakes = Script::parse("main.tg", "include \"main.tg\"", &mut itself).unwrap_err();
    assert_eq!(mistakes.line(), "main.tg:1:9: main.tg includes itself");
}

#[test]
fn fields_alone_are_read_for_the_command_line() {
    let words = ["prefix=10.0.0.0", "prefix_len=8", "gate=1"].map(str::to_owned);
    let text = join_words(&words);
    assert_eq!(text, "prefix=\"10.0.0.0\", prefix_len=8, gate=1");
    let any = parse_fields(Kind::IpLookupCommandAddArg, "arguments", &text).unwrap();
    let expected = bess::IpLookupCommandAddArg { prefix: "10.0.0.0".into(), prefix_len: 8, gate: 1 };
    assert_eq!(Message::decode(Kind::IpLookupCommandAddArg, Some(&any)), Ok(expected.into()));
    assert_eq!(print_fields(&any).unwrap().join(", "), text);
    let mistakes = parse_fields(Kind::QueueArg, "arguments", "sise=1").unwrap_err();
    assert_eq!(mistakes.line(), "arguments:1:1: there is no argument `sise` here: did you mean `size`?");
}
