//! `tidegate command`: tells a module something, or asks it.

use super::{json, print, reach};
use crate::args::CommandArgs;
use crate::exit::wrong_input;
use crate::say;
use anyhow::{Result, anyhow};
use tidegate_control::classes::{self, ModuleClass, ModuleCommand};
use tidegate_control::proto::bess::{CommandRequest, GetModuleInfoRequest};
use tidegate_script::{join_words, parse_fields, print_fields};

/// Runs the command and prints its answer, a field a line.
pub(crate) fn command(args: &CommandArgs) -> Result<()> {
    let mut client = reach(&args.address.address)?;
    let name = args.module.clone();
    let mclass = client.get_module_info(GetModuleInfoRequest { name: name.clone() })?.mclass;
    let class = classes::module(&mclass);
    let class = class.ok_or_else(|| anyhow!("the class {mclass} of {name} is not known to this version"))?;
    let command = class.command(&args.command).ok_or_else(|| no_command(class, &args.command))?;
    let arg = parse_fields(command.arg, "arguments", &join_words(&args.words));
    let arg = arg.map_err(|mistakes| wrong_input(mistakes.to_string()))?;
    let request = CommandRequest { name, cmd: args.command.clone(), arg: Some(arg) };
    match client.module_command(request)?.data {
        None => Ok(()),
        Some(data) if args.json => say(&serde_json::to_string_pretty(&json::any(&data))?),
        Some(data) => {
            print(&print_fields(&data)?.iter().map(|field| format!("{field}\n")).collect::<String>())
        }
    }
}

fn no_command(class: &ModuleClass, name: &str) -> anyhow::Error {
    let known: Vec<&str> = class.commands.iter().map(|command: &ModuleCommand| command.name).collect();
    let known =
        if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    wrong_input(format!("{} has no command {name}: {known}", class.name))
}
