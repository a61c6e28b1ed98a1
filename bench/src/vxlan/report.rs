//! The tables, in the shape of Table 6.1, and the same as JSON.

use std::fmt::Write;

use serde::Serialize;

use super::turn::{Spent, Turn};
use crate::machine::Machine;
use crate::statistics::median;

/// One line of both tables.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    name: String,
    gbit_per_s: f64,
    sender: Side,
    receiver: Side,
}

/// What one side spent, and how far that took it.
#[derive(Clone, Copy, Debug, Serialize)]
struct Side {
    cpu_percent: Spent,
    /// Gbit/s that this side would do on one processor that is all busy.
    gbit_per_s_per_cpu: f64,
}

impl Row {
    /// The medians of some turns.
    pub(super) fn of(name: &str, turns: &[Turn]) -> Self {
        let of = |value: &dyn Fn(&Turn) -> f64| median(turns.iter().map(value));
        let side = |spent: &dyn Fn(&Turn) -> Spent| Side {
            cpu_percent: Spent {
                tidegate: of(&|turn| spent(turn).tidegate),
                guest: of(&|turn| spent(turn).guest),
                host: of(&|turn| spent(turn).host),
            },
            gbit_per_s_per_cpu: of(&|turn| turn.gbit_per_s / (spent(turn).total() / 100.0)),
        };
        Self {
            name: name.to_owned(),
            gbit_per_s: of(&|turn| turn.gbit_per_s),
            sender: side(&|turn| turn.sender),
            receiver: side(&|turn| turn.receiver),
        }
    }
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) runs: u32,
    pub(super) seconds: u64,
    pub(super) streams: u32,
    pub(super) rows: Vec<Row>,
}

impl Report {
    /// Both tables and what is to be known of them.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        for (title, side) in [
            ("(a) Sender's processor (%)", (|row: &Row| row.sender) as fn(&Row) -> Side),
            ("(b) Receiver's processor (%)", |row: &Row| row.receiver),
        ] {
            let _ = writeln!(text, "{title}\n");
            text.push_str("| | Gbit/s | Tidegate | host | guest | total | Gbit/s per CPU |\n");
            text.push_str("|---|---:|---:|---:|---:|---:|---:|\n");
            for row in &self.rows {
                text.push_str(&line(row, side(row)));
            }
            text.push('\n');
        }
        let Self { machine, runs, seconds, streams, .. } = self;
        let _ = writeln!(
            text,
            "TCP in VXLAN, {streams} connections of iperf3; medians of {runs} turns of {seconds} s. Each side has one processor, on \
             which all of it runs: iperf3 with the kernel's TCP (guest), Tidegate's worker, and the rest (host: receive threads, \
             softirqs). The cable is a veth pair with an MTU of 1,500 that takes nothing longer and no unfinished checksum.\n\
             In the paper (Table 6.1, other machines): Linux 2.0 Gbit/s per CPU to send and 1.2 to receive, BESS 8.7 and 8.3.\n\n{}",
            machine.line()
        );
        text
    }
}

fn line(row: &Row, side: Side) -> String {
    let Spent { tidegate, guest, host } = side.cpu_percent;
    format!(
        "| {} | {:.2} | {tidegate:.1} | {host:.1} | {guest:.1} | {:.1} | {:.2} |\n",
        row.name,
        row.gbit_per_s,
        side.cpu_percent.total(),
        side.gbit_per_s_per_cpu
    )
}
