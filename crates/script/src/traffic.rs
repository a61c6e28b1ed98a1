//! Traffic classes and the tasks below them.

use crate::argument;
use crate::problem::Problem;
use crate::reflect;
use crate::tree::{Arguments, Content, Field, Made, Name, Value};
use tidegate_control::proto::bess::TrafficClass;

/// How a class may choose among its children.
pub(crate) const POLICIES: [&str; 4] = ["priority", "weighted_fair", "round_robin", "rate_limit"];
/// The command by which a module's task gets its place.
pub(crate) const ATTACH: &str = "attach_task";

/// What may be said of any place.
const PLACE: [&str; 4] = ["parent", "priority", "share", "wid"];
/// What else may be said of a class.
const CLASS: [&str; 3] = ["resource", "limit", "max_burst"];
/// Which of a module's tasks; the protocol's name for it is longer.
const TASK: (&str, &str) = ("taskid", "leaf_module_taskid");

/// `fair::weighted_fair(parent=top, share=2, resource=bit)`
pub(crate) fn class(name: &Name, made: &Made) -> Result<TrafficClass, Problem> {
    let known: Vec<&str> = PLACE.iter().chain(&CLASS).copied().collect();
    check_known(&made.arguments, &known)?;
    let fields = with_resource(&made.arguments)?;
    let class = record(&fields)?;
    Ok(TrafficClass { name: name.text.clone(), policy: made.class.text.clone(), ..class })
}

/// `src.attach_task(parent=fair, share=1)`
pub(crate) fn task(module: &Name, arguments: &Arguments) -> Result<TrafficClass, Problem> {
    let known: Vec<&str> = PLACE.iter().chain([&TASK.0]).copied().collect();
    check_known(arguments, &known)?;
    let mut fields = arguments.fields.clone();
    let of_task = fields.iter_mut().filter(|field| field.name.text == TASK.0);
    of_task.for_each(|field| field.name.text = TASK.1.to_owned());
    Ok(TrafficClass { leaf_module_name: module.text.clone(), ..record(&fields)? })
}

/// The fields of a class as they are written, and of its place.
pub(crate) fn written_fields(class: &TrafficClass) -> Vec<(&'static str, &'static str)> {
    let mut fields = vec![("parent", "parent"), ("priority", "priority"), ("share", "share")];
    if class.parent.is_empty() && class.wid >= 0 {
        fields.push(("wid", "wid"));
    }
    if class.leaf_module_name.is_empty() {
        fields.extend(CLASS.map(|name| (name, name)));
    } else {
        fields.push(TASK);
    }
    fields
}

fn check_known(arguments: &Arguments, known: &[&str]) -> Result<(), Problem> {
    let stranger = arguments.fields.iter().find(|field| !known.contains(&field.name.text.as_str()));
    let names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
    stranger.map_or(Ok(()), |field| Err(argument::unknown(field, &names)))
}

/// `limit=10M` is of the class's resource: `limit={bit=10M}`.
fn with_resource(arguments: &Arguments) -> Result<Vec<Field>, Problem> {
    let resource = arguments.fields.iter().find(|field| field.name.text == "resource");
    let key = resource.and_then(|field| match &field.value.content {
        Content::Word(word) | Content::Text(word) => {
            Some(Name { text: word.clone(), span: field.value.span })
        }
        _ => None,
    });
    let whole = |field: &Field| match (&field.name.text[..], &field.value.content, &key) {
        ("limit" | "max_burst", Content::Integer(_), Some(key)) => {
            let pair = Field { name: key.clone(), value: field.value.clone() };
            let value = Value { content: Content::Record(vec![pair]), span: field.value.span };
            Ok(Field { name: field.name.clone(), value })
        }
        ("limit" | "max_burst", Content::Integer(_), None) => {
            let text = format!("`{}` of which resource?", field.name.text);
            let help = "add resource=count, cycle, packet or bit";
            Err(Problem::new(field.value.span, text).help(help))
        }
        _ => Ok(field.clone()),
    };
    arguments.fields.iter().map(whole).collect()
}

fn record(fields: &[Field]) -> Result<TrafficClass, Problem> {
    let is_placed = fields.iter().any(|field| matches!(&field.name.text[..], "parent" | "wid"));
    let Some(descriptor) = reflect::message("bess.pb.TrafficClass") else {
        return Ok(TrafficClass::default());
    };
    let message = argument::message(&descriptor, fields)?;
    let mut class: TrafficClass = message.transcode_to().unwrap_or_default();
    if !is_placed {
        class.wid = -1;
    }
    Ok(class)
}
