//! Arrows become connections between gates.

use crate::assemble::Assembly;
use crate::literal::quote;
use crate::problem::Problem;
use crate::source::Span;
use crate::tree::{Element, Index, Name};
use tidegate_control::classes;
use tidegate_control::proto::bess::ConnectModulesRequest;

impl Assembly {
    /// Connects each element of a chain to the next; `names` are the elements'.
    pub(crate) fn link_all(&mut self, elements: &[Element], names: &[Name]) {
        if let Some(gate) = elements.first().and_then(|element| element.igate) {
            self.problems.push(loose(gate.span, "comes in by this gate", "put a module and `->` in front"));
        }
        if let Some(gate) = elements.last().and_then(|element| element.ogate) {
            self.problems.push(loose(gate.span, "leaves by this gate", "put `->` and a module behind it"));
        }
        if let ([element], [name]) = (elements, names)
            && matches!(element.node, crate::tree::Node::Named(_))
        {
            // A name alone connects nothing; it must be one at least.
            self.module_named(name);
        }
        for (pair, names) in elements.windows(2).zip(names.windows(2)) {
            self.link((&pair[0], &names[0]), (&pair[1], &names[1]));
        }
    }

    fn link(&mut self, from: (&Element, &Name), to: (&Element, &Name)) {
        let (Some(source), Some(sink)) = (self.endpoint(from), self.endpoint(to)) else { return };
        let ogate = gate_of("output", from.1, from.0.ogate, source.gates.outputs);
        let igate = gate_of("input", to.1, to.0.igate, sink.gates.inputs);
        let (Some(ogate), Some(igate)) = (self.note(ogate), self.note(igate)) else { return };
        let (m1, m2) = (from.1.text.clone(), to.1.text.clone());
        let taken = self.pipeline.connections.iter().find(|link| link.m1 == m1 && link.ogate == ogate);
        if let Some(taken) = taken {
            let text = format!("output gate {ogate} of `{m1}` leads to `{}` already", taken.m2);
            let span = from.0.ogate.map_or(from.1.span, |gate| gate.span);
            let help =
                format!("use another gate, {}[{}], or copy packets with Replicate", quote(&m1), ogate + 1);
            return self.problems.push(Problem::new(span, text).help(help));
        }
        let link = ConnectModulesRequest { m1, m2, ogate, igate, skip_default_hooks: false };
        self.pipeline.connections.push(link);
    }

    /// The class of an element's module. What was made wrong is noted already.
    fn endpoint(&mut self, (element, name): (&Element, &Name)) -> Option<&'static classes::ModuleClass> {
        match element.node {
            crate::tree::Node::Named(_) => self.module_named(name),
            crate::tree::Node::Made(_) => self.modules.get(&name.text).map(|(_, class)| *class),
        }
    }
}

fn loose(span: Span, what: &str, help: &str) -> Problem {
    Problem::new(span, format!("nothing {what}")).help(help)
}

fn gate_of(direction: &str, name: &Name, gate: Option<Index>, count: u16) -> Result<u64, Problem> {
    let number = gate.map_or(0, |gate| gate.number);
    if number < u64::from(count) {
        return Ok(number);
    }
    let has = match count {
        0 => format!("it has no {direction} gate at all"),
        1 => "it has gate 0 alone".to_owned(),
        count => format!("it has gates 0 to {}", count - 1),
    };
    let span = gate.map_or(name.span, |gate| gate.span);
    Err(Problem::new(span, format!("`{}` has no {direction} gate {number}", name.text)).help(has))
}

/// The problem of a name that no module has.
pub(crate) fn no_module(assembly: &Assembly, name: &Name) -> Problem {
    let text = name.text.as_str();
    if assembly.ports.contains_key(text) {
        return not_a_module(text, name);
    }
    let problem = Problem::new(name.span, format!("there is no module `{text}`"));
    if classes::module(text).is_some() {
        return problem.help(format!("it is a class: write {text}() for a module of it"));
    }
    match tidegate_config::nearest(text, assembly.modules.keys().map(String::as_str)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help(format!("make it: {}::Bypass()", quote(text))),
    }
}

/// The problem of a port or class where a module should be.
pub(crate) fn not_a_module(name: &str, at: &Name) -> Problem {
    let quoted = quote(name);
    let problem = Problem::new(at.span, format!("`{name}` is no module: packets do not pass it"));
    problem.help(format!("write PortInc(port={quoted}) -> ... -> PortOut(port={quoted}) for a port"))
}
