//! What an earlier run found, for a run that adds to it: rounds of the same zones, servers that were not there, other
//! sizes. So a long comparison is made in parts, each while the machine is quiet.
//!
//! Zones are the same if they are called the same. Samples count as further rounds; what a server bears is not searched
//! for again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Saturations;
use super::report::{Borne, FILE_NAME, Findings, ZoneFacts};
use super::turn::Sample;
use crate::dns_memory::Row;
use crate::machine::Machine;

/// The results of an earlier run, as far as another goes on from them.
#[derive(Debug, Deserialize)]
pub(crate) struct Earlier {
    machine: Machine,
    seconds: u32,
    zones: Vec<ZoneFacts>,
    saturations: Vec<Borne>,
    samples: Vec<Sample>,
    #[serde(default)]
    in_memory: Vec<Row>,
}

impl Earlier {
    /// Those in `directory`, which must be of this machine and have taken as long a measurement; `None` if there are
    /// none.
    pub(crate) fn read(directory: &Path, machine: &Machine, seconds: u32) -> anyhow::Result<Option<Earlier>> {
        let path = directory.join(format!("{FILE_NAME}.json"));
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let earlier: Earlier = serde_json::from_str(&text)
            .with_context(|| format!("{}: not of this bench: leave --add out", path.display()))?;
        ensure!(
            earlier.machine.is_same(machine) && earlier.seconds == seconds,
            "{}: of another machine, or of measurements of other length: leave --add out",
            path.display()
        );
        Ok(Some(earlier))
    }

    /// What each server was found to bear of `zones`.
    pub(crate) fn saturations(&self, zones: &[ZoneFacts]) -> Saturations {
        let here = |borne: &Borne| {
            let label = &self.zones.get(borne.zone)?.label;
            let zone = zones.iter().position(|zone| zone.label == *label)?;
            Some(((zone, borne.contender), borne.saturation))
        };
        self.saturations.iter().filter_map(here).collect()
    }

    /// Puts what was found now behind what was found then.
    pub(crate) fn join(self, now: Findings) -> Findings {
        let Earlier { mut machine, mut zones, saturations: borne, mut samples, in_memory, .. } = self;
        let now_in_memory = now.in_memory;
        machine.join(now.machine);
        let places: Vec<usize> = now.zones.into_iter().map(|zone| place(&mut zones, zone)).collect();
        let mut round_counts: BTreeMap<_, u32> = BTreeMap::new();
        for sample in &samples {
            let count = round_counts.entry((sample.zone, sample.contender)).or_default();
            *count = (*count).max(sample.round + 1);
        }
        samples.extend(now.samples.into_iter().map(|sample| {
            let zone = places[sample.zone];
            let before = round_counts.get(&(zone, sample.contender)).copied().unwrap_or(0);
            Sample { zone, round: before + sample.round, ..sample }
        }));
        let then = borne.into_iter().map(|borne| ((borne.zone, borne.contender), borne.saturation));
        let now =
            now.saturations.into_iter().map(|((zone, contender), found)| ((places[zone], contender), found));
        let saturations = then.chain(now).collect();
        let in_memory = if now_in_memory.is_empty() { in_memory } else { now_in_memory };
        Findings { machine, zones, samples, saturations, in_memory }
    }
}

/// Where `zone` is among `all`, put there if it is not.
fn place(all: &mut Vec<ZoneFacts>, zone: ZoneFacts) -> usize {
    all.iter().position(|other| other.label == zone.label).unwrap_or_else(|| {
        all.push(zone);
        all.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Contender, Load};
    use super::super::saturation::Saturation;
    use super::super::server::ServerKind;
    use super::*;

    const NSD: Contender = Contender { server: ServerKind::Nsd, batch: None };
    const BORNE: Saturation = Saturation { rate_per_s: 1000, is_client_bound: false };

    fn zone(label: &str) -> ZoneFacts {
        ZoneFacts { label: label.into(), name_count: 1, file_bytes: 1, is_signed: false }
    }

    fn sample(zone: usize, round: u32) -> Sample {
        Sample {
            zone,
            contender: NSD,
            load: Load::Open(90),
            round,
            load_s: 0.1,
            sent_per_s: 1.0,
            answers_per_s: 1.0,
            loss: 0.0,
            cpu_us_per_answer: 1.0,
            threads_us_per_answer: 1.0,
            user_us_per_answer: 1.0,
            busy_share: 1.0,
            p50_us: None,
            p99_us: None,
            syscalls_per_answer: None,
            memory_mib: 1.0,
        }
    }

    fn earlier() -> Earlier {
        let machine = Machine::describe(&[]);
        let (zones, samples) = (vec![zone("a"), zone("b")], vec![sample(1, 0), sample(1, 1)]);
        let saturations = vec![Borne { zone: 1, contender: NSD, saturation: BORNE }];
        Earlier { machine, seconds: 1, zones, saturations, samples, in_memory: Vec::new() }
    }

    #[test]
    fn rounds_of_the_same_zone_follow_each_other_and_new_zones_come_behind() {
        let now = Findings {
            machine: Machine::describe(&[]),
            zones: vec![zone("b"), zone("c")],
            samples: vec![sample(0, 0), sample(1, 0)],
            saturations: Saturations::from([((1, NSD), BORNE)]),
            in_memory: Vec::new(),
        };
        let all = earlier().join(now);
        let labels: Vec<&str> = all.zones.iter().map(|zone| zone.label.as_str()).collect();
        assert_eq!(labels, ["a", "b", "c"]);
        let places: Vec<(usize, u32)> =
            all.samples.iter().map(|sample| (sample.zone, sample.round)).collect();
        assert_eq!(places, [(1, 0), (1, 1), (1, 2), (2, 0)]);
        assert_eq!(all.saturations.into_keys().collect::<Vec<_>>(), [(1, NSD), (2, NSD)]);
    }

    #[test]
    fn what_a_server_bears_is_known_by_the_zone_of_that_name() {
        let known = earlier().saturations(&[zone("c"), zone("b")]);
        assert_eq!(known.into_keys().collect::<Vec<_>>(), [(1, NSD)]);
    }

    #[test]
    fn a_load_is_read_as_it_is_written() {
        for load in [Load::Closed, Load::Paced, Load::Open(90)] {
            let text = serde_json::to_string(&load).unwrap();
            assert_eq!(serde_json::from_str::<Load>(&text).unwrap(), load);
        }
        assert!(serde_json::from_str::<Load>("\"open 90\"").is_err());
    }
}
