//! A pipeline as text: what is read back as the same pipeline.
//!
//! Workers, ports, classes and modules come first, one a line, then commands, chains and tasks. A line that grows too
//! long is broken at its brackets.

use crate::literal::{hex, is_word, quote};
use crate::reflect;
use crate::traffic;
use prost_reflect::{DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, ReflectMessage, Value};
use prost_types::Any;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;
use tidegate_control::proto::bess::{ConnectModulesRequest, CreatePortRequest, TrafficClass, traffic_class};
use tidegate_control::proto::v1::PipelineSpec;

/// Characters that a line should have at most.
const WIDTH: usize = 100;
/// Spaces that what is in brackets is moved in by.
const STEP: usize = 2;

/// A pipeline that has no text.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unprintable {
    /// It holds a message that this version does not know.
    #[error("{whose} has an argument of type `{type_url}`, which this version does not know")]
    UnknownMessage {
        /// What the argument is of.
        whose: String,
        /// Its type.
        type_url: String,
    },
    /// It holds a message that is no message.
    #[error("the argument of {whose} is damaged: {why}")]
    Damaged {
        /// What the argument is of.
        whose: String,
        /// What does not fit.
        why: String,
    },
}

/// The text of a pipeline.
pub fn print(pipeline: &PipelineSpec) -> Result<String, Unprintable> {
    let sections = [
        pipeline.workers.iter().map(|worker| Ok(print_worker(worker))).collect::<Result<Vec<_>, _>>()?,
        pipeline.ports.iter().map(print_port).collect::<Result<_, _>>()?,
        pipeline.classes.iter().map(|class| Ok(print_class(class))).collect::<Result<_, _>>()?,
        pipeline
            .modules
            .iter()
            .map(|module| print_made(&module.name, &module.mclass, module.arg.as_ref(), Vec::new()))
            .collect::<Result<_, _>>()?,
        pipeline
            .commands
            .iter()
            .map(|call| {
                let head = format!("{}.{}", quote(&call.name), quote(&call.cmd));
                Ok(call_text(&head, fields_of(&call.name, call.arg.as_ref())?))
            })
            .collect::<Result<_, _>>()?,
        chains(pipeline),
        pipeline.tasks.iter().map(print_task).collect(),
    ];
    let written = sections.iter().filter(|lines| !lines.is_empty());
    let text: Vec<String> = written.map(|lines| format!("{}\n", lines.join("\n"))).collect();
    Ok(text.join("\n"))
}

/// The fields of a message as they are written between brackets: `size=64`, `prefetch=true`.
pub fn print_fields(any: &Any) -> Result<Vec<String>, Unprintable> {
    let fields = fields_of("it", Some(any))?;
    Ok(fields.iter().map(|(name, value)| format!("{name}={}", value.flat())).collect())
}

/// A value's text, in pieces that can be put on lines of their own.
enum Piece {
    Whole(String),
    /// Opening bracket, what is between, closing bracket.
    Group(char, Vec<(Option<String>, Piece)>, char),
}

type Fields = Vec<(String, Piece)>;

impl Piece {
    fn flat(&self) -> String {
        match self {
            Piece::Whole(text) => text.clone(),
            Piece::Group(open, items, close) => {
                let item = |(name, piece): &(Option<String>, Piece)| match name {
                    Some(name) => format!("{name}={}", piece.flat()),
                    None => piece.flat(),
                };
                let items: Vec<String> = items.iter().map(item).collect();
                format!("{open}{}{close}", items.join(", "))
            }
        }
    }

    /// On as many lines as it takes, the first of which begins at column `used`.
    fn broken(&self, used: usize, indent: usize) -> String {
        let flat = self.flat();
        let Piece::Group(open, items, close) = self else { return flat };
        if used + flat.chars().count() <= WIDTH {
            return flat;
        }
        let inner = indent + STEP;
        let pad = " ".repeat(inner);
        let mut text = format!("{open}\n");
        for (name, piece) in items {
            let head = name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
            // One column is the comma's.
            let item = piece.broken(inner + head.len() + 1, inner);
            text.push_str(&format!("{pad}{head}{item},\n"));
        }
        format!("{text}{}{close}", " ".repeat(indent))
    }
}

fn call_text(head: &str, fields: Fields) -> String {
    let items = fields.into_iter().map(|(name, piece)| (Some(name), piece)).collect();
    format!("{head}{}", Piece::Group('(', items, ')').broken(head.chars().count(), 0))
}

fn number(name: &str, number: impl ToString) -> (String, Piece) {
    (name.to_owned(), Piece::Whole(number.to_string()))
}

fn print_worker(worker: &tidegate_control::proto::bess::AddWorkerRequest) -> String {
    let mut fields = vec![number("core", worker.core)];
    if !worker.scheduler.is_empty() {
        fields.push(("scheduler".to_owned(), Piece::Whole(quote(&worker.scheduler))));
    }
    call_text(&format!("worker {}", worker.wid), fields)
}

fn print_port(port: &CreatePortRequest) -> Result<String, Unprintable> {
    // One queue is what there is anyway.
    let counts = [("num_inc_q", port.num_inc_q, 1), ("num_out_q", port.num_out_q, 1)];
    let sizes = [("size_inc_q", port.size_inc_q, 0), ("size_out_q", port.size_out_q, 0)];
    let own = counts.iter().chain(&sizes).filter(|(_, count, usual)| count > usual);
    let own = own.map(|(name, count, _)| number(name, count)).collect();
    print_made(&port.name, &port.driver, port.arg.as_ref(), own)
}

fn print_made(name: &str, class: &str, arg: Option<&Any>, own: Fields) -> Result<String, Unprintable> {
    let mut fields = fields_of(name, arg)?;
    fields.extend(own);
    Ok(call_text(&format!("{}::{}", quote(name), quote(class)), fields))
}

fn print_class(class: &TrafficClass) -> String {
    call_text(&format!("{}::{}", quote(&class.name), quote(&class.policy)), place(class))
}

fn print_task(task: &TrafficClass) -> String {
    call_text(&format!("{}.{}", quote(&task.leaf_module_name), traffic::ATTACH), place(task))
}

fn place(class: &TrafficClass) -> Fields {
    let slot = match class.arg {
        Some(traffic_class::Arg::Priority(priority)) => Some(("priority", priority)),
        Some(traffic_class::Arg::Share(share)) => Some(("share", share)),
        None => None,
    };
    let mut fields = Vec::new();
    for (written, _) in traffic::written_fields(class) {
        match (written, slot) {
            ("parent", _) if !class.parent.is_empty() => {
                fields.push((written.to_owned(), Piece::Whole(quote(&class.parent))));
            }
            ("resource", _) if !class.resource.is_empty() => {
                fields.push((written.to_owned(), Piece::Whole(quote(&class.resource))));
            }
            ("priority" | "share", Some((kind, value))) if kind == written => {
                fields.push(number(written, value))
            }
            ("wid", _) => fields.push(number(written, class.wid)),
            ("taskid", _) if class.leaf_module_taskid > 0 => {
                fields.push(number(written, class.leaf_module_taskid));
            }
            ("limit", _) => fields.extend(amounts(written, &class.limit, &class.resource)),
            ("max_burst", _) => fields.extend(amounts(written, &class.max_burst, &class.resource)),
            _ => {}
        }
    }
    fields
}

/// `limit=1000` where it is of the class's resource alone, else `limit={bit=1000}`.
fn amounts(
    name: &str,
    amounts: &std::collections::HashMap<String, i64>,
    resource: &str,
) -> Option<(String, Piece)> {
    let sorted: BTreeMap<&String, &i64> = amounts.iter().collect();
    match sorted.iter().next() {
        None => None,
        Some((of, amount)) if sorted.len() == 1 && of.as_str() == resource => Some(number(name, amount)),
        Some(_) => {
            let pair = |(of, amount): (&&String, &&i64)| (Some(quote(of)), Piece::Whole(amount.to_string()));
            Some((name.to_owned(), Piece::Group('{', sorted.iter().map(pair).collect(), '}')))
        }
    }
}

/// The fields of an argument, in the order of their numbers.
fn fields_of(whose: &str, any: Option<&Any>) -> Result<Fields, Unprintable> {
    let Some(any) = any.filter(|any| !any.value.is_empty()) else { return Ok(Vec::new()) };
    let Some(descriptor) = reflect::message_of(any) else {
        let (whose, type_url) = (whose.to_owned(), any.type_url.clone());
        return Err(Unprintable::UnknownMessage { whose, type_url });
    };
    let message = DynamicMessage::decode(descriptor, any.value.as_slice())
        .map_err(|error| Unprintable::Damaged { whose: whose.to_owned(), why: error.to_string() })?;
    Ok(of_message(&message))
}

fn of_message(message: &DynamicMessage) -> Fields {
    let mut fields: Vec<(FieldDescriptor, &Value)> = message.fields().collect();
    fields.sort_by_key(|(field, _)| field.number());
    fields.into_iter().map(|(field, value)| (field.name().to_owned(), piece(value))).collect()
}

fn piece(value: &Value) -> Piece {
    let whole = |text: String| Piece::Whole(text);
    match value {
        Value::Bool(value) => whole(value.to_string()),
        Value::I32(number) => whole(number.to_string()),
        Value::I64(number) => whole(number.to_string()),
        Value::U32(number) => whole(number.to_string()),
        Value::U64(number) => whole(number.to_string()),
        Value::EnumNumber(number) => whole(number.to_string()),
        Value::F32(number) => whole(format!("{number:?}")),
        Value::F64(number) => whole(format!("{number:?}")),
        Value::String(text) => whole(quote(text)),
        Value::Bytes(bytes) => whole(hex(bytes)),
        Value::Message(message) => match chosen(message) {
            Some(value) => piece(value),
            None => {
                let fields = of_message(message).into_iter().map(|(name, piece)| (Some(name), piece));
                Piece::Group('{', fields.collect(), '}')
            }
        },
        Value::List(items) => Piece::Group('[', items.iter().map(|item| (None, piece(item))).collect(), ']'),
        Value::Map(pairs) => {
            let pairs: BTreeMap<String, Piece> =
                pairs.iter().map(|(key, value)| (key_text(key), piece(value))).collect();
            let pairs = pairs.into_iter().map(|(key, piece)| (Some(key), piece));
            Piece::Group('{', pairs.collect(), '}')
        }
    }
}

/// What was chosen, of a message that is no more than a choice.
fn chosen(message: &DynamicMessage) -> Option<&Value> {
    let descriptor: MessageDescriptor = message.descriptor();
    let count = descriptor.fields().len();
    let is_choice = descriptor.oneofs().any(|choice| choice.fields().len() == count);
    message.fields().next().filter(|_| is_choice).map(|(_, value)| value)
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => quote(&key.to_string()),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) if is_word(key) => key.clone(),
        MapKey::String(key) => quote(key),
    }
}

/// Connections by the output gate that they begin at.
type Links<'l> = BTreeMap<(&'l str, u64), &'l ConnectModulesRequest>;

/// Connections as chains, each as long as it can be: in the order of modules, those first that nothing leads to.
fn chains(pipeline: &PipelineSpec) -> Vec<String> {
    let connections = &pipeline.connections;
    let mut left: Links<'_> = connections.iter().map(|link| ((link.m1.as_str(), link.ogate), link)).collect();
    let known = pipeline.modules.iter().map(|module| module.name.as_str());
    let mut order: Vec<&str> = known.chain(connections.iter().map(|link| link.m1.as_str())).collect();
    let targets: BTreeSet<&str> = connections.iter().map(|link| link.m2.as_str()).collect();
    order.sort_by_key(|name| targets.contains(name));
    let mut chains = Vec::new();
    for start in order {
        while let Some(chain) = follow(start, &mut left) {
            chains.push(chain);
        }
    }
    chains
}

/// Takes a chain that begins at `start` out of `left`.
fn follow<'l>(start: &'l str, left: &mut Links<'l>) -> Option<String> {
    let mut text = quote(start);
    let mut at = start;
    let mut is_begun = false;
    loop {
        let next = left.range((at, 0)..=(at, u64::MAX)).next().map(|(key, link)| (*key, *link));
        let Some((key, link)) = next else { return is_begun.then_some(text) };
        left.remove(&key);
        let gate = |number: u64| if number == 0 { String::new() } else { format!("[{number}]") };
        text.push_str(&format!("{} -> {}{}", gate(link.ogate), gate(link.igate), quote(&link.m2)));
        at = &link.m2;
        is_begun = true;
    }
}
