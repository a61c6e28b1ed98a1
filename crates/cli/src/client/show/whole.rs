//! The daemon as a whole: its version, the pipeline as text, layouts, services, hooks and pools.

use super::{View, list, only};
use crate::client::columns::Columns;
use crate::client::json;
use anyhow::Result;
use serde_json::json;
use tidegate_control::Client;
use tidegate_control::proto::bess::{DumpMempoolRequest, EmptyRequest, GateHookInfo, gate_hook_info};
use tidegate_control::proto::v1::attribute::Access;
use tidegate_control::proto::v1::service::State;

pub(super) fn version(client: &mut Client, address: &str) -> Result<View> {
    let version = client.get_version(EmptyRequest {})?.version;
    let modules = client.list_modules(EmptyRequest {})?.modules.len();
    let ports = client.list_ports(EmptyRequest {})?.ports.len();
    let workers = client.list_workers(EmptyRequest {})?.workers_status.len();
    let services = client.list_services()?.len();
    let text = format!(
        "{version} at {address}: {workers} workers, {ports} ports, {modules} modules, {services} services\n"
    );
    let json = json!({
        "version": version, "workers": workers, "ports": ports, "modules": modules, "services": services,
    });
    Ok(View { text, json })
}

pub(super) fn pipeline(client: &mut Client) -> Result<View> {
    let pipeline = client.show_pipeline()?;
    Ok(View { text: tidegate_script::print(&pipeline)?, json: json::message(&pipeline) })
}

pub(super) fn metadata(client: &mut Client, name: Option<&str>) -> Result<View> {
    let layout = client.show_metadata(name.map(str::to_owned).into_iter().collect())?;
    let mut columns = Columns::new(&["module", "attribute", ">bytes", "access", ">offset", ">scope"]);
    for module in &layout.modules {
        for it in &module.attributes {
            let access = match it.access() {
                Access::Read => "read",
                Access::Write => "write",
                Access::Update => "update",
                Access::Unspecified => "",
            };
            columns.row([
                module.module.clone(),
                it.name.clone(),
                it.len.to_string(),
                access.to_owned(),
                it.offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string()),
                it.scope.to_string(),
            ]);
        }
    }
    let used = format!("{} of {} bytes are used\n", layout.used_len, layout.area_len);
    Ok(View { text: columns.text_or("no module uses metadata") + &used, json: json::message(&layout) })
}

pub(super) fn services(client: &mut Client, name: Option<&str>) -> Result<View> {
    let services = only("service", client.list_services()?, name, |service| service.name.clone())?;
    let mut columns = Columns::new(&["service", "kind", "state", "device", "addresses", "reason"]);
    for service in &services {
        let state = match service.state() {
            State::Unspecified => "",
            State::Starting => "starting",
            State::Serving => "serving",
            State::Draining => "draining",
            State::Failed => "failed",
        };
        columns.row([
            service.name.clone(),
            service.kind.clone(),
            state.to_owned(),
            service.device.clone(),
            service.listens.join(", "),
            service.reason.clone(),
        ]);
    }
    Ok(View { text: columns.text_or("no services run in this daemon"), json: list(&services) })
}

pub(super) fn hooks(client: &mut Client, module: Option<&str>) -> Result<View> {
    let hooks = client.list_gate_hooks(EmptyRequest {})?.hooks;
    let hooks: Vec<GateHookInfo> =
        hooks.into_iter().filter(|hook| module.is_none_or(|module| hook.module_name == module)).collect();
    let mut columns = Columns::new(&["module", "gate", "class", "hook"]);
    for hook in &hooks {
        let gate = match hook.gate {
            Some(gate_hook_info::Gate::Igate(gate)) => format!("in {gate}"),
            Some(gate_hook_info::Gate::Ogate(gate)) => format!("out {gate}"),
            None => String::new(),
        };
        columns.row([hook.module_name.clone(), gate, hook.class_name.clone(), hook.hook_name.clone()]);
    }
    Ok(View { text: columns.text_or("no hooks: no gate is connected"), json: list(&hooks) })
}

pub(super) fn pools(client: &mut Client) -> Result<View> {
    let pools = client.dump_mempool(DumpMempoolRequest { socket: -1 })?.dumps;
    let mut columns = Columns::new(&[">node", ">buffers", ">free", ">in use", ">bytes each"]);
    for pool in &pools {
        columns.row([
            pool.socket.to_string(),
            pool.mp_size.to_string(),
            pool.mp_available_count.to_string(),
            pool.mp_in_use_count.to_string(),
            pool.mp_element_size.to_string(),
        ]);
    }
    Ok(View { text: columns.text_or("no pools: no worker runs"), json: list(&pools) })
}
