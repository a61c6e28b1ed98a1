//! What is measured: a graph a line. A new line is an entry of [`LINES`].

use anyhow::Result;
use tidegate_modules::{Bypass, PortIn, PortOut, SOURCE_LEN_DEFAULT, Sink, Source};
use tidegate_packet::Pool;
use tidegate_pipeline::{Graph, Module, PortIndex};
use tidegate_port::{NullPort, Port};

/// What a worker is made from.
pub(crate) struct Parts {
    pub(crate) graph: Graph,
    pub(crate) ports: Vec<Box<dyn Port>>,
}

/// One line of the table.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// Millions of packets a second of BESS, a maintained fork, on this kind of machine.
    pub(crate) reference: Option<f64>,
    /// Given the worker's pool and how many frames a batch has.
    pub(crate) build: fn(&mut Pool, usize) -> Result<Parts>,
}

/// Every line, simple ones first.
pub(crate) const LINES: &[Line] = &[
    Line { name: "source, sink", reference: Some(541.0), build: |_, batch| row(batch, Vec::new()) },
    Line { name: "1 bypass", reference: Some(472.0), build: |_, batch| row(batch, bypasses(1)) },
    Line { name: "10 bypass", reference: Some(200.0), build: |_, batch| row(batch, bypasses(10)) },
    Line { name: "null port in, out", reference: Some(145.0), build: |_, _| through_a_null_port() },
];

fn bypasses(count: usize) -> Vec<Box<dyn Module>> {
    (0..count).map(|_| -> Box<dyn Module> { Box::new(Bypass::default()) }).collect()
}

/// A source, these modules one after the other, gate 0 to gate 0, and a sink.
fn row(batch: usize, middle: Vec<Box<dyn Module>>) -> Result<Parts> {
    let mut graph = Graph::new();
    let mut source = Source::new(SOURCE_LEN_DEFAULT);
    source.set_burst(batch);
    let mut row = vec![graph.add("source", Box::new(source))?];
    for (n, module) in middle.into_iter().enumerate() {
        row.push(graph.add(&format!("{}{n}", module.class()), module)?);
    }
    row.push(graph.add("sink", Box::new(Sink))?);
    graph.chain(&row)?;
    Ok(Parts { graph, ports: Vec::new() })
}

/// What one port gives goes out by another, both ways, as between two NICs.
fn through_a_null_port() -> Result<Parts> {
    let mut graph = Graph::new();
    for (from, to) in [(0, 1), (1, 0)] {
        let input = graph.add(&format!("in{from}"), Box::new(PortIn::new(PortIndex(from))))?;
        let output = graph.add(&format!("out{to}"), Box::new(PortOut::new(PortIndex(to))))?;
        graph.chain(&[input, output])?;
    }
    Ok(Parts { graph, ports: vec![Box::new(NullPort::default()), Box::new(NullPort::default())] })
}
