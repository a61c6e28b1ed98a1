//! Messages of the protocol as JSON: fields by their names there, numbers as numbers, bytes in hexadecimal.

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, Value as Field};
use prost_types::Any;
use serde_json::{Map, Value, json};
use tidegate_script::reflect;

/// A message with all its fields.
pub(crate) fn message<M: prost::Message + prost::Name>(message: &M) -> Value {
    let Some(descriptor) = reflect::message(&M::full_name()) else { return Value::Null };
    let mut dynamic = DynamicMessage::new(descriptor);
    match dynamic.transcode_from(message) {
        Ok(()) => record(&dynamic),
        Err(_) => Value::Null,
    }
}

/// What an `Any` holds, with its type.
pub(crate) fn any(any: &Any) -> Value {
    let message = reflect::message_of(any);
    let message = message.and_then(|message| DynamicMessage::decode(message, any.value.as_slice()).ok());
    let mut value = message.as_ref().map_or_else(|| json!({}), record);
    if let Value::Object(fields) = &mut value {
        fields.insert("@type".to_owned(), json!(any.type_url));
    }
    value
}

fn record(message: &DynamicMessage) -> Value {
    let descriptor = prost_reflect::ReflectMessage::descriptor(message);
    if descriptor.full_name() == "google.protobuf.Any" {
        return message.transcode_to().map_or(Value::Null, |held: Any| any(&held));
    }
    let mut fields = Map::new();
    for field in descriptor.fields() {
        // An absent message, and what was not chosen, is left out; a number that is 0 is not.
        if field.name() != "error" && (!field.supports_presence() || message.has_field(&field)) {
            fields.insert(field.name().to_owned(), of_field(&field, &message.get_field(&field)));
        }
    }
    Value::Object(fields)
}

fn of_field(field: &FieldDescriptor, value: &Field) -> Value {
    match (field.kind(), value) {
        (Kind::Enum(names), Field::EnumNumber(number)) => {
            names.get_value(*number).map_or_else(|| json!(number), |name| json!(name.name()))
        }
        (_, value) => of_value(value),
    }
}

fn of_value(value: &Field) -> Value {
    match value {
        Field::Bool(value) => json!(value),
        Field::I32(number) | Field::EnumNumber(number) => json!(number),
        Field::I64(number) => json!(number),
        Field::U32(number) => json!(number),
        Field::U64(number) => json!(number),
        Field::F32(number) => json!(number),
        Field::F64(number) => json!(number),
        Field::String(text) => json!(text),
        Field::Bytes(bytes) => json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Field::Message(message) => record(message),
        Field::List(items) => items.iter().map(of_value).collect(),
        Field::Map(pairs) => {
            Value::Object(pairs.iter().map(|(key, value)| (name(key), of_value(value))).collect())
        }
    }
}

fn name(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::Message;
    use tidegate_control::proto::{bess, v1};

    #[test]
    fn messages_within_messages_are_opened() {
        let arg = Message::from(bess::QueueArg { size: 64, ..Default::default() }).to_any();
        let module = bess::CreateModuleRequest { name: "q".into(), mclass: "Queue".into(), arg: Some(arg) };
        let expected = json!({"name": "q", "mclass": "Queue", "arg": {
            "@type": "type.googleapis.com/bess.pb.QueueArg", "size": 64, "prefetch": false, "backpressure": false,
        }});
        assert_eq!(message(&module), expected);
        let attribute = v1::Attribute { name: "a".into(), len: 2, access: 1, offset: None, scope: 3 };
        let expected = json!({"name": "a", "len": 2, "access": "ACCESS_READ", "scope": 3});
        assert_eq!(message(&attribute), expected);
    }
}
