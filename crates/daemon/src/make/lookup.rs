//! Tables of routes, MAC addresses and access rules.

use super::field::{address, mac, prefix, unsigned};
use super::recipe::Sharing::Each;
use super::recipe::{Answer, Class, On, Retold, done, refused, row};
use super::seed;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::lookup::{
    Acl, AclRule, DROP_GATE, IpLookup, IpLookupParams, L2Forward, L2ForwardParams,
};
use tidegate_wire::MacAddr;

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "ACL",
        Each,
        |arg: bess::AclArg, _| Acl::new(&acl_rules(&arg)?).map_err(refused),
        &[
            &On("add", |it: &mut Acl, arg: bess::AclArg| done(it.add(&acl_rules(&arg)?))),
            &On("clear", |it: &mut Acl, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    )
    .retold(|it| Retold::from([("clear", bess::EmptyArg {}.into()), ("add", acl_record(it).into())])),
    &row(
        "IPLookup",
        Each,
        |arg: bess::IpLookupArg, _| ip_lookup(&arg),
        &[
            &On("add", |it: &mut IpLookup, arg: bess::IpLookupCommandAddArg| {
                done(it.add(address(&arg.prefix)?, arg.prefix_len, arg.gate))
            }),
            &On("delete", |it: &mut IpLookup, arg: bess::IpLookupCommandDeleteArg| {
                done(it.delete(address(&arg.prefix)?, arg.prefix_len))
            }),
            &On("clear", |it: &mut IpLookup, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    )
    .retold(routes),
    &row(
        "L2Forward",
        Each,
        |arg: bess::L2ForwardArg, _| l2_forward(&arg),
        &[
            &On("add", |it: &mut L2Forward, arg: bess::L2ForwardCommandAddArg| l2_add(it, &arg)),
            &On("delete", |it: &mut L2Forward, arg: bess::L2ForwardCommandDeleteArg| {
                done(it.delete(&macs(&arg.addrs)?))
            }),
            &On("set_default_gate", |it: &mut L2Forward, arg: bess::L2ForwardCommandSetDefaultGateArg| {
                // A negative one is BESS's way to say "none".
                done(it.set_default_gate(u64::try_from(arg.gate).unwrap_or(DROP_GATE)))
            }),
            &On("lookup", |it: &mut L2Forward, arg: bess::L2ForwardCommandLookupArg| {
                let gates = it.lookup(&macs(&arg.addrs)?).map_err(refused)?;
                Ok(Some(bess::L2ForwardCommandLookupResponse { gates }.into()))
            }),
            &On("populate", |it: &mut L2Forward, arg: bess::L2ForwardCommandPopulateArg| {
                let count = unsigned("the number of addresses", arg.count)?;
                done(it.populate(mac(&arg.base)?, count, unsigned("the number of gates", arg.gate_count)?))
            }),
        ],
    )
    .retold(entries),
];

fn acl_rules(arg: &bess::AclArg) -> Result<Vec<AclRule>, Fault> {
    let port = |what: &str, port: u32| {
        u16::try_from(port).map_err(|_| Fault::invalid(format!("{what} {port} is none: give 0 to 65535")))
    };
    let rule = |it: &bess::acl_arg::Rule| {
        Ok(AclRule {
            src: prefix(&it.src_ip)?,
            dst: prefix(&it.dst_ip)?,
            src_port: port("source port", it.src_port)?,
            dst_port: port("destination port", it.dst_port)?,
            established: it.established,
            drop: it.drop,
        })
    };
    arg.rules.iter().map(rule).collect()
}

fn acl_record(module: &Acl) -> bess::AclArg {
    let rule = |it: &AclRule| bess::acl_arg::Rule {
        src_ip: format!("{}/{}", it.src.0, it.src.1),
        dst_ip: format!("{}/{}", it.dst.0, it.dst.1),
        src_port: it.src_port.into(),
        dst_port: it.dst_port.into(),
        established: it.established,
        drop: it.drop,
    };
    bess::AclArg { rules: module.rules().iter().map(rule).collect() }
}

/// 0 is the module's own choice.
fn ip_lookup(arg: &bess::IpLookupArg) -> Result<IpLookup, Fault> {
    let own = IpLookupParams::default();
    let given = |value: u32, own: u64| if value == 0 { own } else { value.into() };
    let params = IpLookupParams {
        max_rules: given(arg.max_rules, own.max_rules),
        max_tbl8s: given(arg.max_tbl8s, own.max_tbl8s),
    };
    IpLookup::new(params).map_err(refused)
}

fn routes(module: &IpLookup) -> Retold {
    let add = |(network, len, gate): (std::net::Ipv4Addr, u8, u64)| {
        let route = bess::IpLookupCommandAddArg { prefix: network.to_string(), prefix_len: len.into(), gate };
        ("add", route.into())
    };
    module.routes().map(add).collect()
}

/// How many addresses share a bucket is the module's own choice.
fn l2_forward(arg: &bess::L2ForwardArg) -> Result<L2Forward, Fault> {
    let own = L2ForwardParams::default().size;
    let size = usize::try_from(arg.size).ok().filter(|size| *size > 0).unwrap_or(own);
    L2Forward::new(L2ForwardParams { size, seed: seed()? }).map_err(refused)
}

fn l2_add(module: &mut L2Forward, arg: &bess::L2ForwardCommandAddArg) -> Answer {
    let entry =
        |it: &bess::l2_forward_command_add_arg::Entry| Ok((mac(&it.addr)?, unsigned("a gate", it.gate)?));
    done(module.add(&arg.entries.iter().map(entry).collect::<Result<Vec<_>, Fault>>()?))
}

fn macs(addresses: &[String]) -> Result<Vec<MacAddr>, Fault> {
    addresses.iter().map(|address| mac(address)).collect()
}

fn entries(module: &L2Forward) -> Retold {
    let entry = |(address, gate): (MacAddr, u64)| bess::l2_forward_command_add_arg::Entry {
        addr: address.to_string(),
        gate: gate as i64,
    };
    let entries = module.entries().map(entry).collect();
    let default = bess::L2ForwardCommandSetDefaultGateArg { gate: module.default_gate() as i64 };
    Retold::from([
        ("set_default_gate", default.into()),
        ("add", bess::L2ForwardCommandAddArg { entries }.into()),
    ])
}
