//! Traffic classes.

use std::collections::HashMap;

use super::{Reply, done};
use crate::controller::{Above, ClassChange, ClassMove, ClassSpec, Place, Policy, Resource, Slot, Subject};
use crate::names::{self, quoted};
use crate::proto::bess::{
    AddTcRequest, CheckSchedulingConstraintsResponse, EmptyRequest, Error, GetTcStatsRequest,
    GetTcStatsResponse, ListTcsRequest, ListTcsResponse, TrafficClass, UpdateTcParamsRequest,
    UpdateTcParentRequest, traffic_class::Arg,
};
use crate::{Controller, Fault};

/// Tasks that a module may have.
const TASKS_MAX: u64 = 1 << 16;

/// What the names of classes begin with that the daemon makes by itself.
const RESERVED: char = '!';

pub(crate) fn reset_tcs(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.reset_classes())
}

pub(crate) fn list_tcs(daemon: &mut dyn Controller, request: ListTcsRequest) -> Reply<ListTcsResponse> {
    let wid = if request.wid < 0 { None } else { Some(names::worker(request.wid)?) };
    Ok(ListTcsResponse { error: None, classes_status: daemon.classes(wid)? })
}

pub(crate) fn check_scheduling_constraints(
    daemon: &mut dyn Controller,
    _: EmptyRequest,
) -> Reply<CheckSchedulingConstraintsResponse> {
    let found = daemon.check_constraints()?;
    // Code 0 is success: clients that look no further are told by the lists.
    let error = (!found.texts.is_empty()).then(|| Error { code: 0, errmsg: found.texts.join("; ") });
    Ok(CheckSchedulingConstraintsResponse {
        error,
        fatal: found.fatal,
        violations: found.classes,
        modules: found.modules,
    })
}

pub(crate) fn add_tc(daemon: &mut dyn Controller, request: AddTcRequest) -> Reply {
    done(daemon.add_class(class_spec(given(request.class)?)?))
}

pub(crate) fn update_tc_params(daemon: &mut dyn Controller, request: UpdateTcParamsRequest) -> Reply {
    done(daemon.change_class(class_change(given(request.class)?)?))
}

pub(crate) fn update_tc_parent(daemon: &mut dyn Controller, request: UpdateTcParentRequest) -> Reply {
    done(daemon.move_class(class_move(given(request.class)?)?))
}

pub(crate) fn get_tc_stats(
    daemon: &mut dyn Controller,
    request: GetTcStatsRequest,
) -> Reply<GetTcStatsResponse> {
    let usage = daemon.class_usage(&names::required("traffic class", request.name)?)?;
    Ok(GetTcStatsResponse { error: None, ..usage })
}

fn given(class: Option<TrafficClass>) -> Result<TrafficClass, Fault> {
    class.ok_or_else(|| Fault::invalid("the request names no traffic class: set its field `class`"))
}

pub(super) fn class_spec(class: TrafficClass) -> Result<ClassSpec, Fault> {
    let name = names::required("traffic class", class.name.clone())?;
    let of_class = |fault: Fault| fault.of(format!("traffic class {}", quoted(&name)));
    if name.starts_with(RESERVED) {
        return Err(of_class(Fault::invalid("names that begin with ! are the daemon's own")));
    }
    let policy = policy(&class).map_err(of_class)?;
    let place = place(&class).map_err(of_class)?;
    Ok(ClassSpec { name, policy, place })
}

fn policy(class: &TrafficClass) -> Result<Policy, Fault> {
    match class.policy.as_str() {
        "priority" => Ok(Policy::Priority),
        "weighted_fair" => Ok(Policy::WeightedFair(needed_resource(class)?)),
        "round_robin" => Ok(Policy::RoundRobin),
        "rate_limit" => rate_limit(class),
        "leaf" => Err(Fault::invalid("a leaf is not added: move a module's task to its place instead")),
        other => Err(Fault::invalid(format!(
            "policy {} is none of priority, weighted_fair, round_robin, rate_limit",
            quoted(other)
        ))),
    }
}

fn rate_limit(class: &TrafficClass) -> Result<Policy, Fault> {
    let resource = needed_resource(class)?;
    let of = |list: Vec<(Resource, u64)>| list.into_iter().find(|(of, _)| *of == resource).map(|(_, n)| n);
    let limit = of(amounts("limit", &class.limit)?).filter(|limit| *limit > 0);
    let max_burst = of(amounts("max_burst", &class.max_burst)?).unwrap_or(0);
    Ok(Policy::RateLimit { resource, limit, max_burst })
}

fn needed_resource(class: &TrafficClass) -> Result<Resource, Fault> {
    resource(&class.resource)?.ok_or_else(|| {
        Fault::invalid(format!("{} needs a resource: count, cycle, packet or bit", class.policy))
    })
}

fn resource(name: &str) -> Result<Option<Resource>, Fault> {
    match name {
        "" => Ok(None),
        "count" => Ok(Some(Resource::Count)),
        "cycle" => Ok(Some(Resource::Cycle)),
        "packet" => Ok(Some(Resource::Packet)),
        "bit" => Ok(Some(Resource::Bit)),
        other => {
            Err(Fault::invalid(format!("resource {} is none of count, cycle, packet, bit", quoted(other))))
        }
    }
}

/// Amounts by resource, in the resources' order.
fn amounts(what: &str, amounts: &HashMap<String, i64>) -> Result<Vec<(Resource, u64)>, Fault> {
    let mut list = Vec::new();
    for (name, amount) in amounts {
        let of = resource(name)?.ok_or_else(|| Fault::invalid(format!("{what} of no resource")))?;
        let amount = u64::try_from(*amount)
            .map_err(|_| Fault::invalid(format!("{what} of {name} is {amount}: it may be 0 or more")))?;
        list.push((of, amount));
    }
    list.sort_unstable();
    Ok(list)
}

fn slot(class: &TrafficClass) -> Result<Option<Slot>, Fault> {
    match class.arg {
        None => Ok(None),
        Some(Arg::Priority(priority)) => u32::try_from(priority)
            .map(|value| Some(Slot::Priority(value)))
            .map_err(|_| Fault::invalid(format!("priority is {priority}: it may be 0 to {}", u32::MAX))),
        Some(Arg::Share(share)) => {
            let value = u32::try_from(share).ok().filter(|share| *share > 0);
            let value = value
                .ok_or_else(|| Fault::invalid(format!("share is {share}: it may be 1 to {}", u32::MAX)))?;
            Ok(Some(Slot::Share(value)))
        }
    }
}

/// Where a class goes. A worker's number cannot be left out on the wire, so that 0 beside a parent is
/// taken for "not said".
fn place(class: &TrafficClass) -> Result<Place, Fault> {
    let above = match (class.parent.as_str(), class.wid) {
        ("", wid) if wid < 0 => Above::AnyWorker,
        ("", wid) => Above::Worker(names::worker(wid)?),
        (_, wid) if wid <= 0 => Above::Class(names::required("traffic class", class.parent.clone())?),
        (parent, wid) => {
            return Err(Fault::invalid(format!(
                "parent {} and worker {wid} are both given: give one, and -1 as worker with a parent",
                quoted(parent)
            )));
        }
    };
    Ok(Place { above, slot: slot(class)? })
}

fn subject(class: &TrafficClass) -> Result<Subject, Fault> {
    if class.leaf_module_name.is_empty() {
        return names::required("traffic class", class.name.clone()).map(Subject::Class);
    }
    Ok(Subject::Task {
        module: names::required("module", class.leaf_module_name.clone())?,
        index: names::below("task", class.leaf_module_taskid, TASKS_MAX)?,
    })
}

fn class_change(class: TrafficClass) -> Result<ClassChange, Fault> {
    Ok(ClassChange {
        subject: subject(&class)?,
        resource: resource(&class.resource)?,
        limits: amounts("limit", &class.limit)?,
        max_bursts: amounts("max_burst", &class.max_burst)?,
        slot: slot(&class)?,
    })
}

pub(super) fn class_move(class: TrafficClass) -> Result<ClassMove, Fault> {
    Ok(ClassMove { subject: subject(&class)?, place: place(&class)? })
}
