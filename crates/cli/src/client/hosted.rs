//! `tidegate service`: web and name servers in a daemon, started, ended, told to read their zones again.

use super::{print, reach, show};
use crate::args::{HostedAction, HostedArgs, ShowArgs, Shown};
use crate::exit::wrong_input;
use crate::say;
use anyhow::{Result, anyhow};
use std::path::Path;
use tidegate_control::Client;
use tidegate_control::proto::v1::{ReloadZonesRequest, StartServiceRequest, StopServiceRequest, ZoneNews};

/// Does what is asked and says what came of it.
pub(crate) fn service(args: &HostedArgs) -> Result<()> {
    let address = &args.address;
    match &args.action {
        HostedAction::Start { config, name, workers } => {
            let request = start_request(config, name.as_deref(), workers)?;
            start(&mut reach(&address.address)?, request)
        }
        HostedAction::Stop { name, drain } => {
            let request = StopServiceRequest { name: name.clone(), drain_ms: *drain };
            match reach(&address.address)?.stop_service(request)?.cut_connections {
                0 => Ok(()),
                count => say(&format!("connections cut: {count}")),
            }
        }
        HostedAction::List { json } => {
            let (what, address) = (Shown::Services, address.clone());
            show(&ShowArgs { what, name: None, json: *json, address })
        }
        HostedAction::Reload { name, zone } => {
            let part = |it: &Option<String>| it.clone().unwrap_or_default();
            let request = ReloadZonesRequest { service: part(name), zone: part(zone) };
            reload(&reach(&address.address)?.reload_zones(request)?)
        }
    }
}

fn start_request(config: &Path, name: Option<&str>, workers: &[u32]) -> Result<StartServiceRequest> {
    let unread = |error| wrong_input(format!("cannot read {}: {error}", config.display()));
    let text = std::fs::read_to_string(config).map_err(unread)?;
    let path = config.canonicalize().map_err(unread)?;
    let directory = path.parent().unwrap_or(Path::new("/")).display().to_string();
    let name = name.unwrap_or_default().to_owned();
    Ok(StartServiceRequest { name, config: text, directory, workers: workers.to_vec() })
}

fn start(client: &mut Client, request: StartServiceRequest) -> Result<()> {
    let started = client.start_service(request)?;
    let mut text = format!("{}\n", started.name);
    for service in &started.services {
        text.push_str(&format!("  {} on {}: {}\n", service.kind, service.device, service.listens.join(", ")));
    }
    for note in &started.notes {
        text.push_str(&format!("  not taken: {note}\n"));
    }
    print(&text)
}

/// A line a zone; exit status 1 if one is not as its file says.
fn reload(zones: &[ZoneNews]) -> Result<()> {
    let line = |it: &ZoneNews| match (it.serial, it.fault.as_str()) {
        (Some(serial), "") => format!("{}: zone {}: serial {serial}\n", it.service, it.zone),
        (None, "") => format!("{}: zone {}: not read\n", it.service, it.zone),
        (Some(serial), fault) => {
            format!("{}: zone {}: serial {serial} stays, for {fault}\n", it.service, it.zone)
        }
        (None, fault) => format!("{}: zone {} is not served: {fault}\n", it.service, it.zone),
    };
    print(&zones.iter().map(line).collect::<String>())?;
    match zones.iter().filter(|zone| !zone.fault.is_empty()).count() {
        0 => Ok(()),
        count => Err(anyhow!("{count} zones are not as their files say")),
    }
}
