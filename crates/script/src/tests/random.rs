//! Random pipelines, and messages of every kind, drawn from a tape of numbers that proptest can shrink.

use super::*;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind as FieldKind, MapKey, MessageDescriptor, Value};
use tidegate_control::classes::{DRIVERS, MODULES};
use tidegate_control::proto::bess::{
    AddWorkerRequest, CommandRequest, ConnectModulesRequest, CreateModuleRequest, CreatePortRequest,
    traffic_class,
};

/// Names that are awkward to write.
const NAMES: [&str; 12] =
    ["a", "q-1", "_", "worker", "true", "two words", "quo\"te", "back\\slash", "ü", "9lives", "a.b", "x"];

/// Numbers that were drawn before.
pub(super) struct Tape(std::vec::IntoIter<u32>);

impl Tape {
    pub(super) fn new(numbers: Vec<u32>) -> Self {
        Self(numbers.into_iter())
    }

    fn below(&mut self, end: usize) -> usize {
        self.0.next().unwrap_or(0) as usize % end.max(1)
    }

    fn is(&mut self) -> bool {
        self.below(2) == 1
    }

    fn name(&mut self, at: usize) -> String {
        let name = NAMES[self.below(NAMES.len())];
        format!("{name}{at}")
    }

    /// A pipeline as a daemon would show it.
    pub(super) fn pipeline(&mut self) -> PipelineSpec {
        let mut it = PipelineSpec::default();
        for wid in 0..self.below(3) as i64 {
            it.workers.push(AddWorkerRequest { wid, core: self.below(64) as i64, scheduler: String::new() });
        }
        for at in 0..self.below(3) {
            let driver = &DRIVERS[self.below(DRIVERS.len())];
            let Some(arg) = self.any(driver.arg) else { continue };
            let driver = driver.name.to_owned();
            let num_inc_q = [0, 4][self.below(2)];
            it.ports.push(CreatePortRequest {
                name: self.name(at),
                driver,
                num_inc_q,
                arg: Some(arg),
                ..Default::default()
            });
        }
        for at in 0..self.below(8) {
            let class = &MODULES[self.below(MODULES.len())];
            let names_port = ["PortInc", "PortOut", "QueueInc", "QueueOut"].contains(&class.name);
            let Some(arg) = self.any(class.arg).filter(|_| !names_port) else { continue };
            let mclass = class.name.to_owned();
            it.modules.push(CreateModuleRequest { name: self.name(at), mclass, arg: Some(arg) });
        }
        self.add_links(&mut it);
        self.add_commands(&mut it);
        self.add_classes(&mut it);
        it
    }

    fn add_links(&mut self, it: &mut PipelineSpec) {
        for from in &it.modules {
            for to in &it.modules {
                let (out, into) = (gates(&from.mclass).outputs, gates(&to.mclass).inputs);
                if out == 0 || into == 0 || self.below(3) > 0 {
                    continue;
                }
                let (ogate, igate) =
                    (self.below(out.into()).min(9) as u64, self.below(into.into()).min(9) as u64);
                if !it.connections.iter().any(|link| link.m1 == from.name && link.ogate == ogate) {
                    let (m1, m2) = (from.name.clone(), to.name.clone());
                    it.connections.push(ConnectModulesRequest {
                        m1,
                        m2,
                        ogate,
                        igate,
                        skip_default_hooks: false,
                    });
                }
            }
        }
    }

    fn add_commands(&mut self, it: &mut PipelineSpec) {
        for module in &it.modules {
            let class = tidegate_control::classes::module(&module.mclass).unwrap();
            let Some(command) = class.commands.get(self.below(class.commands.len() + 3)) else { continue };
            let Some(arg) = self.any(command.arg) else { continue };
            let (name, cmd) = (module.name.clone(), command.name.to_owned());
            it.commands.push(CommandRequest { name, cmd, arg: Some(arg) });
        }
    }

    fn add_classes(&mut self, it: &mut PipelineSpec) {
        for at in 0..self.below(4) {
            let mut class = self.placed(&it.classes);
            class.name = self.name(at);
            let resource = ["count", "cycle", "packet", "bit"][self.below(4)].to_owned();
            class.policy = traffic::POLICIES[self.below(4)].to_owned();
            if matches!(class.policy.as_str(), "weighted_fair" | "rate_limit") {
                class.resource.clone_from(&resource);
            }
            if class.policy == "rate_limit" {
                class.limit = [(resource.clone(), self.below(1 << 30) as i64)].into();
                class.max_burst = [(resource, self.below(99) as i64)].into();
                if self.is() {
                    class.limit.insert("other".to_owned(), 5);
                }
            }
            it.classes.push(class);
        }
        for module in &it.modules {
            if self.is() {
                let (name, task) = (module.name.clone(), self.below(3) as u64);
                it.tasks.push(TrafficClass {
                    leaf_module_name: name,
                    leaf_module_taskid: task,
                    ..self.placed(&it.classes)
                });
            }
        }
    }

    fn placed(&mut self, above: &[TrafficClass]) -> TrafficClass {
        let mut class = TrafficClass { wid: self.below(3) as i64 - 1, ..Default::default() };
        if !above.is_empty() && self.is() {
            class.parent.clone_from(&above[self.below(above.len())].name);
            class.wid = 0;
        }
        class.arg = match self.below(3) {
            0 => None,
            1 => Some(traffic_class::Arg::Priority(self.below(9) as i64)),
            _ => Some(traffic_class::Arg::Share(self.below(9) as i64)),
        };
        class
    }

    /// A message of that kind that passes its check, if one was drawn.
    fn any(&mut self, kind: Kind) -> Option<Any> {
        let descriptor = reflect::message(&kind.full_name())?;
        let value = prost::Message::encode_to_vec(&self.message(&descriptor, 0));
        let any = Any { type_url: format!("type.googleapis.com/{}", kind.full_name()), value };
        Message::decode(kind, Some(&any)).ok().map(|_| any)
    }

    fn message(&mut self, descriptor: &MessageDescriptor, depth: usize) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        for field in descriptor.fields() {
            // Of a choice the last one stays.
            if self.below(4) > 0 {
                let value = self.field(&field, depth);
                message.set_field(&field, value);
            }
        }
        message
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Value {
        let kind = field.kind();
        if let Some(entry) = kind.as_message().filter(|_| field.is_map()) {
            let pairs = (0..self.below(3)).map(|at| {
                let key = match entry.map_entry_key_field().kind() {
                    FieldKind::String => MapKey::String(self.name(at)),
                    _ => MapKey::U32(at as u32),
                };
                (key, self.value(&entry.map_entry_value_field().kind(), depth))
            });
            return Value::Map(pairs.collect());
        }
        if field.is_list() {
            return Value::List((0..self.below(4)).map(|_| self.value(&kind, depth)).collect());
        }
        self.value(&kind, depth)
    }

    fn value(&mut self, kind: &FieldKind, depth: usize) -> Value {
        let number = self.below(9);
        match kind {
            FieldKind::Bool => Value::Bool(number.is_multiple_of(2)),
            FieldKind::String => Value::String(self.name(number)),
            FieldKind::Bytes => {
                Value::Bytes((0..number).map(|byte| (byte * 31) as u8).collect::<Vec<_>>().into())
            }
            FieldKind::Double => Value::F64([0.0, 0.5, 1.0, 1e-9, 1e21][self.below(5)]),
            FieldKind::Int32 => Value::I32(number as i32),
            FieldKind::Int64 => Value::I64(number as i64 - 1),
            FieldKind::Uint32 => Value::U32(number as u32),
            FieldKind::Uint64 => Value::U64(if number == 8 { u64::MAX } else { number as u64 }),
            FieldKind::Message(nested) if depth < 4 => Value::Message(self.message(nested, depth + 1)),
            other => Value::default_value(other),
        }
    }
}

fn gates(mclass: &str) -> tidegate_control::classes::GateLimits {
    tidegate_control::classes::module(mclass).unwrap().gates
}
