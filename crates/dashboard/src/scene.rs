//! The graph as it is drawn, kept until another is to be drawn.

use serde::Serialize;
use std::collections::HashMap;
use tidegate_control::proto::v1::PipelineSpec;
use tidegate_layout::{Drawing, Edge, Size, draw};

/// The height of a module's box: its name, its class and its rate.
const BOX_HEIGHT: f64 = 62.0;

/// The narrowest and the widest box; a longer name is cut by the page.
const BOX_WIDTHS: (f64, f64) = (124.0, 260.0);

/// The width of a letter, and what is left and right of a name.
const LETTER_WIDTH: f64 = 8.2;
const MARGIN: f64 = 34.0;

/// An output gate that leads to an input gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Link {
    from: String,
    ogate: u64,
    to: String,
    igate: u64,
}

/// What is drawn, and how.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    /// Names and classes.
    modules: Vec<(String, String)>,
    links: Vec<Link>,
    sizes: Vec<Size>,
    drawing: Option<Drawing>,
    /// Rises whenever another graph is drawn.
    edition: u64,
}

/// A drawing as the page reads it; boxes as `[x, y, width, height]`, lines as `[x, y]` each.
#[derive(Debug, Serialize)]
pub(crate) struct DrawingRecord {
    edition: u64,
    width: f64,
    height: f64,
    boxes: Vec<[f64; 4]>,
    lines: Vec<Vec<[f64; 2]>>,
    links: Vec<Link>,
}

impl Scene {
    /// Draws this pipeline, unless it is drawn already.
    pub(crate) fn draw(&mut self, pipeline: &PipelineSpec) {
        let modules: Vec<_> =
            pipeline.modules.iter().map(|module| (module.name.clone(), module.mclass.clone())).collect();
        let link = |it: &tidegate_control::proto::bess::ConnectModulesRequest| Link {
            from: it.m1.clone(),
            ogate: it.ogate,
            to: it.m2.clone(),
            igate: it.igate,
        };
        let places: HashMap<&str, usize> =
            modules.iter().enumerate().map(|(place, (name, _))| (name.as_str(), place)).collect();
        let edge = |link: &Link| {
            Some(Edge { from: *places.get(link.from.as_str())?, to: *places.get(link.to.as_str())? })
        };
        let mut links: Vec<Link> = pipeline.connections.iter().map(link).collect();
        links.retain(|link| edge(link).is_some());
        if self.drawing.is_some() && (&modules, &links) == (&self.modules, &self.links) {
            return;
        }
        self.sizes = modules.iter().map(|(name, class)| size(name, class)).collect();
        let edges: Vec<Edge> = links.iter().filter_map(edge).collect();
        self.drawing = Some(draw(&self.sizes, &edges));
        self.edition += 1;
        (self.modules, self.links) = (modules, links);
    }

    /// The drawing, with its boxes in the order of the pipeline's modules.
    pub(crate) fn record(&self) -> DrawingRecord {
        let (corners, lines, size) = match &self.drawing {
            Some(drawing) => (drawing.boxes.as_slice(), drawing.lines.as_slice(), drawing.size),
            None => (&[][..], &[][..], Size { width: 0.0, height: 0.0 }),
        };
        let round = |value: f64| (value * 10.0).round() / 10.0;
        DrawingRecord {
            edition: self.edition,
            width: round(size.width),
            height: round(size.height),
            boxes: corners
                .iter()
                .zip(&self.sizes)
                .map(|(corner, size)| [round(corner.x), round(corner.y), round(size.width), size.height])
                .collect(),
            lines: lines
                .iter()
                .map(|line| line.iter().map(|point| [round(point.x), round(point.y)]).collect())
                .collect(),
            links: self.links.clone(),
        }
    }
}

fn size(name: &str, class: &str) -> Size {
    let letters = name.chars().count().max(class.chars().count());
    let width = (letters as f64 * LETTER_WIDTH + MARGIN).clamp(BOX_WIDTHS.0, BOX_WIDTHS.1);
    Size { width, height: BOX_HEIGHT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::proto::bess::{ConnectModulesRequest, CreateModuleRequest};

    fn pipeline(names: &[&str], links: &[(&str, &str)]) -> PipelineSpec {
        let module =
            |name: &&str| CreateModuleRequest { name: name.to_string(), mclass: "Bypass".into(), arg: None };
        let link = |(from, to): &(&str, &str)| ConnectModulesRequest {
            m1: from.to_string(),
            m2: to.to_string(),
            ..ConnectModulesRequest::default()
        };
        PipelineSpec {
            modules: names.iter().map(module).collect(),
            connections: links.iter().map(link).collect(),
            ..PipelineSpec::default()
        }
    }

    #[test]
    fn only_another_graph_is_drawn_again() {
        let mut scene = Scene::default();
        scene.draw(&pipeline(&["a", "b"], &[("a", "b")]));
        scene.draw(&pipeline(&["a", "b"], &[("a", "b")]));
        assert_eq!(scene.record().edition, 1);
        scene.draw(&pipeline(&["a", "b", "c"], &[("a", "b")]));
        let record = scene.record();
        assert_eq!((record.edition, record.boxes.len(), record.lines.len()), (2, 3, 1));
    }
}
