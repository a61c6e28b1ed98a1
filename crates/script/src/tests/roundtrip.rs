//! What is printed is read back as it was; what is garbage is refused.

use super::random::Tape;
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use prost_reflect::DynamicMessage;

/// A message as its fields, which have no order in tables.
fn opened(any: Option<&Any>) -> Option<DynamicMessage> {
    let any = any?;
    DynamicMessage::decode(reflect::message_of(any)?, any.value.as_slice()).ok()
}

/// What must be the same, in an order of its own.
fn essence(it: &PipelineSpec) -> impl PartialEq + std::fmt::Debug {
    let mut links = links(it);
    links.sort();
    let calls: Vec<_> =
        it.commands.iter().map(|it| (it.name.clone(), it.cmd.clone(), opened(it.arg.as_ref()))).collect();
    let ports: Vec<_> = it
        .ports
        .iter()
        .map(|it| (it.name.clone(), it.driver.clone(), it.num_inc_q, opened(it.arg.as_ref())))
        .collect();
    let modules: Vec<_> =
        it.modules.iter().map(|it| (it.name.clone(), it.mclass.clone(), opened(it.arg.as_ref()))).collect();
    (it.workers.clone(), ports, modules, links, calls, it.classes.clone(), it.tasks.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_back(tape in vec(any::<u32>(), 0..400)) {
        let it = Tape::new(tape).pipeline();
        let text = print(&it).unwrap();
        let read = parse(&text).map_err(|mistakes| TestCaseError::fail(format!("{text}\n{mistakes}")))?.pipeline;
        prop_assert!(essence(&it) == essence(&read), "{text}\n{:#?}\n{:#?}", essence(&it), essence(&read));
        prop_assert_eq!(print(&read).unwrap(), text);
    }

    #[test]
    fn garbage_is_refused_or_read(text in "\\PC{0,80}") {
        let _ = parse(&text).map_err(|mistakes| (mistakes.line(), mistakes.to_string()));
    }

    #[test]
    fn words_and_signs_in_any_order_are_refused_or_read(
        words in vec(proptest::sample::select(vec![
            "a", "Sink", "Queue", "worker", "include", "::", "->", "(", ")", "[", "]", "{", "}", ",", "=", ".", ";",
            "\n", "0", "64", "1.5M", "\"text\"", "\"", "x\"00\"", "true", "size", "fields", "#", "round_robin", ":",
        ]), 0..40),
        gap in proptest::sample::select(vec!["", " "]),
    ) {
        let _ = parse(&words.join(gap)).map_err(|mistakes| (mistakes.line(), mistakes.to_string()));
    }

    #[test]
    fn a_text_that_is_cut_is_refused_or_read(tape in vec(any::<u32>(), 0..200), cut in any::<proptest::sample::Index>()) {
        let text = print(&Tape::new(tape).pipeline()).unwrap();
        let cut = cut.index(text.chars().count() + 1);
        let text: String = text.chars().take(cut).collect();
        let _ = parse(&text).map_err(|mistakes| (mistakes.line(), mistakes.to_string()));
    }
}

#[test]
fn a_pipeline_is_printed_as_one_would_write_it() {
    let text = "\
worker 0(core=1)

p::PMDPort(vdev=net_null0)

fair::weighted_fair(wid=0, resource=bit)
slow::rate_limit(parent=fair, share=3, resource=packet, limit=1000, max_burst=32)

in::PortInc(port=p)
em::ExactMatch(fields=[{offset=26, num_bytes=4}])
end::Sink()
out::PortOut(port=p)

em.add(gate=1, fields=[167772161])
em.set_runtime_config(
  default_gate=1,
  rules=[
    {gate=2, fields=[x\"00010203\"]},
    {gate=3, fields=[x\"00010204\"]},
    {gate=4, fields=[x\"00010205\"]},
  ],
)

in -> em -> end
em[1] -> out

in.attach_task(parent=slow)
";
    assert_eq!(print(&pipeline(text)).unwrap(), text);
}
