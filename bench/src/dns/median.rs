//! The medians of what one server did under one load, and who is how much cheaper than whom.

use serde::Serialize;

use super::plan::{Contender, Load};
use super::server::ServerKind;
use super::turn::Sample;
use crate::statistics::{median, median_known};
use crate::terms::is_disturbed;

/// The medians of one server under one load.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Median {
    pub(crate) zone: usize,
    pub(crate) contender: Contender,
    pub(crate) load: Load,
    pub(crate) load_s: f64,
    pub(crate) sent_per_s: f64,
    pub(crate) answers_per_s: f64,
    pub(crate) loss: f64,
    pub(crate) cpu_us_per_answer: f64,
    pub(crate) threads_us_per_answer: f64,
    pub(crate) user_us_per_answer: f64,
    pub(crate) busy_share: f64,
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) syscalls_per_answer: Option<f64>,
    pub(crate) memory_mib: f64,
    /// Processor time of NSD, and of Knot in XDP mode, over this server's: above 1 is ahead.
    pub(crate) nsd_ratio: Option<f64>,
    pub(crate) knot_xdp_ratio: Option<f64>,
}

impl Median {
    /// Those of all samples, in the order in which they first came.
    pub(crate) fn all(samples: &[Sample]) -> Vec<Median> {
        let mut medians: Vec<Median> = Vec::new();
        for Sample { zone, contender, load, .. } in samples {
            let is_there = |m: &Median| (m.zone, m.contender, m.load) == (*zone, *contender, *load);
            if !medians.iter().any(is_there) {
                medians.push(Median::of(*zone, *contender, *load, samples));
            }
        }
        let found = medians.clone();
        for median in &mut medians {
            median.nsd_ratio = median.ratio(ServerKind::Nsd, &found);
            median.knot_xdp_ratio = median.ratio(ServerKind::KnotXdp, &found);
        }
        medians
    }

    fn of(zone: usize, contender: Contender, load: Load, samples: &[Sample]) -> Median {
        let here = || {
            let is_here = move |s: &&Sample| (s.zone, s.contender, s.load) == (zone, contender, load);
            samples.iter().filter(is_here)
        };
        let of = |field: fn(&Sample) -> f64| median(here().map(field));
        let told = |field: fn(&Sample) -> Option<f64>| median_known(here().map(field));
        Median {
            zone,
            contender,
            load,
            load_s: of(|sample| sample.load_s),
            sent_per_s: of(|sample| sample.sent_per_s),
            answers_per_s: of(|sample| sample.answers_per_s),
            loss: of(|sample| sample.loss),
            cpu_us_per_answer: of(|sample| sample.cpu_us_per_answer),
            threads_us_per_answer: of(|sample| sample.threads_us_per_answer),
            user_us_per_answer: of(|sample| sample.user_us_per_answer),
            busy_share: of(|sample| sample.busy_share),
            p50_us: told(|sample| sample.p50_us),
            p99_us: told(|sample| sample.p99_us),
            syscalls_per_answer: told(|sample| sample.syscalls_per_answer),
            memory_mib: of(|sample| sample.memory_mib),
            nsd_ratio: None,
            knot_xdp_ratio: None,
        }
    }

    fn ratio(&self, peer: ServerKind, all: &[Median]) -> Option<f64> {
        let peer = Contender { server: peer, batch: None };
        let peer = find(all, self.zone, peer, self.load)?;
        Some(peer.cpu_us_per_answer / self.cpu_us_per_answer)
    }

    /// Whether somebody else was on the server's processor.
    pub(crate) fn is_disturbed(&self) -> bool {
        is_disturbed(self.cpu_us_per_answer, self.threads_us_per_answer)
    }
}

/// The one of a server under a load.
pub(crate) fn find(all: &[Median], zone: usize, contender: Contender, load: Load) -> Option<&Median> {
    all.iter().find(|m| (m.zone, m.contender, m.load) == (zone, contender, load))
}
