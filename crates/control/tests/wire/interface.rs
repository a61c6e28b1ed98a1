//! Our descriptors held against the interface's facts: every method, message, field, number and type.

use std::collections::BTreeSet;

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use tidegate_control::proto::DESCRIPTORS;

const FACTS: &str = include_str!("interface.txt");
const PACKAGE: &str = "bess.pb";
/// Arguments of classes and drivers of ours, which have to be where controllers look an argument up.
const OURS: &str = include_str!("own.txt");

#[test]
fn every_fact_and_nothing_else_is_in_the_descriptors() {
    let facts = FACTS.lines().filter(|line| line.starts_with('/') || line.contains(": "));
    let facts: BTreeSet<String> =
        facts.filter(|line| !line.starts_with('#')).map(|line| line.trim_end().to_owned()).collect();
    let ours = descriptors();
    let missing: Vec<_> = facts.difference(&ours).collect();
    let extra: Vec<_> = ours.difference(&facts).collect();
    assert_eq!(missing, [""; 0], "in the facts and not here");
    assert_eq!(extra, OURS.lines().collect::<Vec<_>>(), "here and not in the facts");
    assert_eq!(facts.iter().filter(|line| line.starts_with('/')).count(), 48);
}

fn descriptors() -> BTreeSet<String> {
    let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
    let files = set.file.iter().filter(|file| file.package() == PACKAGE);
    let mut lines = BTreeSet::new();
    for file in files {
        for service in &file.service {
            for method in &service.method {
                let (input, output) = (short(method.input_type()), short(method.output_type()));
                assert!(!method.client_streaming() && !method.server_streaming());
                lines.insert(format!("/{PACKAGE}.{}/{}: {input} -> {output}", service.name(), method.name()));
            }
        }
        file.message_type.iter().for_each(|message| describe(message, "", &mut lines));
    }
    lines
}

fn describe(message: &DescriptorProto, outer: &str, lines: &mut BTreeSet<String>) {
    let name = format!("{outer}{}", message.name());
    let fields: Vec<String> = message.field.iter().map(|field| field_of(message, field)).collect();
    let body = if fields.is_empty() { "(empty)".to_owned() } else { fields.join("; ") };
    lines.insert(format!("{name}: {body}"));
    let nested = message.nested_type.iter().filter(|nested| !is_map(nested));
    nested.for_each(|nested| describe(nested, &format!("{name}."), lines));
}

fn field_of(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let mut kind = kind_of(field);
    let entry = message.nested_type.iter().find(|nested| is_map(nested) && kind.ends_with(nested.name()));
    if let Some(entry) = entry {
        kind = format!("map<{},{}>", kind_of(&entry.field[0]), kind_of(&entry.field[1]));
    } else if field.label() == Label::Repeated {
        kind = format!("repeated {kind}");
    }
    let oneof = field.oneof_index.map(|index| message.oneof_decl[index as usize].name());
    let oneof = oneof.map(|name| format!(" (oneof {name})")).unwrap_or_default();
    format!("{}={} {kind}{oneof}", field.name(), field.number())
}

fn is_map(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

fn kind_of(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message => short(field.type_name()),
        Type::Bool => "bool".into(),
        Type::Bytes => "bytes".into(),
        Type::Double => "double".into(),
        Type::Int32 => "int32".into(),
        Type::Int64 => "int64".into(),
        Type::String => "string".into(),
        Type::Uint32 => "uint32".into(),
        Type::Uint64 => "uint64".into(),
        other => format!("{other:?}"),
    }
}

fn short(full_name: &str) -> String {
    let name = full_name.trim_start_matches('.');
    name.strip_prefix("bess.pb.").map_or_else(|| name.replace("google.protobuf.", "google."), str::to_owned)
}
