//! Modules that steer frames without a table.

use super::field::{self, gates, unsigned};
use super::recipe::Sharing::Each;
use super::recipe::{Class, On, done, refused, row};
use super::seed;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::split::*;
use tidegate_modules::{Field, Position};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "HashLB",
        Each,
        |arg: bess::HashLbArg, _| hash_lb(&arg),
        &[
            &On("set_mode", |it: &mut HashLb, arg: bess::HashLbCommandSetModeArg| {
                done(it.set_mode(&hash_mode(&arg.mode, &arg.fields)?))
            }),
            &On("set_gates", |it: &mut HashLb, arg: bess::HashLbCommandSetGatesArg| {
                done(it.set_gates(&gates(&arg.gates)?))
            }),
        ],
    ),
    &row("Merge", Each, |_: bess::MergeArg, _| Ok(Merge), &[]),
    &row(
        "RandomSplit",
        Each,
        |arg: bess::RandomSplitArg, _| random_split(&arg),
        &[
            &On("set_droprate", |it: &mut RandomSplit, arg: bess::RandomSplitCommandSetDroprateArg| {
                done(it.set_drop_rate(arg.drop_rate))
            }),
            &On("set_gates", |it: &mut RandomSplit, arg: bess::RandomSplitCommandSetGatesArg| {
                done(it.set_gates(&gates(&arg.gates)?))
            }),
        ],
    ),
    &row(
        "Replicate",
        Each,
        |arg: bess::ReplicateArg, _| Replicate::new(&gates(&arg.gates)?).map_err(refused),
        &[&On("set_gates", |it: &mut Replicate, arg: bess::ReplicateCommandSetGatesArg| {
            done(it.set_gates(&gates(&arg.gates)?))
        })],
    ),
    &row(
        "RoundRobin",
        Each,
        |arg: bess::RoundRobinArg, _| round_robin(&arg),
        &[
            &On("set_gates", |it: &mut RoundRobin, arg: bess::RoundRobinCommandSetGatesArg| {
                done(it.set_gates(&gates(&arg.gates)?))
            }),
            &On("set_mode", |it: &mut RoundRobin, arg: bess::RoundRobinCommandSetModeArg| {
                it.set_mode(round_robin_mode(&arg.mode)?);
                Ok(None)
            }),
        ],
    ),
    &row("Split", Each, |arg: bess::SplitArg, _| Split::new(&split_field(arg)?).map_err(refused), &[]),
    &row("VLANSplit", Each, |_: bess::VlanSplitArg, _| Ok(VlanSplit), &[]),
    &row(
        "WorkerSplit",
        Each,
        |arg: bess::WorkerSplitArg, seat| {
            WorkerSplit::new(seat.wid.into(), &worker_gates(&arg)).map_err(refused)
        },
        &[&On("reset", |it: &mut WorkerSplit, arg: bess::WorkerSplitArg| {
            done(it.reset(&worker_gates(&arg)))
        })],
    )
    .seated(),
];

fn hash_lb(arg: &bess::HashLbArg) -> Result<HashLb, Fault> {
    let params =
        HashLbParams { gates: gates(&arg.gates)?, mode: hash_mode(&arg.mode, &arg.fields)?, seed: 0 };
    HashLb::new(&params).map_err(refused)
}

fn random_split(arg: &bess::RandomSplitArg) -> Result<RandomSplit, Fault> {
    let params = RandomSplitParams { drop_rate: arg.drop_rate, gates: gates(&arg.gates)?, seed: seed()? };
    RandomSplit::new(&params).map_err(refused)
}

fn round_robin(arg: &bess::RoundRobinArg) -> Result<RoundRobin, Fault> {
    RoundRobin::new(&gates(&arg.gates)?, round_robin_mode(&arg.mode)?).map_err(refused)
}

fn split_field(arg: bess::SplitArg) -> Result<Field, Fault> {
    let position = match arg.r#type {
        Some(bess::split_arg::Type::Attribute(name)) => Position::Attribute(name),
        Some(bess::split_arg::Type::Offset(offset)) => Position::Offset(unsigned("an offset", offset)?),
        None => Position::Offset(0),
    };
    Ok(Field { position, size: arg.size })
}

fn hash_mode(mode: &str, fields: &[bess::Field]) -> Result<HashMode, Fault> {
    let layer = (!mode.is_empty()).then(|| mode.parse().map(HashMode::Layer)).transpose().map_err(refused)?;
    if !fields.is_empty() {
        return Ok(HashMode::Fields(fields.iter().map(field::field).collect()));
    }
    Ok(layer.unwrap_or_default())
}

fn round_robin_mode(mode: &str) -> Result<RoundRobinMode, Fault> {
    if mode.is_empty() { Ok(RoundRobinMode::default()) } else { mode.parse().map_err(refused) }
}

fn worker_gates(arg: &bess::WorkerSplitArg) -> Vec<(u32, u32)> {
    arg.worker_gates.iter().map(|(worker, gate)| (*worker, *gate)).collect()
}
