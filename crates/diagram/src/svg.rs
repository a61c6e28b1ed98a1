//! A drawing in SVG, laid out here: it needs no other tool and no script to be looked at.

use crate::{Arrow, Diagram, ModuleBox};
use std::fmt::Write;
use tidegate_layout::{Edge, Point, Size, draw};

/// Room around everything.
const MARGIN: f64 = 16.0;
/// A box's height, in about a pixel, and how wide a character is.
const BOX_HEIGHT: f64 = 44.0;
const CHAR_WIDTH: f64 = 8.0;

const HEAD: &str = r##"<style>
  text { font: 13px sans-serif; fill: #1a2b3c; }
  .class { fill: #5b6b7b; font-size: 11px; }
  .gate { fill: #8090a0; font-size: 9px; }
  .label { fill: #0b6e4f; font-size: 11px; }
  rect { fill: #f4f8fb; stroke: #2f6f9f; rx: 6px; }
  path { fill: none; stroke: #6b7b8b; stroke-width: 1.3; }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
  <polygon points="0,0 8,4 0,8" fill="#6b7b8b"/></marker></defs>
"##;

impl Diagram {
    /// The drawing as a whole SVG document.
    pub fn svg(&self) -> String {
        let sizes: Vec<Size> = self.boxes.iter().map(size).collect();
        let edges: Vec<Edge> = self.arrows.iter().map(|it| Edge { from: it.from, to: it.to }).collect();
        let drawing = draw(&sizes, &edges);
        let width = (drawing.size.width + 2.0 * MARGIN).ceil();
        let height = (drawing.size.height + 2.0 * MARGIN).ceil();
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"-{MARGIN} -{MARGIN} {width} {height}\">\n{HEAD}"
        );
        for (arrow, line) in self.arrows.iter().zip(&drawing.lines) {
            self.draw_arrow(&mut text, arrow, line);
        }
        for ((it, corner), size) in self.boxes.iter().zip(&drawing.boxes).zip(&sizes) {
            draw_box(&mut text, it, *corner, *size);
        }
        text.push_str("</svg>\n");
        text
    }

    fn draw_arrow(&self, text: &mut String, arrow: &Arrow, line: &[Point]) {
        let (Some(start), Some(end)) = (line.first(), line.last()) else { return };
        let leaving: Vec<u64> = self.gates(|it| (it.from == arrow.from).then_some(it.ogate));
        let arriving: Vec<u64> = self.gates(|it| (it.to == arrow.to).then_some(it.igate));
        let mut path = format!("M{:.1},{:.1}", start.x, start.y);
        for step in line.windows(2) {
            let (from, to) = (step[0], step[1]);
            let middle = (from.x + to.x) / 2.0;
            // Writing to a String cannot fail.
            let _ =
                write!(path, " C{middle:.1},{:.1} {middle:.1},{:.1} {:.1},{:.1}", from.y, to.y, to.x, to.y);
        }
        let _ = writeln!(text, "<path d=\"{path}\" marker-end=\"url(#head)\"/>");
        if leaving.len() > 1 || arrow.ogate > 0 {
            write_text(text, "gate", (start.x + 4.0, start.y - 3.0), "start", &arrow.ogate.to_string());
        }
        if arriving.len() > 1 || arrow.igate > 0 {
            write_text(text, "gate", (end.x - 10.0, end.y - 3.0), "end", &arrow.igate.to_string());
        }
        // Close to its beginning, where no two arrows of a module meet.
        write_text(text, "label", (start.x + 16.0, start.y - 4.0), "start", &arrow.label);
    }

    /// The gates of one side of a module, each once, in order.
    fn gates(&self, of: impl Fn(&Arrow) -> Option<u64>) -> Vec<u64> {
        let mut gates: Vec<u64> = self.arrows.iter().filter_map(of).collect();
        gates.sort_unstable();
        gates.dedup();
        gates
    }
}

fn size(it: &ModuleBox) -> Size {
    let len = it.name.chars().count().max(it.class.chars().count());
    Size { width: (len as f64 * CHAR_WIDTH + 20.0).max(70.0), height: BOX_HEIGHT }
}

fn draw_box(text: &mut String, it: &ModuleBox, corner: Point, size: Size) {
    let (Point { x, y }, Size { width, height }) = (corner, size);
    let (name, class) = (escaped(&it.name), escaped(&it.class));
    let _ = writeln!(
        text,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{name} ({class})</title></rect>"
    );
    let middle = x + width / 2.0;
    write_text(text, "name", (middle, y + 19.0), "middle", &it.name);
    write_text(text, "class", (middle, y + 35.0), "middle", &it.class);
}

fn write_text(text: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, words: &str) {
    if !words.is_empty() {
        let words = escaped(words);
        let _ = writeln!(
            text,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
        );
    }
}

/// XML 1.0: a text without markup and without characters that may not stand in a document.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
