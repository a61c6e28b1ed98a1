//! A pipeline as a drawing, from left to right: as DOT for Graphviz, or as SVG.
//!
//! ```text
//!   PipelineSpec -> Diagram -> dot
//!                      |
//!                      +-> tidegate-layout: where boxes and lines go -> svg
//! ```
//!
//! Invariant: every module and every connection is drawn, whatever the pipeline. Not here: where the pipeline and the words
//! on its arrows come from.
#![forbid(unsafe_code)]

mod dot;
mod svg;

use std::collections::HashMap;
use tidegate_control::proto::v1::PipelineSpec;

/// A drawing: boxes and arrows between them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagram {
    boxes: Vec<ModuleBox>,
    arrows: Vec<Arrow>,
}

/// A module.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ModuleBox {
    name: String,
    class: String,
}

/// A connection: numbers are places in the list of boxes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Arrow {
    from: usize,
    ogate: u64,
    to: usize,
    igate: u64,
    label: String,
}

impl Diagram {
    /// The drawing of a pipeline; `label` gives the words on the arrow that begins at a module's output gate.
    /// Connections of modules that the pipeline does not have are left out.
    pub fn of(pipeline: &PipelineSpec, mut label: impl FnMut(&str, u64) -> String) -> Self {
        let modules = pipeline.modules.iter();
        let boxes: Vec<ModuleBox> = modules
            .map(|module| ModuleBox { name: module.name.clone(), class: module.mclass.clone() })
            .collect();
        let number: HashMap<&str, usize> =
            boxes.iter().enumerate().map(|(number, it)| (it.name.as_str(), number)).collect();
        let arrow = |link: &tidegate_control::proto::bess::ConnectModulesRequest| {
            let (from, to) = (*number.get(link.m1.as_str())?, *number.get(link.m2.as_str())?);
            let label = label(&link.m1, link.ogate);
            Some(Arrow { from, ogate: link.ogate, to, igate: link.igate, label })
        };
        let arrows = pipeline.connections.iter().filter_map(arrow).collect();
        Self { boxes, arrows }
    }
}

#[cfg(test)]
mod tests;
