//! Fields as they are written become a message: by name, each by its type.

use crate::problem::Problem;
use crate::source::Span;
use crate::tree::{Content, Field, Value as Written};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use std::collections::HashMap;

/// A message of that kind with these fields.
pub(crate) fn message(descriptor: &MessageDescriptor, fields: &[Field]) -> Result<DynamicMessage, Problem> {
    let mut message = DynamicMessage::new(descriptor.clone());
    let mut seen: HashMap<String, Span> = HashMap::new();
    for field in fields {
        let found = find(descriptor, field)?;
        check_new(&found, field, &mut seen)?;
        message.set_field(&found, of_field(&found, &field.value)?);
    }
    Ok(message)
}

/// The names of a message's fields.
pub(crate) fn names(descriptor: &MessageDescriptor) -> Vec<String> {
    let mut fields: Vec<FieldDescriptor> = descriptor.fields().collect();
    fields.sort_by_key(FieldDescriptor::number);
    fields.iter().map(|field| field.name().to_owned()).collect()
}

/// The problem of a field that there is not, where `known` are.
pub(crate) fn unknown(field: &Field, known: &[String]) -> Problem {
    let name = &field.name.text;
    let problem = Problem::new(field.name.span, format!("there is no argument `{name}` here"));
    match tidegate_config::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => problem.help("nothing stands between these brackets"),
        None => problem.help(format!("there are {}", known.join(", "))),
    }
}

fn find(descriptor: &MessageDescriptor, field: &Field) -> Result<FieldDescriptor, Problem> {
    let found = descriptor.get_field_by_name(&field.name.text);
    found.ok_or_else(|| unknown(field, &names(descriptor)))
}

/// A field stands once, and of a choice one.
fn check_new(
    found: &FieldDescriptor,
    field: &Field,
    seen: &mut HashMap<String, Span>,
) -> Result<(), Problem> {
    let span = field.name.span;
    if let Some(first) = seen.insert(found.name().to_owned(), span) {
        let text = format!("`{}` is given twice", found.name());
        return Err(Problem::new(span, text).see(first, "first here"));
    }
    let Some(choice) = found.containing_oneof().filter(|choice| !choice.is_synthetic()) else {
        return Ok(());
    };
    let others = choice.fields().filter(|other| other.name() != found.name());
    for other in others {
        if let Some(first) = seen.get(other.name()) {
            let text = format!("`{}` and `{}` exclude each other", other.name(), found.name());
            return Err(Problem::new(span, text).see(*first, "first here").help("leave one of them out"));
        }
    }
    Ok(())
}

fn of_field(field: &FieldDescriptor, written: &Written) -> Result<Value, Problem> {
    if field.is_map() {
        return map(field, written);
    }
    if !field.is_list() {
        return of_kind(&field.kind(), field.name(), written);
    }
    let Content::List(items) = &written.content else {
        let text = format!("`{}` is a list, not {}", field.name(), written.content.what());
        return Err(Problem::new(written.span, text).help("put it in square brackets: [...]"));
    };
    let items = items.iter().map(|item| of_kind(&field.kind(), field.name(), item));
    Ok(Value::List(items.collect::<Result<_, _>>()?))
}

fn map(field: &FieldDescriptor, written: &Written) -> Result<Value, Problem> {
    let kind = field.kind();
    let (Some(entry), Content::Record(pairs)) = (kind.as_message(), &written.content) else {
        let text = format!("`{}` is a table, not {}", field.name(), written.content.what());
        return Err(Problem::new(written.span, text).help("write pairs in braces: {key=value, key=value}"));
    };
    let mut map: HashMap<MapKey, Value> = HashMap::new();
    for pair in pairs {
        let key = key(&entry.map_entry_key_field().kind(), pair)?;
        let value = of_kind(&entry.map_entry_value_field().kind(), &pair.name.text, &pair.value)?;
        if map.insert(key, value).is_some() {
            return Err(Problem::new(pair.name.span, format!("`{}` is given twice", pair.name.text)));
        }
    }
    Ok(Value::Map(map))
}

fn key(kind: &Kind, pair: &Field) -> Result<MapKey, Problem> {
    let text = &pair.name.text;
    let wrong = || Problem::new(pair.name.span, format!("`{text}` cannot be a key here: a number can"));
    match kind {
        Kind::String => Ok(MapKey::String(text.clone())),
        Kind::Uint32 | Kind::Fixed32 => text.parse().map(MapKey::U32).map_err(|_| wrong()),
        Kind::Uint64 | Kind::Fixed64 => text.parse().map(MapKey::U64).map_err(|_| wrong()),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => text.parse().map(MapKey::I32).map_err(|_| wrong()),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => text.parse().map(MapKey::I64).map_err(|_| wrong()),
        Kind::Bool => text.parse().map(MapKey::Bool).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn of_kind(kind: &Kind, name: &str, written: &Written) -> Result<Value, Problem> {
    match (kind, &written.content) {
        (Kind::Bool, Content::Word(word)) if word == "true" => Ok(Value::Bool(true)),
        (Kind::Bool, Content::Word(word)) if word == "false" => Ok(Value::Bool(false)),
        (Kind::String, Content::Text(text) | Content::Word(text)) => Ok(Value::String(text.clone())),
        (Kind::Bytes, Content::Bytes(bytes)) => Ok(Value::Bytes(bytes.clone().into())),
        (Kind::Bytes, Content::Text(text)) => Ok(Value::Bytes(text.clone().into_bytes().into())),
        (Kind::Double, Content::Integer(number)) => Ok(Value::F64(*number as f64)),
        (Kind::Double, Content::Real(number)) => Ok(Value::F64(*number)),
        (Kind::Float, Content::Integer(number)) => Ok(Value::F32(*number as f32)),
        (Kind::Float, Content::Real(number)) => Ok(Value::F32(*number as f32)),
        (_, Content::Integer(number)) if is_integer(kind) => integer(kind, name, *number, written.span),
        (Kind::Enum(names), Content::Word(word)) => {
            let value = names.get_value_by_name(word);
            value.map(|value| Value::EnumNumber(value.number())).ok_or_else(|| wrong(kind, name, written))
        }
        (Kind::Message(nested), Content::Record(fields)) => message(nested, fields).map(Value::Message),
        (Kind::Message(nested), _) => choose(nested, name, written),
        _ => Err(wrong(kind, name, written)),
    }
}

/// A message that is no more than a choice of types may be written as what was chosen: 5 for {value_int=5}.
fn choose(nested: &MessageDescriptor, name: &str, written: &Written) -> Result<Value, Problem> {
    let fields: Vec<FieldDescriptor> = nested.fields().collect();
    let is_choice = nested.oneofs().any(|choice| choice.fields().len() == fields.len());
    let chosen =
        fields.iter().filter(|_| is_choice).find_map(|field| Some((field, of_field(field, written).ok()?)));
    let Some((field, value)) = chosen else {
        return Err(wrong(&Kind::Message(nested.clone()), name, written));
    };
    let mut message = DynamicMessage::new(nested.clone());
    message.set_field(field, value);
    Ok(Value::Message(message))
}

fn is_integer(kind: &Kind) -> bool {
    !matches!(
        kind,
        Kind::Bool
            | Kind::String
            | Kind::Bytes
            | Kind::Message(_)
            | Kind::Enum(_)
            | Kind::Double
            | Kind::Float
    )
}

fn integer(kind: &Kind, name: &str, number: i128, span: Span) -> Result<Value, Problem> {
    let (value, least, most): (Option<Value>, i128, i128) = match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
            (number.try_into().ok().map(Value::I32), i32::MIN.into(), i32::MAX.into())
        }
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
            (number.try_into().ok().map(Value::I64), i64::MIN.into(), i64::MAX.into())
        }
        Kind::Uint32 | Kind::Fixed32 => (number.try_into().ok().map(Value::U32), 0, u32::MAX.into()),
        _ => (number.try_into().ok().map(Value::U64), 0, i128::from(u64::MAX)),
    };
    value.ok_or_else(|| Problem::new(span, format!("`{name}` is {number}: it may be {least} to {most}")))
}

fn wrong(kind: &Kind, name: &str, written: &Written) -> Problem {
    let given = written.content.what();
    let (wanted, help) = match kind {
        Kind::Bool => ("true or false", None),
        Kind::String => ("a text", Some("put it in quotes: \"...\"".to_owned())),
        Kind::Bytes => {
            ("bytes", Some("write hexadecimal digits, x\"00 1f\", or a text in quotes".to_owned()))
        }
        Kind::Double | Kind::Float => ("a number", None),
        Kind::Enum(names) => {
            let names: Vec<String> = names.values().map(|value| value.name().to_owned()).collect();
            ("one of several words", Some(format!("there are {}", names.join(", "))))
        }
        Kind::Message(nested) => {
            ("a record", Some(format!("write {{...}} with some of {}", names(nested).join(", "))))
        }
        _ => ("an integer", None),
    };
    let problem = Problem::new(written.span, format!("`{name}` is {wanted}, not {given}"));
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
