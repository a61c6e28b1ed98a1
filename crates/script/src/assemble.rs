//! Statements become a pipeline: names are looked up, classes, arguments and gates checked.

use crate::argument;
use crate::links;
use crate::problem::Problem;
use crate::reflect;
use crate::source::Span;
use crate::traffic::{self, POLICIES};
use crate::tree::{Arguments, Element, Field, Index, Made, Name, Node, Statement};
use prost_types::Any;
use std::collections::{HashMap, HashSet};
use tidegate_control::classes::{self, DRIVERS, Driver, MODULES, ModuleClass};
use tidegate_control::proto::bess::{
    AddWorkerRequest, CommandRequest, CreateModuleRequest, CreatePortRequest, TrafficClass,
};
use tidegate_control::proto::v1::PipelineSpec;
use tidegate_control::{Kind, Message, WORKERS_MAX, generated_name};

/// Bytes that a name may have.
const NAME_LEN_MAX: usize = 255;
/// What a port says of itself, beside what its driver is told.
const PORT_FIELDS: [&str; 4] = ["num_inc_q", "num_out_q", "size_inc_q", "size_out_q"];

/// What a class's name is the name of.
#[derive(Clone, Copy)]
enum Family {
    Module(&'static ModuleClass),
    Port(&'static Driver),
    Traffic,
}

/// A pipeline that is being put together.
#[derive(Default)]
pub(crate) struct Assembly {
    pub(crate) pipeline: PipelineSpec,
    pub(crate) problems: Vec<Problem>,
    /// Where each name was given, modules first.
    pub(crate) places: Vec<(String, Span)>,
    pub(crate) modules: HashMap<String, (Span, &'static ModuleClass)>,
    pub(crate) ports: HashMap<String, Span>,
    pub(crate) classes: HashMap<String, Span>,
    workers: HashMap<u64, Span>,
    is_whole: bool,
}

impl Assembly {
    /// Reads all statements; what is wrong is in `problems` then. What is not whole may name ports and classes that are
    /// elsewhere.
    pub(crate) fn of(statements: &[Statement], is_whole: bool) -> Self {
        let mut assembly = Self { is_whole, ..Self::default() };
        let names = assembly.declare_all(statements);
        for (statement, names) in statements.iter().zip(&names) {
            match statement {
                Statement::Include(_) => {}
                Statement::Worker(number, arguments) => assembly.worker(*number, arguments),
                Statement::Command(owner, command, arguments) => assembly.command(owner, command, arguments),
                Statement::Chain(elements) => assembly.link_all(elements, names),
            }
        }
        if is_whole {
            assembly.check_ports();
        }
        assembly.order_classes();
        assembly
    }

    pub(crate) fn note<T>(&mut self, outcome: Result<T, Problem>) -> Option<T> {
        outcome.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// Declares what the statements make, and says what each element of each chain is called.
    fn declare_all(&mut self, statements: &[Statement]) -> Vec<Vec<Name>> {
        let elements = statements.iter().filter_map(|statement| match statement {
            Statement::Chain(elements) => Some(elements.as_slice()),
            _ => None,
        });
        let named = elements.flatten().filter_map(|element| match &element.node {
            Node::Made(made) => made.name.as_ref().map(|name| name.text.clone()),
            Node::Named(_) => None,
        });
        let mut taken: HashSet<String> = named.collect();
        let mut names = Vec::new();
        for statement in statements {
            let elements = if let Statement::Chain(elements) = statement { elements.as_slice() } else { &[] };
            let declare = |element| self.declare(element, elements.len(), &mut taken);
            names.push(elements.iter().map(declare).collect());
        }
        names
    }

    fn declare(&mut self, element: &Element, chain_len: usize, taken: &mut HashSet<String>) -> Name {
        let made = match &element.node {
            Node::Named(name) => return name.clone(),
            Node::Made(made) => made,
        };
        let family = family_of(&made.class);
        let span = element.span();
        let name = made.name.clone().unwrap_or_else(|| {
            let short = match family {
                Ok(Family::Module(class)) => class.short_name,
                Ok(Family::Port(driver)) => driver.short_name,
                Ok(Family::Traffic) | Err(_) => &made.class.text,
            };
            let text = generated_name(short, |name| taken.contains(name));
            taken.insert(text.clone());
            Name { text, span }
        });
        let outcome = check_name(&name).and(family).and_then(|family| {
            let is_alone = chain_len == 1 && element.igate.is_none() && element.ogate.is_none();
            match family {
                Family::Module(class) => self.module(&name, class, made),
                _ if !is_alone => Err(links::not_a_module(&name.text, &made.class)),
                Family::Port(driver) => self.port(&name, driver, made),
                Family::Traffic => self.traffic_class(&name, made),
            }
        });
        self.note(outcome);
        name
    }

    fn module(&mut self, name: &Name, class: &'static ModuleClass, made: &Made) -> Result<(), Problem> {
        if let Some((first, _)) = self.modules.insert(name.text.clone(), (name.span, class)) {
            return Err(twice("module", name, first));
        }
        self.places.push((name.text.clone(), name.span));
        let arg = any(class.arg, &made.arguments.fields, made.arguments.span)?;
        let mclass = class.name.to_owned();
        self.pipeline.modules.push(CreateModuleRequest { name: name.text.clone(), mclass, arg: Some(arg) });
        Ok(())
    }

    fn port(&mut self, name: &Name, driver: &'static Driver, made: &Made) -> Result<(), Problem> {
        if let Some(first) = self.ports.insert(name.text.clone(), name.span) {
            return Err(twice("port", name, first));
        }
        self.places.push((name.text.clone(), name.span));
        let is_own = |field: &Field| PORT_FIELDS.contains(&field.name.text.as_str());
        let (own, other): (Vec<Field>, Vec<Field>) = made.arguments.fields.iter().cloned().partition(is_own);
        let queues: CreatePortRequest = record("bess.pb.CreatePortRequest", &own)?;
        let arg = any(driver.arg, &other, made.arguments.span)?;
        let driver = driver.name.to_owned();
        let port = CreatePortRequest { name: name.text.clone(), driver, arg: Some(arg), ..queues };
        self.pipeline.ports.push(port);
        Ok(())
    }

    fn traffic_class(&mut self, name: &Name, made: &Made) -> Result<(), Problem> {
        if let Some(first) = self.classes.insert(name.text.clone(), name.span) {
            return Err(twice("traffic class", name, first));
        }
        self.places.push((name.text.clone(), name.span));
        self.pipeline.classes.push(traffic::class(name, made)?);
        Ok(())
    }

    fn worker(&mut self, number: Index, arguments: &Arguments) {
        if number.number >= WORKERS_MAX {
            let text = format!("there is no worker {}", number.number);
            let help = format!("there may be 0 to {}", WORKERS_MAX - 1);
            return self.problems.push(Problem::new(number.span, text).help(help));
        }
        if let Some(first) = self.workers.insert(number.number, number.span) {
            let text = format!("worker {} is given twice", number.number);
            return self.problems.push(Problem::new(number.span, text).see(first, "first here"));
        }
        if let Some(field) = arguments.fields.iter().find(|field| field.name.text == "wid") {
            let problem = argument::unknown(field, &["core".to_owned(), "scheduler".to_owned()]);
            return self.problems.push(problem);
        }
        let worker: Result<AddWorkerRequest, Problem> = record("bess.pb.AddWorkerRequest", &arguments.fields);
        if let Some(worker) = self.note(worker) {
            let wid = number.number as i64;
            self.pipeline.workers.push(AddWorkerRequest { wid, ..worker });
        }
    }

    fn command(&mut self, owner: &Name, command: &Name, arguments: &Arguments) {
        let Some(class) = self.module_named(owner) else { return };
        if command.text == traffic::ATTACH {
            let task = traffic::task(owner, arguments).and_then(|task| self.check_parent(task, arguments));
            if let Some(task) = self.note(task) {
                self.pipeline.tasks.push(task);
            }
            return;
        }
        let Some(known) = class.command(&command.text) else {
            return self.problems.push(no_command(class, command));
        };
        let arg = any(known.arg, &arguments.fields, arguments.span);
        if let Some(arg) = self.note(arg) {
            let (name, cmd) = (owner.text.clone(), command.text.clone());
            self.pipeline.commands.push(CommandRequest { name, cmd, arg: Some(arg) });
        }
    }

    /// The class of a module; what keeps it from being one is noted.
    pub(crate) fn module_named(&mut self, name: &Name) -> Option<&'static ModuleClass> {
        let found = self.modules.get(&name.text).map(|(_, class)| *class);
        if found.is_none() {
            let problem = links::no_module(self, name);
            self.problems.push(problem);
        }
        found
    }

    fn check_parent(&self, task: TrafficClass, arguments: &Arguments) -> Result<TrafficClass, Problem> {
        if task.parent.is_empty() || self.classes.contains_key(&task.parent) {
            return Ok(task);
        }
        let span = arguments.fields.iter().find(|field| field.name.text == "parent");
        let span = span.map_or(arguments.span, |field| field.value.span);
        Err(no_class(&task.parent, span, &self.classes))
    }

    /// Modules that receive and send name ports that there are.
    fn check_ports(&mut self) {
        for module in &self.pipeline.modules {
            let Some(any) = &module.arg else { continue };
            let port = classes::module(&module.mclass).and_then(|class| {
                match Message::decode(class.arg, Some(any)) {
                    Ok(Message::PortIncArg(arg)) => Some(arg.port),
                    Ok(Message::PortOutArg(arg)) => Some(arg.port),
                    Ok(Message::QueueIncArg(arg)) => Some(arg.port),
                    Ok(Message::QueueOutArg(arg)) => Some(arg.port),
                    _ => None,
                }
            });
            let Some(port) = port.filter(|port| !self.ports.contains_key(port)) else { continue };
            let Some((span, _)) = self.modules.get(&module.name) else { continue };
            let problem = Problem::new(*span, format!("there is no port `{port}`"));
            let near = tidegate_config::nearest(&port, self.ports.keys().map(String::as_str));
            let help = near.map_or_else(
                || format!("make it: {}::PMDPort(vdev=net_null0)", crate::literal::quote(&port)),
                |near| format!("did you mean `{near}`?"),
            );
            self.problems.push(problem.help(help));
        }
    }

    /// Parents before children, and otherwise as they were given.
    fn order_classes(&mut self) {
        let mut left: Vec<TrafficClass> = std::mem::take(&mut self.pipeline.classes);
        let known: HashSet<String> = left.iter().map(|class| class.name.clone()).collect();
        while !left.is_empty() {
            let placed: HashSet<&str> =
                self.pipeline.classes.iter().map(|class| class.name.as_str()).collect();
            let is_ready = |class: &TrafficClass| {
                placed.contains(class.parent.as_str()) || !known.contains(&class.parent)
            };
            let Some(at) = left.iter().position(is_ready) else { break };
            let class = left.remove(at);
            if self.is_whole && !class.parent.is_empty() && !known.contains(&class.parent) {
                let span = self.classes[&class.name];
                self.problems.push(no_class(&class.parent, span, &self.classes));
            }
            self.pipeline.classes.push(class);
        }
        if let Some(class) = left.first() {
            let text = format!("traffic class `{}` hangs below itself", class.name);
            self.problems.push(Problem::new(self.classes[&class.name], text).help("leave one `parent` out"));
        }
    }
}

/// The message of that kind with these fields, checked as the daemon checks it.
pub(crate) fn any(kind: Kind, fields: &[Field], span: Span) -> Result<Any, Problem> {
    let full_name = kind.full_name();
    let Some(descriptor) = reflect::message(&full_name) else {
        return Err(Problem::new(span, format!("there is no message {full_name}")));
    };
    let message = argument::message(&descriptor, fields)?;
    let value = prost::Message::encode_to_vec(&message);
    let any = Any { type_url: format!("type.googleapis.com/{full_name}"), value };
    match Message::decode(kind, Some(&any)) {
        Ok(_) => Ok(any),
        Err(fault) => {
            let prefix = format!("{kind}: ");
            Err(Problem::new(span, fault.text.strip_prefix(&prefix).unwrap_or(&fault.text)))
        }
    }
}

fn record<M: prost::Message + Default>(full_name: &str, fields: &[Field]) -> Result<M, Problem> {
    let Some(descriptor) = reflect::message(full_name) else { return Ok(M::default()) };
    Ok(argument::message(&descriptor, fields)?.transcode_to().unwrap_or_default())
}

fn family_of(class: &Name) -> Result<Family, Problem> {
    let name = class.text.as_str();
    if let Some(class) = classes::module(name) {
        return Ok(Family::Module(class));
    }
    if let Some(driver) = classes::port(name) {
        return Ok(Family::Port(driver));
    }
    if POLICIES.contains(&name) {
        return Ok(Family::Traffic);
    }
    let known = MODULES.iter().map(|class| class.name).chain(DRIVERS.iter().map(|driver| driver.name));
    let problem = Problem::new(class.span, format!("there is no class `{name}`"));
    Err(match tidegate_config::nearest(name, known.chain(POLICIES)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help("tidegate show mclasses and tidegate show drivers list them"),
    })
}

fn check_name(name: &Name) -> Result<(), Problem> {
    let wrong = if name.text.is_empty() {
        "is missing".to_owned()
    } else if name.text.len() > NAME_LEN_MAX {
        format!("is {} bytes long: {NAME_LEN_MAX} are the most", name.text.len())
    } else if name.text.chars().any(char::is_control) {
        "has control characters in it".to_owned()
    } else {
        return Ok(());
    };
    Err(Problem::new(name.span, format!("the name {wrong}")))
}

fn twice(what: &str, name: &Name, first: Span) -> Problem {
    let problem = Problem::new(name.span, format!("there are two {what}s `{}`", name.text));
    problem.see(first, "the first one").help("give one of them another name")
}

fn no_class(name: &str, span: Span, classes: &HashMap<String, Span>) -> Problem {
    let problem = Problem::new(span, format!("there is no traffic class `{name}`"));
    match tidegate_config::nearest(name, classes.keys().map(String::as_str)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help(format!("make it: {}::round_robin()", crate::literal::quote(name))),
    }
}

fn no_command(class: &ModuleClass, command: &Name) -> Problem {
    let problem = Problem::new(command.span, format!("{} has no command `{}`", class.name, command.text));
    let known: Vec<&str> = class.commands.iter().map(|known| known.name).chain([traffic::ATTACH]).collect();
    match tidegate_config::nearest(&command.text, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help(format!("there are {}", known.join(", "))),
    }
}
