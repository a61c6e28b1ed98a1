//! A worker's pipeline.
//!
//! ```text
//!   for each port:   port_in -> stack{services} -> port_out
//!   or, on a network that is bad on purpose:
//!                    port_in -> impair -> stack{services} -> impair -> port_out
//! ```

use anyhow::Result;
use tidegate_modules::{Impair, ImpairConfig, PortIn, PortOut, StackModule};
use tidegate_pipeline::{Graph, PortIndex};
use tidegate_service::Services;

/// The name of the stack behind port `port`.
pub(crate) fn stack_name(port: usize) -> String {
    format!("stack{port}")
}

/// Joins each host to the port of the same number.
pub(crate) fn build(hosts: Vec<StackModule<Services>>, impair: Option<ImpairConfig>) -> Result<Graph> {
    let mut graph = Graph::new();
    for (number, host) in hosts.into_iter().enumerate() {
        let port = PortIndex(number);
        let mut row = vec![graph.add(&format!("in{number}"), Box::new(PortIn::new(port)))?];
        if let Some(faults) = impair {
            row.push(graph.add(&format!("impair_in{number}"), Box::new(Impair::new(faults)))?);
        }
        row.push(graph.add(&stack_name(number), Box::new(host))?);
        if let Some(faults) = impair {
            let faults = ImpairConfig { seed: !faults.seed, ..faults };
            row.push(graph.add(&format!("impair_out{number}"), Box::new(Impair::new(faults)))?);
        }
        row.push(graph.add(&format!("out{number}"), Box::new(PortOut::new(port)))?);
        graph.chain(&row)?;
    }
    Ok(graph)
}
