//! What NICs do for TCP: large frames cut, and segments put together.

use super::recipe::Sharing::{Alone, Each};
use super::recipe::{Class, refused, row};
use tidegate_base::Duration;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::offload::{Lro, LroParams, Tso, TsoParams};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row("Lro", Alone, |arg: bess::LroArg, _| lro(&arg), &[]),
    &row("Tso", Each, |arg: bess::TsoArg, _| tso(&arg), &[]),
];

/// 0 is the module's own choice.
fn lro(arg: &bess::LroArg) -> Result<Lro, Fault> {
    let own = LroParams::default();
    let flow_count = if arg.flow_count == 0 { own.flow_count } else { arg.flow_count };
    Lro::new(LroParams { hold: Duration::from_nanos(arg.hold_ns), flow_count }).map_err(refused)
}

/// 0 is the module's own choice.
fn tso(arg: &bess::TsoArg) -> Result<Tso, Fault> {
    let mtu = if arg.mtu == 0 { TsoParams::default().mtu } else { arg.mtu };
    Tso::new(TsoParams { mtu }).map_err(refused)
}
