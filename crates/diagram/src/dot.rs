//! A drawing in DOT, for Graphviz to lay out.

use crate::Diagram;
use std::fmt::Write;

impl Diagram {
    /// The drawing in the DOT language.
    pub fn dot(&self) -> String {
        let mut text =
            String::from("digraph pipeline {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        for (number, it) in self.boxes.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  m{number} [label={}];", quoted(&format!("{}\n{}", it.name, it.class)));
        }
        for arrow in &self.arrows {
            let gates = format!("taillabel=\"{}\", headlabel=\"{}\"", arrow.ogate, arrow.igate);
            let label = quoted(&arrow.label);
            let _ = writeln!(text, "  m{} -> m{} [{gates}, label={label}];", arrow.from, arrow.to);
        }
        text.push_str("}\n");
        text
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
