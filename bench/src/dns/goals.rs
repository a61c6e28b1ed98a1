//! What Tidegate set out to show, beside what was measured. A report, not a test: nothing fails by it.

use serde::Serialize;

use super::batches::batched;
use super::median::Median;
use super::memory;
use super::plan::{HALF, Load, NEARLY_ALL};
use super::report::ZoneFacts;
use crate::dns_memory::Row;

/// One aim, as a number that is to be reached, or not to be passed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Goal {
    what: String,
    aim: Aim,
    measured: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

/// Losses up to this are those of the machine's noise: one in ten thousand.
const NOISE: f64 = 0.01;

impl Goal {
    /// What can be said of the zones and servers that were measured. Of Tidegate's configurations the one with the
    /// least processor time an answer counts.
    pub(crate) fn all(zones: &[ZoneFacts], medians: &[Median], in_memory: &[Row]) -> Vec<Goal> {
        let of_zones =
            zones.iter().enumerate().flat_map(|(index, facts)| of_zone(index, &facts.label, medians));
        of_zones.chain(of_batches(medians)).chain(of_memory(in_memory)).collect()
    }

    /// As a table; empty where Tidegate was not measured.
    pub(crate) fn table(goals: &[Goal]) -> String {
        if goals.is_empty() {
            return String::new();
        }
        let rows = goals.iter().map(Goal::row);
        let heading = "\n## Goals\n\n| goal                                                         | aim      | measured | reached |\n\
                       |--------------------------------------------------------------|---------:|---------:|:-------:|\n";
        std::iter::once(heading.to_owned()).chain(rows).collect()
    }

    fn row(&self) -> String {
        let aim = match self.aim {
            Aim::AtLeast(aim) => format!(">= {aim}"),
            Aim::AtMost(aim) => format!("<= {aim}"),
        };
        let reached = if self.is_reached() { "yes" } else { "no" };
        format!("| {:60} | {aim:>8} | {:8.2} | {reached:^7} |\n", self.what, self.measured)
    }

    fn is_reached(&self) -> bool {
        match self.aim {
            Aim::AtLeast(aim) => self.measured >= aim,
            Aim::AtMost(aim) => self.measured <= aim,
        }
    }
}

fn of_zone(zone: usize, label: &str, medians: &[Median]) -> Vec<Goal> {
    let ours = |load: Load| {
        let is_ours = move |m: &&Median| {
            m.zone == zone
                && m.load == load
                && m.contender.server.is_tidegate()
                && m.contender.batch.is_none()
        };
        let cheaper = |a: &&Median, b: &&Median| a.cpu_us_per_answer.total_cmp(&b.cpu_us_per_answer);
        medians.iter().filter(is_ours).min_by(cheaper)
    };
    let mut goals = Vec::new();
    let mut add = |what: String, aim, measured: Option<f64>| {
        goals.extend(measured.map(|measured| Goal { what: format!("{label}: {what}"), aim, measured }));
    };
    for (load, how) in [(Load::Open(NEARLY_ALL), "open loop"), (Load::Closed, "closed loop")] {
        let Some(best) = ours(load) else { continue };
        add(format!("CPU an answer, NSD / Tidegate, {how}"), Aim::AtLeast(3.5), best.nsd_ratio);
        add(format!("CPU an answer, Knot XDP / Tidegate, {how}"), Aim::AtLeast(1.5), best.knot_xdp_ratio);
        add(format!("own user time, us an answer, {how}"), Aim::AtMost(0.5), Some(best.user_us_per_answer));
    }
    for share in [HALF, NEARLY_ALL] {
        let lost = ours(Load::Open(share)).map(|median| median.loss.max(0.0) * 100.0);
        add(format!("percent lost at {share} % of what it bears"), Aim::AtMost(NOISE), lost);
    }
    goals
}

fn of_batches(medians: &[Median]) -> Option<Goal> {
    let batched = batched(medians);
    let of = |size: u16| batched.iter().find(|(batch, _)| *batch == size).map(|(_, m)| m.answers_per_s);
    let measured = of(32)? / of(1)?;
    Some(Goal { what: "answers/s, batch 32 / batch 1, overload".into(), aim: Aim::AtLeast(2.0), measured })
}

fn of_memory(rows: &[Row]) -> impl Iterator<Item = Goal> {
    let goal = |what: &str, aim, measured: Option<f64>| {
        measured.map(|measured| Goal { what: what.into(), aim: Aim::AtLeast(aim), measured })
    };
    let rate = goal("memory port, 100 k names: M answers/s a core", 6.0, memory::best_rate(rows, 100_000));
    let gain = goal("memory port: answers/s, batch 32 / batch 1", 2.0, memory::batch_gain(rows));
    rate.into_iter().chain(gain)
}
