//! Modules that put headers in front, and take them away.

use super::field::number;
use super::recipe::Sharing::Each;
use super::recipe::{Class, refused, row};
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::encap::*;

/// The registered port (RFC 7348 section 5).
const VXLAN_PORT: u64 = 4789;

pub(super) const CLASSES: &[&dyn Class] = &[
    &row("EtherEncap", Each, |_: bess::EtherEncapArg, _| Ok(EtherEncap::new()), &[]),
    &row("GREDecap", Each, |_: bess::GreDecapArg, _| Ok(GreDecap::new()), &[]),
    &row("GREEncap", Each, |arg: bess::GreEncapArg, _| Ok(GreEncap::new(gre_params(&arg))), &[]),
    &row(
        "GenericDecap",
        Each,
        |arg: bess::GenericDecapArg, _| GenericDecap::new(arg.bytes).map_err(refused),
        &[],
    ),
    &row(
        "GenericEncap",
        Each,
        |arg: bess::GenericEncapArg, _| GenericEncap::new(&encap_fields(&arg)?).map_err(refused),
        &[],
    ),
    &row("GeneveDecap", Each, |_: bess::GeneveDecapArg, _| Ok(GeneveDecap::new()), &[]),
    &row(
        "GeneveEncap",
        Each,
        |arg: bess::GeneveEncapArg, _| {
            GeneveEncap::new(if arg.dstport == 0 { GENEVE_PORT } else { arg.dstport }).map_err(refused)
        },
        &[],
    ),
    &row("IPEncap", Each, |_: bess::IpEncapArg, _| Ok(IpEncap::new()), &[]),
    &row("VXLANDecap", Each, |_: bess::VxlanDecapArg, _| Ok(VxlanDecap::new()), &[]),
    &row(
        "VXLANEncap",
        Each,
        |arg: bess::VxlanEncapArg, _| {
            let port = if arg.dstport == 0 { VXLAN_PORT } else { arg.dstport };
            VxlanEncap::new(port).map_err(refused)
        },
        &[],
    ),
];

/// Protocol 0 is the module's own.
fn gre_params(arg: &bess::GreEncapArg) -> GreParams {
    let protocol = if arg.protocol == 0 { GreParams::default().protocol } else { arg.protocol as u16 };
    GreParams { key: !arg.no_key, checksum: arg.checksum, protocol }
}

fn encap_fields(arg: &bess::GenericEncapArg) -> Result<Vec<EncapField>, Fault> {
    use bess::generic_encap_arg::encap_field::Insertion as Given;
    let field = |field: &bess::generic_encap_arg::EncapField| {
        let insertion = match &field.insertion {
            Some(Given::Attribute(name)) => Insertion::Attribute(name.clone()),
            Some(Given::Value(value)) => Insertion::Value(number(value)?),
            None => Insertion::Value(0),
        };
        Ok(EncapField { size: field.size, insertion })
    };
    arg.fields.iter().map(field).collect()
}
