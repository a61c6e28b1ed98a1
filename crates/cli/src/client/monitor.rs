//! `tidegate monitor`: rates as lines, again and again.

use super::columns::Columns;
use super::rates::{DirectionRate, Rates, short, watch};
use super::reach;
use crate::args::{Counted, MonitorArgs};
use anyhow::Result;
use std::io::{ErrorKind, Write};
use tidegate_control::proto::v1::watch_request::Kind;

/// Prints rates until there were enough, the reader goes away, or the daemon ends.
pub(crate) fn monitor(args: &MonitorArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    let kinds = if args.kinds.is_empty() { &[Counted::Gates][..] } else { &args.kinds };
    let asked: Vec<Kind> = kinds.iter().map(|kind| kind_of(*kind)).collect();
    let mut left = args.count.unwrap_or(u64::MAX);
    let mut outcome = Ok(());
    if left == 0 {
        return Ok(());
    }
    watch(&mut client, &asked, args.interval, |rates| {
        let rates = rates.only(&args.only);
        outcome = report(&rates, kinds, args.json);
        left -= 1;
        left > 0 && outcome.is_ok()
    })?;
    match outcome {
        Err(error) if is_reader_gone(&error) => Ok(()),
        other => other,
    }
}

fn kind_of(counted: Counted) -> Kind {
    match counted {
        Counted::Gates => Kind::Gates,
        Counted::Modules => Kind::Modules,
        Counted::Ports => Kind::Ports,
        Counted::Classes => Kind::Classes,
    }
}

fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn report(rates: &Rates, kinds: &[Counted], json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(rates)?)?;
    } else {
        writeln!(out, "{} UTC, a second, over {:.2} s", rates.time(), rates.seconds)?;
        for kind in kinds {
            write!(out, "{}", text(rates, *kind))?;
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

fn text(rates: &Rates, kind: Counted) -> String {
    match kind {
        Counted::Gates => gates(rates),
        Counted::Modules => modules(rates),
        Counted::Ports => ports(rates),
        Counted::Classes => classes(rates),
    }
}

fn gates(rates: &Rates) -> String {
    let mut columns = Columns::new(&["gate", ">packets", ">bits", ">packets/batch"]);
    for gate in &rates.gates {
        let per_batch = if gate.batches > 0.0 { gate.packets / gate.batches } else { 0.0 };
        let bits = if gate.bits > 0.0 { short(gate.bits) } else { "-".to_owned() };
        columns.row([gate.gate.clone(), short(gate.packets), bits, format!("{per_batch:.1}")]);
    }
    columns.text_or("no gate is connected")
}

fn modules(rates: &Rates) -> String {
    let mut columns = Columns::new(&["module", ">packets", ">dropped", ">cycles/packet"]);
    for module in &rates.modules {
        let each = if module.packets > 0.0 {
            format!("{:.1}", module.cycles / module.packets)
        } else {
            "-".to_owned()
        };
        columns.row([module.module.clone(), short(module.packets), short(module.drops), each]);
    }
    columns.text_or("no modules")
}

fn ports(rates: &Rates) -> String {
    let mut columns = Columns::new(&["port", ">received", ">bits", ">dropped", ">sent", ">bits", ">dropped"]);
    for port in &rates.ports {
        let cells = |it: DirectionRate| [short(it.packets), short(it.bits), short(it.drops)];
        let [rx, rx_bits, rx_drops] = cells(port.received);
        let [tx, tx_bits, tx_drops] = cells(port.sent);
        columns.row([port.port.clone(), rx, rx_bits, rx_drops, tx, tx_bits, tx_drops]);
    }
    columns.text_or("no ports")
}

fn classes(rates: &Rates) -> String {
    let mut columns = Columns::new(&["class", ">worker", ">runs", ">packets", ">bits", ">cycles"]);
    for class in &rates.classes {
        columns.row([
            class.class.clone(),
            class.worker.to_string(),
            short(class.runs),
            short(class.packets),
            short(class.bits),
            short(class.cycles),
        ]);
    }
    columns.text_or("no traffic classes")
}
