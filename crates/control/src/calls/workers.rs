//! Workers.

use super::{Reply, done};
use crate::controller::WorkerSpec;
use crate::names::{self, quoted};
use crate::proto::bess::{
    AddWorkerRequest, DestroyWorkerRequest, EmptyRequest, ListWorkersResponse, PauseWorkerRequest,
    ResumeWorkerRequest,
};
use crate::{Controller, Fault};

/// Cores that a machine may have.
const CORES_MAX: u64 = 8192;

/// Schedulers that BESS knows; there is one here, which does what each of them does.
const SCHEDULERS: [&str; 3] = ["", "default", "experimental"];

pub(crate) fn pause_all(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.pause_all())
}

pub(crate) fn resume_all(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.resume_all())
}

pub(crate) fn pause_worker(daemon: &mut dyn Controller, request: PauseWorkerRequest) -> Reply {
    done(daemon.pause_worker(names::worker(request.wid)?))
}

pub(crate) fn resume_worker(daemon: &mut dyn Controller, request: ResumeWorkerRequest) -> Reply {
    done(daemon.resume_worker(names::worker(request.wid)?))
}

pub(crate) fn reset_workers(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.reset_workers())
}

pub(crate) fn list_workers(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListWorkersResponse> {
    Ok(ListWorkersResponse { error: None, workers_status: daemon.workers()? })
}

pub(crate) fn add_worker(daemon: &mut dyn Controller, request: AddWorkerRequest) -> Reply {
    done(daemon.add_worker(worker_spec(&request)?))
}

pub(crate) fn destroy_worker(daemon: &mut dyn Controller, request: DestroyWorkerRequest) -> Reply {
    done(daemon.destroy_worker(names::worker(request.wid)?))
}

pub(super) fn worker_spec(request: &AddWorkerRequest) -> Result<WorkerSpec, Fault> {
    let wid = names::worker(request.wid)?;
    if !SCHEDULERS.contains(&request.scheduler.as_str()) {
        let scheduler = quoted(&request.scheduler);
        return Err(Fault::invalid(format!("worker {wid}: scheduler {scheduler} is none: leave it empty")));
    }
    Ok(WorkerSpec { wid, core: names::below("core", request.core, CORES_MAX)? })
}
