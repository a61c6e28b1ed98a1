//! Filters: tcpdump's expressions for `BPF`, URLs for `UrlFilter`.
//!
//! Expressions are compiled by libpcap, so that they mean what they mean to tcpdump; what runs on frames is our own.

use super::expression;
use super::field::unsigned;
use super::recipe::Sharing::{Alone, Each};
use super::recipe::{Class, On, Retold, done, refused, row};
use super::seed;
use pcap::{BpfInstruction, Capture, Linktype};
use std::fmt::Display;
use tidegate_control::Fault;
use tidegate_control::proto::bess::{self, bpf_arg, url_filter_arg};
use tidegate_modules::bpf::{Bpf, BpfFilter, Instruction, Program};
use tidegate_modules::url_filter::{URL_FILTER_FLOW_COUNT_DEFAULT, Url, UrlFilter};

/// The longest expression: libpcap's compiler goes as deep as one is long.
const EXPRESSION_LEN_MAX: usize = 4096;

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "BPF",
        Each,
        |arg: bess::BpfArg, _| Bpf::new(filters(arg)?).map_err(refused),
        &[
            &On("add", |it: &mut Bpf, arg: bess::BpfArg| done(it.add(filters(arg)?))),
            &On("delete", |it: &mut Bpf, arg: bess::BpfArg| delete(it, &arg).map(|()| None)),
            &On("clear", |it: &mut Bpf, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    )
    .retold(|it| Retold::from([("clear", bess::EmptyArg {}.into()), ("add", bpf_record(it).into())])),
    &row(
        "UrlFilter",
        Alone,
        |arg: bess::UrlFilterArg, _| {
            UrlFilter::new(urls(arg.blacklist), URL_FILTER_FLOW_COUNT_DEFAULT, seed()?).map_err(refused)
        },
        &[
            &On("add", |it: &mut UrlFilter, arg: bess::UrlFilterArg| done(it.add(urls(arg.blacklist)))),
            &On("clear", |it: &mut UrlFilter, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
            &On("get_runtime_config", |it: &mut UrlFilter, _: bess::EmptyArg| {
                Ok(Some(url_record(it).into()))
            }),
            &On("set_runtime_config", |it: &mut UrlFilter, arg: bess::UrlFilterConfig| {
                done(it.replace(urls(arg.blacklist)))
            }),
        ],
    ),
];

fn urls(list: Vec<url_filter_arg::Url>) -> Vec<Url> {
    list.into_iter().map(|url| Url { host: url.host, path: url.path }).collect()
}

fn url_record(module: &UrlFilter) -> bess::UrlFilterConfig {
    let url = |url: &Url| url_filter_arg::Url { host: url.host.clone(), path: url.path.clone() };
    bess::UrlFilterConfig { blacklist: module.refused().iter().map(url).collect() }
}

fn bpf_record(module: &Bpf) -> bess::BpfArg {
    let filter = |it: &BpfFilter| bpf_arg::Filter {
        priority: it.priority,
        filter: it.expression.clone(),
        gate: it.gate as i64,
    };
    bess::BpfArg { filters: module.filters().map(filter).collect() }
}

fn filters(arg: bess::BpfArg) -> Result<Vec<BpfFilter>, Fault> {
    let filter = |filter: bpf_arg::Filter| {
        let program = compile(&filter.filter)?;
        let gate = unsigned("a gate", filter.gate)?;
        Ok(BpfFilter { priority: filter.priority, expression: filter.filter, program, gate })
    };
    arg.filters.into_iter().map(filter).collect()
}

/// All or none of what is named goes.
fn delete(module: &mut Bpf, arg: &bess::BpfArg) -> Result<(), Fault> {
    let mut left = module.clone();
    for filter in &arg.filters {
        let gate = unsigned("a gate", filter.gate)?;
        if !left.remove(filter.priority, &filter.filter, gate) {
            let (shown, priority) = (shown(&filter.filter), filter.priority);
            let text = format!("there is no filter {shown} of priority {priority} to gate {gate}");
            return Err(Fault::missing(text));
        }
    }
    *module = left;
    Ok(())
}

/// The program of an expression for Ethernet frames.
fn compile(expression: &str) -> Result<Program, Fault> {
    let wrong = |why: &dyn Display| Fault::invalid(format!("the filter {}: {why}", shown(expression)));
    if expression.len() > EXPRESSION_LEN_MAX {
        let len = expression.len();
        return Err(Fault::invalid(format!("a filter of {len} bytes: give {EXPRESSION_LEN_MAX} at most")));
    }
    if let Some(name) = expression::name_of_host(expression) {
        return Err(wrong(&format!(
            "{name} would have to be looked up, and the daemon waits for no name server: give an address"
        )));
    }
    let compiler = Capture::dead(Linktype::ETHERNET).map_err(|error| wrong(&error))?;
    let compiled = compiler.compile(expression, true).map_err(|error| wrong(&error))?;
    let instructions: Option<Vec<_>> = compiled.get_instructions().iter().map(instruction).collect();
    let instructions = instructions.ok_or_else(|| wrong(&"libpcap speaks an unknown dialect"))?;
    Program::new(instructions).map_err(|error| wrong(&error))
}

/// An instruction, which its type shows in four numbers only.
fn instruction(compiled: &BpfInstruction) -> Option<Instruction> {
    let text = compiled.to_string();
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u32>().ok());
    let [code, jump_true, jump_false, k] =
        [numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??];
    Some(Instruction {
        code: code.try_into().ok()?,
        jump_true: jump_true.try_into().ok()?,
        jump_false: jump_false.try_into().ok()?,
        k,
    })
}

/// The beginning of an expression, in a line.
fn shown(expression: &str) -> String {
    const LEN_MAX: usize = 60;
    let begin: String = expression.chars().take(LEN_MAX).flat_map(char::escape_debug).collect();
    let more = if expression.chars().nth(LEN_MAX).is_some() { "..." } else { "" };
    format!("`{begin}{more}`")
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
