//! Modules: all with what passed them, or one with its gates.

use super::{View, list};
use crate::client::columns::Columns;
use crate::client::{json, rates};
use anyhow::Result;
use std::fmt::Write;
use tidegate_control::Client;
use tidegate_control::proto::bess::{EmptyRequest, GetModuleInfoRequest, GetModuleInfoResponse};
use tidegate_control::proto::v1::WatchResponse;
use tidegate_control::proto::v1::gate_counters::Direction;
use tidegate_control::proto::v1::watch_request::Kind;

pub(super) fn all(client: &mut Client) -> Result<View> {
    let modules = client.list_modules(EmptyRequest {})?.modules;
    let counters = rates::once(client, &[Kind::Gates, Kind::Modules])?;
    let mut columns =
        Columns::new(&["module", "class", ">packets in", ">packets out", ">dropped", "description"]);
    for module in &modules {
        let passed = |direction| passed(&counters, &module.name, direction).to_string();
        let lost = counters.modules.iter().find(|it| it.module == module.name);
        let lost: u64 = lost.into_iter().flat_map(|it| &it.drops).map(|drop| drop.packets).sum();
        columns.row([
            module.name.clone(),
            module.mclass.clone(),
            passed(Direction::Input),
            passed(Direction::Output),
            lost.to_string(),
            module.desc.clone(),
        ]);
    }
    let nothing = "no modules: add one with tidegate add module CLASS, or run a pipeline with tidegate run FILE.tg --daemon";
    Ok(View { text: columns.text_or(nothing), json: list(&modules) })
}

fn passed(counters: &WatchResponse, module: &str, direction: Direction) -> u64 {
    let gates = counters.gates.iter().filter(|gate| gate.module == module && gate.direction() == direction);
    gates.map(|gate| gate.packets).sum()
}

pub(super) fn one(client: &mut Client, name: &str) -> Result<View> {
    let info = client.get_module_info(GetModuleInfoRequest { name: name.to_owned() })?;
    Ok(View { text: text(&info), json: json::message(&info) })
}

fn text(info: &GetModuleInfoResponse) -> String {
    let mut text = format!("{} ({})\n", info.name, info.mclass);
    if !info.desc.is_empty() {
        let _ = writeln!(text, "  {}", info.desc);
    }
    let mut gates = Columns::new(&["  gate", "connection", ">packets", ">batches", "hooks"]);
    for gate in &info.igates {
        let from: Vec<String> =
            gate.ogates.iter().map(|from| format!("{}:{}", from.name, from.ogate)).collect();
        let hooks: Vec<&str> = gate.gatehooks.iter().map(|hook| hook.class_name.as_str()).collect();
        gates.row([
            format!("  in  {}", gate.igate),
            format!("<- {}", from.join(", ")),
            gate.pkts.to_string(),
            gate.cnt.to_string(),
            hooks.join(", "),
        ]);
    }
    for gate in &info.ogates {
        let hooks: Vec<&str> = gate.gatehooks.iter().map(|hook| hook.class_name.as_str()).collect();
        gates.row([
            format!("  out {}", gate.ogate),
            format!("-> {}:{}", gate.igate, gate.name),
            gate.pkts.to_string(),
            gate.cnt.to_string(),
            hooks.join(", "),
        ]);
    }
    text.push_str(&gates.text_or("  no gate is connected"));
    if !info.metadata.is_empty() {
        let mut attributes = Columns::new(&["  attribute", ">bytes", "access", ">offset"]);
        for it in &info.metadata {
            let offset = if it.offset < 0 { "-".to_owned() } else { it.offset.to_string() };
            attributes.row([format!("  {}", it.name), it.size.to_string(), it.mode.clone(), offset]);
        }
        text.push_str(&attributes.text());
    }
    if info.deadends > 0 {
        let _ = writeln!(text, "  {} packets left by gates that lead nowhere", info.deadends);
    }
    text
}
