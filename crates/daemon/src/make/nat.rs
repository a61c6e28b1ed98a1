//! Modules that translate addresses.

use super::field::address;
use super::recipe::Sharing::Alone;
use super::recipe::{Class, On, refused, row};
use super::seed;
use std::net::Ipv4Addr;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::nat::{
    AddressPair, ExternalAddress, Nat, NatParams, NatPortRange, NatTimeouts, StaticNat,
};

/// Mappings that a NAT has room for.
const FLOW_COUNT_MAX: usize = 1 << 20;

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "NAT",
        Alone,
        |arg: bess::NatArg, _| nat(&arg),
        &[
            &On("get_runtime_config", |_: &mut Nat, _: bess::EmptyArg| Ok(None)),
            &On("set_runtime_config", |_: &mut Nat, _: bess::EmptyArg| Ok(None)),
        ],
    ),
    &row(
        "StaticNAT",
        Alone,
        |arg: bess::StaticNatArg, _| static_nat(&arg),
        &[
            &On("get_runtime_config", |_: &mut StaticNat, _: bess::EmptyArg| Ok(None)),
            &On("set_runtime_config", |_: &mut StaticNat, _: bess::EmptyArg| Ok(None)),
        ],
    ),
];

fn nat(arg: &bess::NatArg) -> Result<Nat, Fault> {
    let external = |it: &bess::nat_arg::ExternalAddress| {
        let port_ranges = it.port_ranges.iter().map(port_range).collect::<Result<_, _>>()?;
        Ok(ExternalAddress { address: address(&it.ext_addr)?, port_ranges })
    };
    let params = NatParams {
        external: arg.ext_addrs.iter().map(external).collect::<Result<_, Fault>>()?,
        flow_count_max: FLOW_COUNT_MAX,
        timeouts: NatTimeouts::default(),
        seed: seed()?,
    };
    Nat::new(params).map_err(refused)
}

/// On the wire the end of a range is the first port behind it.
fn port_range(range: &bess::nat_arg::PortRange) -> Result<NatPortRange, Fault> {
    let none = || Fault::invalid(format!("ports {} to {} are none", range.begin, range.end));
    let begin = u16::try_from(range.begin).map_err(|_| none())?;
    let end = range.end.checked_sub(1).and_then(|end| u16::try_from(end).ok()).ok_or_else(none)?;
    Ok(NatPortRange { begin, end, suspended: range.suspended })
}

fn static_nat(arg: &bess::StaticNatArg) -> Result<StaticNat, Fault> {
    let pair = |it: &bess::static_nat_arg::AddressRangePair| {
        Ok(AddressPair {
            internal: range("int_range", it.int_range.as_ref())?,
            external: range("ext_range", it.ext_range.as_ref())?,
        })
    };
    let pairs = arg.pairs.iter().map(pair).collect::<Result<_, Fault>>()?;
    StaticNat::new(pairs).map_err(refused)
}

fn range(
    what: &str,
    range: Option<&bess::static_nat_arg::AddressRange>,
) -> Result<(Ipv4Addr, Ipv4Addr), Fault> {
    let range = range.ok_or_else(|| Fault::invalid(format!("{what} is missing: give its start and end")))?;
    Ok((address(&range.start)?, address(&range.end)?))
}
