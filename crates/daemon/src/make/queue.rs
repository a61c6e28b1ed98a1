//! Modules in which frames wait.

use super::field;
use super::recipe::Sharing::Alone;
use super::recipe::{Class, On, done, refused, row};
use super::seed;
use tidegate_control::proto::bess;
use tidegate_control::{Fault, Message};
use tidegate_modules::queue::{Drr, DrrParams, Queue, QueueParams, QueueStatus, Reclass, ReclassParams};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "DRR",
        Alone,
        |arg: bess::DrrArg, _| drr(&arg),
        &[
            &On("set_quantum_size", |it: &mut Drr, arg: bess::DrrQuantumArg| {
                done(it.set_quantum(arg.quantum.into()))
            }),
            &On("set_max_flow_queue_size", |it: &mut Drr, arg: bess::DrrMaxFlowQueueSizeArg| {
                done(it.set_max_flow_queue_size(arg.max_queue_size.into()))
            }),
        ],
    ),
    &row(
        "Queue",
        Alone,
        |arg: bess::QueueArg, _| Queue::new(queue_params(&arg)).map_err(refused),
        &[
            &On("set_burst", |it: &mut Queue, arg: bess::QueueCommandSetBurstArg| {
                done(it.set_burst(field::burst(arg.burst)? as u64))
            }),
            &On("set_size", |it: &mut Queue, arg: bess::QueueCommandSetSizeArg| done(it.set_size(arg.size))),
            &On("get_status", |it: &mut Queue, _: bess::QueueCommandGetStatusArg| {
                Ok(Some(status(it.status())))
            }),
            &On("get_initial_arg", |it: &mut Queue, _: bess::EmptyArg| Ok(Some(record(it.initial_params())))),
            &On("get_runtime_config", |it: &mut Queue, _: bess::EmptyArg| Ok(Some(record(it.params())))),
            &On("set_runtime_config", |it: &mut Queue, arg: bess::QueueArg| {
                done(it.set_params(queue_params(&arg)))
            }),
        ],
    ),
    &row(
        "Reclass",
        Alone,
        |arg: bess::ReclassArg, _| Reclass::new(reclass_params(&arg)).map_err(refused),
        &[],
    ),
];

/// An empty name is none, and 0 the module's own size.
pub(super) fn reclass_params(arg: &bess::ReclassArg) -> ReclassParams {
    ReclassParams {
        classes: arg.classes.clone().into_iter().collect(),
        others: Some(arg.others.clone()).filter(|name| !name.is_empty()),
        size: if arg.size == 0 { ReclassParams::default().size } else { arg.size },
    }
}

/// 0 is the module's own choice.
fn drr(arg: &bess::DrrArg) -> Result<Drr, Fault> {
    let own = DrrParams::default();
    let given = |value: u64, own: u64| if value == 0 { own } else { value };
    let params = DrrParams {
        num_flows: given(arg.num_flows.into(), own.num_flows),
        quantum: given(arg.quantum, own.quantum),
        max_flow_queue_size: given(arg.max_flow_queue_size.into(), own.max_flow_queue_size),
        seed: seed()?,
    };
    Drr::new(params).map_err(refused)
}

/// 0 for the module's own size.
fn queue_params(arg: &bess::QueueArg) -> QueueParams {
    let size = if arg.size == 0 { QueueParams::default().size } else { arg.size };
    QueueParams { size, prefetch: arg.prefetch, backpressure: arg.backpressure }
}

fn record(it: QueueParams) -> Message {
    bess::QueueArg { size: it.size, prefetch: it.prefetch, backpressure: it.backpressure }.into()
}

fn status(status: QueueStatus) -> Message {
    let QueueStatus { count, size, enqueued, dequeued, dropped } = status;
    bess::QueueCommandGetStatusResponse { count, size, enqueued, dequeued, dropped }.into()
}
