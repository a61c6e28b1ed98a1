//! Web and name servers.

use std::path::{Component, PathBuf};
use std::time::Duration;

use crate::controller::{Ending, Job, Prepared, ServiceSpec};
use crate::names::{self, quoted};
use crate::proto::v1::{
    ListServicesRequest, ListServicesResponse, ReloadZonesRequest, ReloadZonesResponse, StartServiceRequest,
    StopServiceRequest,
};
use crate::{Controller, Fault, WORKERS_MAX};

pub(crate) fn prepare_service(
    daemon: &mut dyn Controller,
    request: StartServiceRequest,
) -> Result<Job<Prepared>, Fault> {
    let StartServiceRequest { name, config, directory, workers } = request;
    let mut wids = Vec::new();
    for wid in workers {
        let wid: u8 = names::below("worker", u64::from(wid), WORKERS_MAX)?;
        if wids.contains(&wid) {
            return Err(Fault::invalid(format!("worker {wid} is named twice: name it once")));
        }
        wids.push(wid);
    }
    let directory = PathBuf::from(directory);
    if directory.components().next() != Some(Component::RootDir) {
        let given = quoted(&directory.to_string_lossy());
        return Err(Fault::invalid(format!("directory {given} is not absolute: the daemon is elsewhere")));
    }
    let name = names::optional("service", name)?;
    daemon.prepare_service(ServiceSpec { name, config, directory, workers: wids })
}

pub(crate) fn reload_zones(
    daemon: &mut dyn Controller,
    request: ReloadZonesRequest,
) -> Result<Job<ReloadZonesResponse>, Fault> {
    let service = names::optional("service", request.service)?;
    let zone = names::optional("zone", request.zone)?;
    daemon.reload_zones(service.as_deref(), zone.as_deref())
}

/// Begins the end of a service, or looks how far it has come.
pub(crate) fn stop_service(
    daemon: &mut dyn Controller,
    request: StopServiceRequest,
) -> Result<Ending, Fault> {
    let drain = request.drain_ms.map(|drain_ms| Duration::from_millis(drain_ms.into()));
    let name = names::required("service", request.name)?;
    daemon.stop_service(&name, drain)
}

pub(crate) fn list_services(
    daemon: &mut dyn Controller,
    _: ListServicesRequest,
) -> Result<ListServicesResponse, Fault> {
    Ok(ListServicesResponse { services: daemon.services()? })
}
