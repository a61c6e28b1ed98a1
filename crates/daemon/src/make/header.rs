//! Modules that change headers in place.

use super::field::unsigned;
use super::recipe::Sharing::Each;
use super::recipe::{Class, On, done, refused, row};
use super::seed;
use tidegate_control::Fault;
use tidegate_control::proto::bess;
use tidegate_modules::header::*;

pub(super) const CLASSES: &[&dyn Class] = &[
    &row("IPChecksum", Each, |arg: bess::IpChecksumArg, _| Ok(IpChecksum::new(arg.verify)), &[]),
    &row("IPSwap", Each, |_: bess::EmptyArg, _| Ok(IpSwap), &[]),
    &row("L4Checksum", Each, |arg: bess::L4ChecksumArg, _| Ok(L4Checksum::new(arg.verify)), &[]),
    &row("MACSwap", Each, |_: bess::MacSwapArg, _| Ok(MacSwap), &[]),
    &row(
        "MPLSPop",
        Each,
        |arg: bess::MplsPopArg, _| MplsPop::new(mpls_params(&arg)).map_err(refused),
        &[&On("set", |it: &mut MplsPop, arg: bess::MplsPopArg| done(it.set(mpls_params(&arg))))],
    ),
    &row(
        "RandomUpdate",
        Each,
        |arg: bess::RandomUpdateArg, _| RandomUpdate::new(&random_fields(&arg)?, seed()?).map_err(refused),
        &[
            &On("add", |it: &mut RandomUpdate, arg: bess::RandomUpdateArg| {
                done(it.add(&random_fields(&arg)?))
            }),
            &On("clear", |it: &mut RandomUpdate, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    ),
    &row(
        "Rewrite",
        Each,
        |arg: bess::RewriteArg, _| Rewrite::new(&arg.templates).map_err(refused),
        &[
            &On("add", |it: &mut Rewrite, arg: bess::RewriteArg| done(it.add(&arg.templates))),
            &On("clear", |it: &mut Rewrite, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    ),
    &row(
        "Update",
        Each,
        |arg: bess::UpdateArg, _| Update::new(&update_fields(&arg)?).map_err(refused),
        &[
            &On("add", |it: &mut Update, arg: bess::UpdateArg| done(it.add(&update_fields(&arg)?))),
            &On("clear", |it: &mut Update, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    ),
    &row("UpdateTTL", Each, |_: bess::EmptyArg, _| Ok(UpdateTtl::default()), &[]),
    &row("VLANPop", Each, |_: bess::VlanPopArg, _| Ok(VlanPop), &[]),
    &row(
        "VLANPush",
        Each,
        |arg: bess::VlanPushArg, _| VlanPush::new(arg.tci).map_err(refused),
        &[&On("set_tci", |it: &mut VlanPush, arg: bess::VlanPushArg| done(it.set_tci(arg.tci)))],
    ),
];

/// An EtherType of 0 is the module's own choice.
fn mpls_params(arg: &bess::MplsPopArg) -> MplsPopParams {
    let own = MplsPopParams::default().next_ether_type;
    let next_ether_type = if arg.next_eth_type == 0 { own } else { arg.next_eth_type };
    MplsPopParams { remove_eth_header: arg.remove_eth_header, next_ether_type }
}

fn update_fields(arg: &bess::UpdateArg) -> Result<Vec<UpdateField>, Fault> {
    let field = |field: &bess::update_arg::Field| {
        let offset = unsigned("an offset", field.offset)?;
        Ok(UpdateField { offset, size: field.size, value: field.value })
    };
    arg.fields.iter().map(field).collect()
}

fn random_fields(arg: &bess::RandomUpdateArg) -> Result<Vec<RandomField>, Fault> {
    let field = |field: &bess::random_update_arg::Field| {
        let offset = unsigned("an offset", field.offset)?;
        Ok(RandomField { offset, size: field.size, min: field.min, max: field.max })
    };
    arg.fields.iter().map(field).collect()
}
