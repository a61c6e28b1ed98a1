//! The generator of flows.

use super::recipe::Sharing::Alone;
use super::recipe::{Class, On, done, refused, row};
use super::{field, seed};
use std::str::FromStr;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::ParameterError;
use tidegate_modules::flow_gen::{FlowGen, FlowGenParams};

pub(super) const CLASSES: &[&dyn Class] = &[&row(
    "FlowGen",
    Alone,
    |arg: bess::FlowGenArg, _| FlowGen::new(params(arg)?).map_err(refused),
    &[
        &On("update", |it: &mut FlowGen, arg: bess::FlowGenArg| done(it.update(params(arg)?))),
        &On("set_burst", |it: &mut FlowGen, arg: bess::FlowGenCommandSetBurstArg| {
            done(it.set_burst(field::burst(arg.burst)? as u64))
        }),
    ],
)];

/// 0 and the empty word are the module's own choice.
fn params(arg: bess::FlowGenArg) -> Result<FlowGenParams, Fault> {
    let own = FlowGenParams::new(arg.template, arg.pps);
    let rate = |value: f64, own: f64| if value == 0.0 { own } else { value };
    Ok(FlowGenParams {
        flow_rate: rate(arg.flow_rate, own.flow_rate),
        flow_duration: rate(arg.flow_duration, own.flow_duration),
        arrival: word(&arg.arrival)?,
        duration: word(&arg.duration)?,
        quick_rampup: arg.quick_rampup,
        ip_src_range: arg.ip_src_range.max(1),
        ip_dst_range: arg.ip_dst_range.max(1),
        port_src_range: ports("port_src_range", arg.port_src_range)?,
        port_dst_range: ports("port_dst_range", arg.port_dst_range)?,
        seed: seed()?,
        ..own
    })
}

fn word<T: Default + FromStr<Err = ParameterError>>(word: &str) -> Result<T, Fault> {
    if word.is_empty() { Ok(T::default()) } else { word.parse().map_err(refused) }
}

fn ports(what: &str, count: u32) -> Result<u16, Fault> {
    let wrong = |_| Fault::invalid(format!("{what} is {count}: give 0 to 65535"));
    u16::try_from(count.max(1)).map_err(wrong)
}
