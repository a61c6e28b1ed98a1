//! Matches: ExactMatch and WildcardMatch, and their rules.

use super::field::{field, number, numbers};
use super::recipe::Sharing::Each;
use super::recipe::{Class, On, Retold, done, refused, row};
use super::seed;
use tidegate_control::Fault;
use tidegate_control::proto::bess::{self, field_data::Encoding};
use tidegate_modules::lookup::{
    ExactMatch, ExactMatchConfig, ExactMatchParams, ExactMatchRule, WildcardMatch, WildcardMatchConfig,
    WildcardMatchRule,
};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "ExactMatch",
        Each,
        |arg: bess::ExactMatchArg, _| exact_match(&arg),
        &[
            &On("add", |it: &mut ExactMatch, arg: bess::ExactMatchCommandAddArg| {
                done(it.add(&exact_rule(&arg)?))
            }),
            &On("delete", |it: &mut ExactMatch, arg: bess::ExactMatchCommandDeleteArg| {
                done(it.delete(&numbers(&arg.fields)?))
            }),
            &On("clear", |it: &mut ExactMatch, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
            &On("set_default_gate", |it: &mut ExactMatch, arg: bess::ExactMatchCommandSetDefaultGateArg| {
                done(it.set_default_gate(arg.gate))
            }),
            &On("get_runtime_config", |it: &mut ExactMatch, _: bess::EmptyArg| {
                Ok(Some(exact_record(it).into()))
            }),
            &On("set_runtime_config", |it: &mut ExactMatch, arg: bess::ExactMatchConfig| {
                done(it.set_config(&exact_config(&arg)?))
            }),
        ],
    )
    .retold(|it| Retold::from([("set_runtime_config", exact_record(it).into())])),
    &row(
        "WildcardMatch",
        Each,
        |arg: bess::WildcardMatchArg, _| wildcard_match(&arg),
        &[
            &On("add", |it: &mut WildcardMatch, arg: bess::WildcardMatchCommandAddArg| {
                done(it.add(&wildcard_rule(&arg)?))
            }),
            &On("delete", |it: &mut WildcardMatch, arg: bess::WildcardMatchCommandDeleteArg| {
                done(it.delete(&numbers(&arg.values)?, &numbers(&arg.masks)?))
            }),
            &On("clear", |it: &mut WildcardMatch, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
            &On(
                "set_default_gate",
                |it: &mut WildcardMatch, arg: bess::WildcardMatchCommandSetDefaultGateArg| {
                    done(it.set_default_gate(arg.gate))
                },
            ),
            &On("get_runtime_config", |it: &mut WildcardMatch, _: bess::EmptyArg| {
                Ok(Some(wildcard_record(it).into()))
            }),
            &On("set_runtime_config", |it: &mut WildcardMatch, arg: bess::WildcardMatchConfig| {
                done(it.set_config(&wildcard_config(&arg)?))
            }),
        ],
    )
    .retold(|it| Retold::from([("set_runtime_config", wildcard_record(it).into())])),
];

fn exact_match(arg: &bess::ExactMatchArg) -> Result<ExactMatch, Fault> {
    let fields = arg.fields.iter().map(field).collect();
    let masks = numbers(&arg.masks)?;
    ExactMatch::new(ExactMatchParams { fields, masks, seed: seed()? }).map_err(refused)
}

fn exact_rule(arg: &bess::ExactMatchCommandAddArg) -> Result<ExactMatchRule, Fault> {
    Ok(ExactMatchRule { values: numbers(&arg.fields)?, gate: arg.gate })
}

fn exact_config(arg: &bess::ExactMatchConfig) -> Result<ExactMatchConfig, Fault> {
    let rules = arg.rules.iter().map(exact_rule).collect::<Result<_, _>>()?;
    Ok(ExactMatchConfig { default_gate: arg.default_gate, rules })
}

fn exact_record(module: &ExactMatch) -> bess::ExactMatchConfig {
    let ExactMatchConfig { default_gate, rules } = module.config();
    let rule = |it: ExactMatchRule| bess::ExactMatchCommandAddArg { gate: it.gate, fields: data(&it.values) };
    bess::ExactMatchConfig { default_gate, rules: rules.into_iter().map(rule).collect() }
}

fn wildcard_match(arg: &bess::WildcardMatchArg) -> Result<WildcardMatch, Fault> {
    WildcardMatch::new(arg.fields.iter().map(field).collect(), seed()?).map_err(refused)
}

fn wildcard_rule(arg: &bess::WildcardMatchCommandAddArg) -> Result<WildcardMatchRule, Fault> {
    let both = |(value, mask): (&bess::FieldData, &bess::FieldData)| Ok((number(value)?, number(mask)?));
    let pairs = arg.values.iter().zip(&arg.masks).map(both).collect::<Result<Vec<_>, Fault>>()?;
    let (values, masks) = pairs.into_iter().unzip();
    Ok(WildcardMatchRule { priority: arg.priority, values, masks, gate: arg.gate })
}

fn wildcard_config(arg: &bess::WildcardMatchConfig) -> Result<WildcardMatchConfig, Fault> {
    let rules = arg.rules.iter().map(wildcard_rule).collect::<Result<_, _>>()?;
    Ok(WildcardMatchConfig { default_gate: arg.default_gate, rules })
}

fn wildcard_record(module: &WildcardMatch) -> bess::WildcardMatchConfig {
    let WildcardMatchConfig { default_gate, rules } = module.config();
    let rule = |it: WildcardMatchRule| bess::WildcardMatchCommandAddArg {
        gate: it.gate,
        priority: it.priority,
        values: data(&it.values),
        masks: data(&it.masks),
    };
    bess::WildcardMatchConfig { default_gate, rules: rules.into_iter().map(rule).collect() }
}

fn data(numbers: &[u64]) -> Vec<bess::FieldData> {
    let data = |number: &u64| bess::FieldData { encoding: Some(Encoding::ValueInt(*number)) };
    numbers.iter().map(data).collect()
}
