//! Drawings of small and of random pipelines.

use super::*;
use proptest::prelude::*;
use tidegate_control::proto::bess::{ConnectModulesRequest, CreateModuleRequest};

fn pipeline(count: usize, links: &[(usize, u64, usize)]) -> PipelineSpec {
    let module =
        |number| CreateModuleRequest { name: format!("m{number}"), mclass: "Bypass".into(), arg: None };
    let link = |(from, ogate, to): &(usize, u64, usize)| ConnectModulesRequest {
        m1: format!("m{from}"),
        m2: format!("m{to}"),
        ogate: *ogate,
        ..Default::default()
    };
    PipelineSpec {
        modules: (0..count).map(module).collect(),
        connections: links.iter().map(link).collect(),
        ..Default::default()
    }
}

fn drawn(pipeline: &PipelineSpec) -> Diagram {
    Diagram::of(pipeline, |module, gate| format!("{module}:{gate}"))
}

#[test]
fn dot_names_modules_gates_and_labels() {
    let mut pipeline = pipeline(2, &[(0, 3, 1)]);
    pipeline.modules[0].name = "say \"hi\"".into();
    pipeline.connections[0].m1 = "say \"hi\"".into();
    let dot = Diagram::of(&pipeline, |_, _| "5 M/s".to_owned()).dot();
    assert!(dot.contains(r#"m0 [label="say \"hi\"\nBypass"];"#), "{dot}");
    assert!(dot.contains(r#"m0 -> m1 [taillabel="3", headlabel="0", label="5 M/s"];"#), "{dot}");
}

#[test]
fn what_xml_cannot_hold_is_escaped() {
    let mut pipeline = pipeline(1, &[]);
    pipeline.modules[0].name = "<a & \"b\"\u{1}>".into();
    let svg = drawn(&pipeline).svg();
    assert!(svg.contains("&lt;a &amp; &quot;b&quot;\u{fffd}&gt;"), "{svg}");
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let diagram = drawn(&PipelineSpec::default());
    assert!(diagram.svg().ends_with("</svg>\n"));
    assert!(diagram.dot().ends_with("}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Loops too, which no daemon runs.
    #[test]
    fn everything_is_drawn(
        count in 1..16_usize,
        links in proptest::collection::vec((0..16_usize, 0..4_u64, 0..16_usize), 0..30),
    ) {
        let links: Vec<(usize, u64, usize)> = links.into_iter().filter(|(a, _, b)| *a < count && *b < count).collect();
        let diagram = drawn(&pipeline(count, &links));
        let svg = diagram.svg();
        prop_assert_eq!(svg.matches("<rect x").count(), count);
        prop_assert_eq!(svg.matches("<path d").count(), links.len());
    }
}
