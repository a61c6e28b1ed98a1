//! Rates: the difference of two looks at counters that only rise, over the time between them.

use anyhow::{Result, bail};
use serde::Serialize;
use tidegate_control::Client;
use tidegate_control::proto::v1::gate_counters::Direction;
use tidegate_control::proto::v1::watch_request::Kind;
use tidegate_control::proto::v1::{DirectionCounters, WatchRequest, WatchResponse};

/// Rates of everything, a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Rates {
    /// Seconds since 1970.
    pub(crate) timestamp: f64,
    /// Over how long they were measured.
    pub(crate) seconds: f64,
    pub(crate) gates: Vec<GateRate>,
    pub(crate) modules: Vec<ModuleRate>,
    pub(crate) ports: Vec<PortRate>,
    pub(crate) classes: Vec<ClassRate>,
}

/// What passes a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GateRate {
    /// `q:0` for an output gate, `0:q` for an input gate.
    pub(crate) gate: String,
    pub(crate) module: String,
    pub(crate) packets: f64,
    pub(crate) batches: f64,
    /// 0 when nothing counts them.
    pub(crate) bits: f64,
}

/// What a module does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ModuleRate {
    pub(crate) module: String,
    pub(crate) packets: f64,
    pub(crate) cycles: f64,
    pub(crate) drops: f64,
}

/// What passes a port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PortRate {
    pub(crate) port: String,
    pub(crate) received: DirectionRate,
    pub(crate) sent: DirectionRate,
}

/// One direction of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct DirectionRate {
    pub(crate) packets: f64,
    pub(crate) bits: f64,
    pub(crate) drops: f64,
}

/// What a class uses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ClassRate {
    pub(crate) class: String,
    pub(crate) worker: i64,
    pub(crate) runs: f64,
    pub(crate) packets: f64,
    pub(crate) bits: f64,
    pub(crate) cycles: f64,
}

/// All counters of these kinds, once.
pub(crate) fn once(client: &mut Client, kinds: &[Kind]) -> Result<WatchResponse> {
    let mut counters = None;
    client.watch(request(kinds, 1.0), |told| {
        counters = Some(told);
        false
    })?;
    match counters {
        Some(counters) => Ok(counters),
        None => bail!("the daemon ended before it told its counters"),
    }
}

/// Hands rates to `on_rates` every `interval_s` seconds, until it says `false` or the daemon ends.
pub(crate) fn watch(
    client: &mut Client,
    kinds: &[Kind],
    interval_s: f64,
    mut on_rates: impl FnMut(Rates) -> bool,
) -> Result<()> {
    let mut last: Option<WatchResponse> = None;
    client.watch(request(kinds, interval_s), |now| {
        let wants_more = last.as_ref().is_none_or(|then| on_rates(Rates::between(then, &now)));
        last = Some(now);
        wants_more
    })?;
    Ok(())
}

fn request(kinds: &[Kind], interval_s: f64) -> WatchRequest {
    WatchRequest {
        interval_ms: (interval_s * 1000.0) as u32,
        kinds: kinds.iter().map(|kind| *kind as i32).collect(),
    }
}

impl Rates {
    /// What happened a second between two looks.
    pub(crate) fn between(then: &WatchResponse, now: &WatchResponse) -> Self {
        let seconds = (now.monotonic_s - then.monotonic_s).max(1e-3);
        let per_s = |then: u64, now: u64| now.saturating_sub(then) as f64 / seconds;
        let gates = now.gates.iter().map(|gate| {
            let before = then.gates.iter().find(|it| {
                it.module == gate.module && it.direction == gate.direction && it.gate == gate.gate
            });
            let before = before.cloned().unwrap_or_default();
            let name = match gate.direction() {
                Direction::Input => format!("{}:{}", gate.gate, gate.module),
                Direction::Output | Direction::Unspecified => format!("{}:{}", gate.module, gate.gate),
            };
            GateRate {
                gate: name,
                module: gate.module.clone(),
                packets: per_s(before.packets, gate.packets),
                batches: per_s(before.batches, gate.batches),
                bits: 8.0 * per_s(before.bytes, gate.bytes),
            }
        });
        let modules = now.modules.iter().map(|module| {
            let before =
                then.modules.iter().find(|it| it.module == module.module).cloned().unwrap_or_default();
            let drops =
                |drops: &[tidegate_control::proto::v1::DropCounter]| drops.iter().map(|it| it.packets).sum();
            ModuleRate {
                module: module.module.clone(),
                packets: per_s(before.packets, module.packets),
                cycles: per_s(before.cycles, module.cycles),
                drops: per_s(drops(&before.drops), drops(&module.drops)),
            }
        });
        let ports = now.ports.iter().map(|port| {
            let before = then.ports.iter().find(|it| it.port == port.port).cloned().unwrap_or_default();
            let direction = |then: Option<DirectionCounters>, now: Option<DirectionCounters>| {
                let (then, now) = (then.unwrap_or_default(), now.unwrap_or_default());
                DirectionRate {
                    packets: per_s(then.packets, now.packets),
                    bits: 8.0 * per_s(then.bytes, now.bytes),
                    drops: per_s(then.dropped, now.dropped),
                }
            };
            PortRate {
                port: port.port.clone(),
                received: direction(before.received, port.received),
                sent: direction(before.sent, port.sent),
            }
        });
        let classes = now.classes.iter().map(|class| {
            let before = then.classes.iter().find(|it| it.class == class.class && it.wid == class.wid);
            let before = before.cloned().unwrap_or_default();
            ClassRate {
                class: class.class.clone(),
                worker: class.wid,
                runs: per_s(before.count, class.count),
                packets: per_s(before.packets, class.packets),
                bits: per_s(before.bits, class.bits),
                cycles: per_s(before.cycles, class.cycles),
            }
        });
        Rates {
            timestamp: now.timestamp,
            seconds,
            gates: gates.collect(),
            modules: modules.collect(),
            ports: ports.collect(),
            classes: classes.collect(),
        }
    }

    /// Only what is called one of `names`, or all if there is none.
    pub(crate) fn only(mut self, names: &[String]) -> Self {
        if !names.is_empty() {
            self.gates.retain(|gate| names.contains(&gate.module) || names.contains(&gate.gate));
            self.modules.retain(|module| names.contains(&module.module));
            self.ports.retain(|port| names.contains(&port.port));
            self.classes.retain(|class| names.contains(&class.class));
        }
        self
    }

    /// The time of day, in UTC.
    pub(crate) fn time(&self) -> String {
        let seconds = self.timestamp as u64 % 86_400;
        format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// A rate with the prefix that makes it short: `14.88 M`.
pub(crate) fn short(rate: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.iter().find(|(unit, _)| rate >= *unit) {
        Some((unit, prefix)) => format!("{:.2} {prefix}", rate / unit),
        None => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::proto::v1::{GateCounters, PortCounters};

    fn look(monotonic_s: f64, packets: u64) -> WatchResponse {
        let gate = GateCounters {
            module: "q".into(),
            direction: 2,
            gate: 1,
            packets,
            batches: packets / 32,
            bytes: 0,
        };
        let received = Some(DirectionCounters { packets, bytes: packets * 60, dropped: 7 });
        let port = PortCounters { port: "p".into(), received, sent: None };
        WatchResponse {
            monotonic_s,
            timestamp: 3661.0,
            gates: vec![gate],
            ports: vec![port],
            ..Default::default()
        }
    }

    #[test]
    fn a_rate_is_what_was_added_by_the_time_between() {
        let rates = Rates::between(&look(1.0, 0), &look(3.0, 6400));
        assert_eq!(
            (rates.gates[0].gate.as_str(), rates.gates[0].packets, rates.gates[0].batches),
            ("q:1", 3200.0, 100.0)
        );
        assert_eq!(
            rates.ports[0].received,
            DirectionRate { packets: 3200.0, bits: 3200.0 * 480.0, drops: 0.0 }
        );
        assert_eq!(rates.time(), "01:01:01");
        assert_eq!(rates.only(&["other".to_owned()]).gates.len(), 0);
    }

    #[test]
    fn counters_that_began_anew_are_no_negative_rates() {
        assert_eq!(Rates::between(&look(1.0, 6400), &look(2.0, 32)).gates[0].packets, 0.0);
    }

    #[test]
    fn rates_are_short() {
        for (rate, text) in
            [(0.0, "0"), (999.0, "999"), (14_880_952.0, "14.88 M"), (1e9, "1.00 G"), (1500.0, "1.50 k")]
        {
            assert_eq!(short(rate), text);
        }
    }
}
