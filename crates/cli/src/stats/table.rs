//! A report as a table for people: each counter, and its rate between two reports.

use std::fmt::Write;
use tidegate_service::{ModuleReport, Named, Report, WorkerReport};

/// Zones that are shown one by one.
const ZONE_COUNT_MAX: usize = 20;

/// The table of the report `now`, with rates since `then`.
pub(crate) fn text(then: &Report, now: &Report) -> String {
    let seconds = now.uptime_ms.saturating_sub(then.uptime_ms).max(1) as f64 / 1000.0;
    let mut table = Table { text: String::new(), seconds };
    table.line(&format!("process {}, version {}, up {} s", now.pid, now.version, now.uptime_ms / 1000));
    table.line(&now.service);
    for device in &now.devices {
        let before = then.devices.iter().find(|d| d.name == device.name);
        table.section(&format!("{} (XDP, {} mode)", device.name, device.mode));
        table.nonzero("to user space: ", &device.xdp_socket, before.map(|d| &d.xdp_socket));
        table.nonzero("to the host: ", &device.xdp_pass, before.map(|d| &d.xdp_pass));
    }
    if !now.library.is_empty() {
        table.section("files");
        table.nonzero("", &now.library, Some(&then.library));
    }
    for zone in now.zones.iter().take(ZONE_COUNT_MAX) {
        table.section(&format!("zone {}", zone.name));
        table.row("serial", zone.serial.into(), None);
        table.nonzero("", &zone.sizes, None);
    }
    match now.zones.len().saturating_sub(ZONE_COUNT_MAX) {
        0 => {}
        more => table.line(&format!("\n  and {more} more zones (all of them: --json)")),
    }
    for worker in &now.workers {
        table.worker(then.workers.iter().find(|w| w.worker == worker.worker), worker);
    }
    table.text
}

struct Table {
    text: String,
    seconds: f64,
}

impl Table {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn section(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n  {title:<44}{:>16}{:>14}", "count", "a second");
    }

    fn worker(&mut self, then: Option<&WorkerReport>, now: &WorkerReport) {
        self.section(&format!("worker {}", now.worker));
        self.row("rounds", now.round_count, then.map(|w| w.round_count));
        self.row("sleeps", now.sleep_count, then.map(|w| w.sleep_count));
        for (place, count) in &now.frames {
            self.row(&format!("frames {place}"), *count, None);
        }
        for port in &now.ports {
            let before = then.and_then(|w| w.ports.iter().find(|p| p.name == port.name));
            self.section(&format!("worker {}, port {}", now.worker, port.name));
            self.nonzero("", &port.counters, before.map(|p| &p.counters));
        }
        for module in &now.modules {
            let before = then.and_then(|w| w.modules.iter().find(|m| m.name == module.name));
            self.module(now.worker, before, module);
        }
    }

    fn module(&mut self, worker: usize, then: Option<&ModuleReport>, now: &ModuleReport) {
        self.section(&format!("worker {worker}, module {} ({})", now.name, now.class));
        self.nonzero("", &now.gates, then.map(|m| &m.gates));
        self.nonzero("", &now.own, then.map(|m| &m.own));
        self.nonzero("http: ", &now.site, then.map(|m| &m.site));
        self.nonzero("dns: ", &now.dns, then.map(|m| &m.dns));
        self.nonzero("frames: ", &now.packer, then.map(|m| &m.packer));
        self.nonzero("dropped: ", &now.drops, then.map(|m| &m.drops));
    }

    fn nonzero(&mut self, prefix: &str, now: &Named, then: Option<&Named>) {
        for (name, count) in now.iter().filter(|(_, count)| **count > 0) {
            let before = then.map(|then| then.get(name).copied().unwrap_or(0));
            self.row(&format!("{prefix}{}", name.replace('_', " ")), *count, before);
        }
    }

    fn row(&mut self, name: &str, now: u64, then: Option<u64>) {
        let rate = then.map(|then| format!("{:.0}", now.saturating_sub(then) as f64 / self.seconds));
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "    {name:<42}{now:>16}{:>14}", rate.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(uptime_ms: u64, count: u64) -> Report {
        let own = [("requests".to_owned(), count), ("errors".to_owned(), 0)].into();
        let module = ModuleReport { name: "stack".into(), class: "stack".into(), own, ..Default::default() };
        let worker = WorkerReport { modules: vec![module], ..Default::default() };
        Report { uptime_ms, workers: vec![worker], ..Default::default() }
    }

    #[test]
    fn a_rate_is_what_was_added_in_the_time_between() {
        let text = text(&report(1000, 100), &report(3000, 900));
        let row = text.lines().find(|line| line.contains("requests")).expect("a row");
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["requests", "900", "400"]);
        assert!(!text.contains("errors"), "what did not happen is left out: {text}");
    }
}
