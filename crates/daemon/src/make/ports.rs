//! The ends of a pipeline at ports. A worker's port is one queue of a port: which one, the placement says.

use super::recipe::Sharing::Alone;
use super::recipe::{Class, On, done, row};
use super::{Seat, field};
use tidegate_control::proto::bess;
use tidegate_modules::PortOut;
use tidegate_modules::queue::{QueueInc, QueueIncParams, QueueOut};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "PortInc",
        Alone,
        |arg: bess::PortIncArg, seat| Ok(receiver(arg.prefetch, seat)),
        &[&On("set_burst", |it: &mut QueueInc, arg: bess::PortIncCommandSetBurstArg| {
            done(it.set_burst(field::burst(arg.burst)? as u64))
        })],
    )
    .seated(),
    &row("PortOut", Alone, |_: bess::PortOutArg, seat| Ok(PortOut::new(seat.port)), &[]).seated(),
    &row(
        "QueueInc",
        Alone,
        |arg: bess::QueueIncArg, seat| Ok(receiver(arg.prefetch, seat)),
        &[&On("set_burst", |it: &mut QueueInc, arg: bess::QueueIncCommandSetBurstArg| {
            done(it.set_burst(field::burst(arg.burst)? as u64))
        })],
    )
    .seated(),
    &row("QueueOut", Alone, |_: bess::QueueOutArg, seat| Ok(QueueOut::new(seat.port)), &[]).seated(),
];

fn receiver(prefetch: bool, seat: Seat) -> QueueInc {
    QueueInc::new(QueueIncParams { port: seat.port, prefetch })
}
