//! What a daemon could run: classes of modules and drivers of ports, with their arguments and commands.

use super::View;
use crate::client::columns::Columns;
use anyhow::Result;
use prost_reflect::{FieldDescriptor, Kind as FieldKind, MessageDescriptor};
use serde_json::{Value, json};
use tidegate_control::classes;
use tidegate_control::proto::bess::{EmptyRequest, GetDriverInfoRequest, GetMclassInfoRequest};
use tidegate_control::{Client, Kind};
use tidegate_script::reflect;

pub(super) fn module_classes(client: &mut Client) -> Result<View> {
    let names = client.list_mclass(EmptyRequest {})?.names;
    let described = names.into_iter().map(|name| {
        let help = classes::module(&name).map_or("", |class| class.help).to_owned();
        (name, help)
    });
    Ok(listed("class", described.collect()))
}

pub(super) fn drivers(client: &mut Client) -> Result<View> {
    let names = client.list_drivers(EmptyRequest {})?.driver_names;
    let described = names.into_iter().map(|name| {
        let help = classes::port(&name).map_or("", |driver| driver.help).to_owned();
        (name, help)
    });
    Ok(listed("driver", described.collect()))
}

fn listed(head: &'static str, described: Vec<(String, String)>) -> View {
    let mut columns = Columns::new(&[head, "what it does"]);
    let json = described.iter().map(|(name, help)| json!({"name": name, "help": help})).collect();
    described.into_iter().for_each(|(name, help)| columns.row([name, help]));
    View { text: columns.text_or("none"), json }
}

pub(super) fn module_class(client: &mut Client, name: &str) -> Result<View> {
    let info = client.get_mclass_info(GetMclassInfoRequest { name: name.to_owned() })?;
    let arg = classes::module(&info.name).map(|class| class.arg);
    let commands: Vec<(&String, &String)> = info.cmds.iter().zip(&info.cmd_args).collect();
    let mut text = format!("{}: {}\n", info.name, info.help);
    if let Some(class) = classes::module(&info.name) {
        text.push_str(&format!(
            "  input gates {}, output gates {}\n",
            class.gates.inputs, class.gates.outputs
        ));
    }
    text.push_str(&arguments("arguments", arg));
    for (command, _) in &commands {
        let known = classes::module(&info.name).and_then(|class| class.command(command));
        text.push_str(&arguments(&format!("command {command}"), known.map(|command| command.arg)));
    }
    let commands: Vec<Value> = commands.iter().map(|(name, arg)| json!({"name": name, "arg": arg})).collect();
    let json =
        json!({"name": info.name, "help": info.help, "arguments": fields_json(arg), "commands": commands});
    Ok(View { text, json })
}

pub(super) fn driver(client: &mut Client, name: &str) -> Result<View> {
    let info = client.get_driver_info(GetDriverInfoRequest { driver_name: name.to_owned() })?;
    let arg = classes::port(&info.name).map(|driver| driver.arg);
    let text = format!("{}: {}\n{}", info.name, info.help, arguments("arguments", arg));
    let json = json!({"name": info.name, "help": info.help, "arguments": fields_json(arg)});
    Ok(View { text, json })
}

fn fields(kind: Option<Kind>) -> Vec<FieldDescriptor> {
    let message = kind.and_then(|kind| reflect::message(&kind.full_name()));
    let mut fields: Vec<FieldDescriptor> = message.iter().flat_map(MessageDescriptor::fields).collect();
    fields.sort_by_key(FieldDescriptor::number);
    fields
}

fn arguments(what: &str, kind: Option<Kind>) -> String {
    let fields: Vec<String> =
        fields(kind).iter().map(|field| format!("{}={}", field.name(), type_of(field))).collect();
    format!("  {what}: {}\n", if fields.is_empty() { "none".to_owned() } else { fields.join(", ") })
}

fn fields_json(kind: Option<Kind>) -> Value {
    fields(kind).iter().map(|field| json!({"name": field.name(), "type": type_of(field)})).collect()
}

/// A field's type as one would write it.
fn type_of(field: &FieldDescriptor) -> String {
    let one = match field.kind() {
        FieldKind::Bool => "true|false".to_owned(),
        FieldKind::String => "TEXT".to_owned(),
        FieldKind::Bytes => "BYTES".to_owned(),
        FieldKind::Double | FieldKind::Float => "REAL".to_owned(),
        FieldKind::Enum(names) => {
            names.values().map(|name| name.name().to_owned()).collect::<Vec<_>>().join("|")
        }
        FieldKind::Message(entry) if field.is_map() => {
            let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
            return format!("{{{}={}, ...}}", type_of(&key), type_of(&value));
        }
        FieldKind::Message(nested) => {
            let inner: Vec<String> =
                nested.fields().map(|field| format!("{}={}", field.name(), type_of(&field))).collect();
            let is_choice = nested.oneofs().any(|choice| choice.fields().len() == inner.len());
            if is_choice {
                nested.fields().map(|field| type_of(&field)).collect::<Vec<_>>().join("|")
            } else {
                format!("{{{}}}", inner.join(", "))
            }
        }
        _ => "NUMBER".to_owned(),
    };
    if field.is_list() { format!("[{one}, ...]") } else { one }
}
