//! `tidegate show`: what a daemon runs, in columns or as JSON.

mod catalogue;
mod module;
mod places;
mod whole;

use super::{print, reach};
use crate::args::{ShowArgs, Shown};
use crate::exit::wrong_input;
use anyhow::Result;
use serde_json::Value;
use tidegate_control::Client;

/// The same thing for people and for programs.
pub(super) struct View {
    pub(super) text: String,
    pub(super) json: Value,
}

/// Prints what was asked for.
pub(crate) fn show(args: &ShowArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    let view = look(&mut client, args)?;
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&view.json)?))
    } else {
        print(&view.text)
    }
}

fn look(client: &mut Client, args: &ShowArgs) -> Result<View> {
    let name = args.name.as_deref();
    match args.what {
        Shown::Version => whole::version(client, &args.address.address),
        Shown::Modules => match name {
            Some(name) => module::one(client, name),
            None => module::all(client),
        },
        Shown::Ports => places::ports(client, name),
        Shown::Classes => places::classes(client, name),
        Shown::Workers => places::workers(client, name),
        Shown::Pipeline => whole::pipeline(client),
        Shown::Metadata => whole::metadata(client, name),
        Shown::Services => whole::services(client, name),
        Shown::Mclasses => match name {
            Some(name) => catalogue::module_class(client, name),
            None => catalogue::module_classes(client),
        },
        Shown::Drivers => match name {
            Some(name) => catalogue::driver(client, name),
            None => catalogue::drivers(client),
        },
        Shown::Hooks => whole::hooks(client, name),
        Shown::Pools => whole::pools(client),
    }
}

/// Of `things`, the one that is called `wanted`, or all if none is.
fn only<T>(what: &str, things: Vec<T>, wanted: Option<&str>, name: impl Fn(&T) -> String) -> Result<Vec<T>> {
    let Some(wanted) = wanted else { return Ok(things) };
    let names: Vec<String> = things.iter().map(&name).collect();
    let found: Vec<T> = things.into_iter().filter(|thing| name(thing) == wanted).collect();
    if found.is_empty() {
        let near = tidegate_config::nearest(wanted, names.iter().map(String::as_str));
        let help = match near {
            Some(near) => format!("did you mean {near}?"),
            None if names.is_empty() => "there is none at all".to_owned(),
            None => format!("there are {}", names.join(", ")),
        };
        return Err(wrong_input(format!("there is no {what} {wanted}: {help}")));
    }
    Ok(found)
}

/// Messages as a JSON list.
fn list<M: prost::Message + prost::Name>(messages: &[M]) -> Value {
    messages.iter().map(super::json::message).collect()
}
