//! `tidegate mux`: tuples that are kept for stacks of other processes, and what these have and did.

use super::columns::Columns;
use super::{json, print, reach};
use crate::args::{GradeArg, MuxAction, MuxArgs, ProtocolArg, TupleArgs};
use crate::say;
use anyhow::Result;
use std::net::SocketAddr;
use tidegate_control::proto::v1::{BindTupleRequest, ListStacksResponse, Stack, Tuple, TupleBinding};

/// Does what is asked and says what came of it.
pub(crate) fn mux(args: &MuxArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    match &args.action {
        MuxAction::Bind { tuple, dev, grade, uid } => {
            let (device, grade) = (dev.clone().unwrap_or_default(), grade.map_or("", name).to_owned());
            let request = BindTupleRequest { tuple: Some(wire(tuple)), device, uid: *uid, grade };
            say(&format!("kept for user {uid} on {}", client.bind_tuple(request)?))
        }
        MuxAction::Release { tuple } => Ok(client.release_tuple(wire(tuple))?),
        MuxAction::List { json: true } | MuxAction::Stats { json: true } => {
            print(&format!("{}\n", serde_json::to_string_pretty(&json::message(&client.list_stacks()?))?))
        }
        MuxAction::List { json: false } => print(&bindings(&client.list_stacks()?)),
        MuxAction::Stats { json: false } => print(&stats(&client.list_stacks()?)),
    }
}

const fn name(grade: GradeArg) -> &'static str {
    match grade {
        GradeArg::Queue => "queue",
        GradeArg::Veth => "veth",
        GradeArg::Memif => "memif",
    }
}

fn wire(tuple: &TupleArgs) -> Tuple {
    let protocol = match tuple.proto {
        ProtocolArg::Tcp => "tcp",
        ProtocolArg::Udp => "udp",
    };
    Tuple { protocol: protocol.to_owned(), address: SocketAddr::new(tuple.addr, tuple.port).to_string() }
}

fn bindings(all: &ListStacksResponse) -> String {
    let mut columns = Columns::new(&["proto", "address", "device", "owner"]);
    for TupleBinding { tuple, device, owner, .. } in &all.bindings {
        let Tuple { protocol, address } = tuple.clone().unwrap_or_default();
        columns.row([protocol, address, device.clone(), owner.clone()]);
    }
    columns.text_or("nothing is given away")
}

fn stats(all: &ListStacksResponse) -> String {
    let heads = [">stack", "grade", "device", ">user", ">process", ">to", ">from", ">dropped", "reasons"];
    let mut columns = Columns::new(&heads);
    for stack in &all.stacks {
        let drops = stack.from_drops.iter().map(|drop| format!("{} {}", drop.reason, drop.packets));
        let mut reasons: Vec<String> = drops.collect();
        if stack.wrong_queue_packets > 0 {
            reasons.push(format!("wrong_queue {}", stack.wrong_queue_packets));
        }
        let dropped =
            stack.wrong_queue_packets + stack.from_drops.iter().map(|drop| drop.packets).sum::<u64>();
        let Stack { slot, uid, pid, to_packets, from_packets, .. } = stack;
        let number = |it: &dyn ToString| it.to_string();
        let (grade, device) = (stack.grade.clone(), stack.device.clone());
        columns.row([
            number(slot),
            grade,
            device,
            number(uid),
            number(pid),
            number(to_packets),
            number(from_packets),
            number(&dropped),
            reasons.join(", "),
        ]);
    }
    columns.text_or("no stack is attached")
}
