//! Modules that BESS has no classes for: limits, balance, bad networks.

use super::field::{self, gates};
use super::recipe::Sharing::{Alone, Each};
use super::recipe::{Answer, Class, On, Retold, done, refused, row};
use super::seed;
use tidegate_base::Duration;
use tidegate_control::Fault;
use tidegate_control::proto::bess::{self, load_balancer_arg, rate_limiter_arg};
use tidegate_modules::balance::{LinkAggregation, LinkMode, LoadBalancer, LoadBalancerParams, LoadPoints};
use tidegate_modules::queue::{RateLimiter, RateLimiterParams};
use tidegate_modules::{Impair, ImpairConfig};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row("Impair", Alone, |arg: bess::ImpairArg, _| Ok(Impair::new(faults(&arg))), &[]),
    &row(
        "LinkAggregation",
        Each,
        |arg: bess::LinkAggregationArg, _| {
            LinkAggregation::new(arg.links, link_mode(&arg.mode)?, 0).map_err(refused)
        },
        &[&On("set_links", |it: &mut LinkAggregation, arg: bess::LinkAggregationCommandSetLinksArg| {
            done(it.set_links(&arg.up))
        })],
    ),
    &row(
        "LoadBalancer",
        Alone,
        |arg: bess::LoadBalancerArg, _| LoadBalancer::new(&balance(&arg)?).map_err(refused),
        &[&On("set_gates", |it: &mut LoadBalancer, arg: bess::LoadBalancerCommandSetGatesArg| {
            done(it.set_gates(&gates(&arg.gates)?))
        })],
    ),
    &row(
        "RateLimiter",
        Alone,
        |arg: bess::RateLimiterArg, _| rate_limiter(&arg),
        &[&On("set_rates", |it: &mut RateLimiter, arg: bess::RateLimiterCommandSetRatesArg| {
            set_rates(it, &arg.rates)
        })],
    )
    .retold(|it| Retold::from([("set_rates", rates_record(it).into())])),
];

fn faults(arg: &bess::ImpairArg) -> ImpairConfig {
    ImpairConfig {
        loss: arg.loss,
        duplicate: arg.duplicate,
        corrupt: arg.corrupt,
        reorder: arg.reorder,
        delay: Duration::from_nanos(arg.delay_ns),
        jitter: Duration::from_nanos(arg.jitter_ns),
        bits_per_s: arg.rate,
        seed: arg.seed,
    }
}

fn link_mode(mode: &str) -> Result<LinkMode, Fault> {
    match mode {
        "" | "spread" => Ok(LinkMode::Spread),
        "active_backup" => Ok(LinkMode::ActiveBackup),
        other => Err(Fault::invalid(format!(
            "`{}` is no mode: give spread or active_backup",
            other.escape_debug()
        ))),
    }
}

/// 0 is the module's own choice.
fn balance(arg: &bess::LoadBalancerArg) -> Result<LoadBalancerParams, Fault> {
    let own = LoadBalancerParams::new(gates(&arg.gates)?);
    let points =
        |it: &load_balancer_arg::Points| LoadPoints { flow: it.flow, packet: it.packet, byte: it.byte };
    Ok(LoadBalancerParams {
        points: arg.points.as_ref().map_or(own.points, points),
        window: if arg.window_us == 0 { own.window } else { Duration::from_micros(arg.window_us) },
        flow_count_max: if arg.flows == 0 { own.flow_count_max } else { arg.flows },
        silence: if arg.silence_s == 0 { own.silence } else { Duration::from_secs(arg.silence_s) },
        seed: seed()?,
        ..own
    })
}

/// 0 is the module's own choice.
fn rate_limiter(arg: &bess::RateLimiterArg) -> Result<RateLimiter, Fault> {
    let flow = arg.field.as_ref().map(field::field).ok_or_else(|| Fault::invalid("field is missing"))?;
    let own = RateLimiterParams::new(flow);
    let given = |value: u64, own: usize| if value == 0 { own } else { value as usize };
    let mut module = RateLimiter::new(&RateLimiterParams {
        flow_count: given(arg.flows, own.flow_count),
        queued_max: given(arg.queue_size, own.queued_max),
        queued_max_a_flow: given(arg.flow_queue_size, own.queued_max_a_flow),
        slot: if arg.slot_ns == 0 { own.slot } else { Duration::from_nanos(arg.slot_ns) },
        ..own
    })
    .map_err(refused)?;
    set_rates(&mut module, &arg.rates)?;
    Ok(module)
}

/// All of them or none.
fn set_rates(module: &mut RateLimiter, rates: &[rate_limiter_arg::Rate]) -> Answer {
    let rates: Vec<_> = rates.iter().map(|rate| (rate.flow, rate.bits_per_second)).collect();
    done(module.set_rates(&rates))
}

fn rates_record(module: &RateLimiter) -> bess::RateLimiterCommandSetRatesArg {
    let rate = |(flow, bits_per_second)| rate_limiter_arg::Rate { flow, bits_per_second };
    bess::RateLimiterCommandSetRatesArg { rates: module.rates().map(rate).collect() }
}
