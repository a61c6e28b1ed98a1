//! Commands of modules, by class and name.

use super::build::*;
use super::field::gates;
use super::refused;
use crate::plant::ModuleWish;
use std::any::Any;
use tidegate_control::classes::ModuleCommand;
use tidegate_control::proto::bess;
use tidegate_control::{Errno, Fault, Message};
use tidegate_modules::header::*;
use tidegate_modules::queue::{Queue, QueueParams, QueueStatus};
use tidegate_modules::split::*;
use tidegate_modules::*;
use tidegate_pipeline::Module;

type Answer = Result<Option<Message>, Fault>;

/// Runs a command on a module.
pub(crate) fn command(
    wish: &ModuleWish,
    module: &mut dyn Module,
    command: &'static ModuleCommand,
    arg: Message,
) -> Answer {
    let module: &mut dyn Any = module;
    match (wish.class.name, command.name, arg) {
        ("PortInc" | "PortOut", "get_initial_arg", _) => return Ok(Some(wish.arg.clone())),
        ("SetMetadata", "get_initial_arg", _) => return Ok(Some(wish.arg.clone())),
        ("Source", "set_pkt_size", Message::SourceCommandSetPktSizeArg(arg)) => {
            let len = source_len(arg.pkt_size)?;
            cast::<Source>(module)?.set_frame_len(len);
        }
        ("Source", "set_burst", Message::SourceCommandSetBurstArg(arg)) => {
            let burst = burst(arg.burst)?;
            cast::<Source>(module)?.set_burst(burst);
        }
        ("ArpResponder", "add", Message::ArpResponderArg(arg)) => {
            let (ip, mac) = arp_entry(&arg)?;
            cast::<ArpResponder>(module)?.add(ip, mac).map_err(refused)?;
        }
        ("Dump", "set_interval", Message::DumpArg(arg)) => {
            let interval = dump_interval(arg.interval)?;
            cast::<Dump>(module)?.set_interval(interval).map_err(refused)?;
        }
        ("Queue", _, arg) => return queue_command(cast::<Queue>(module)?, command, arg),
        (_, _, arg) => return header_command(wish, module, command, arg),
    }
    Ok(None)
}

fn queue_command(queue: &mut Queue, command: &'static ModuleCommand, arg: Message) -> Answer {
    let record = |it: QueueParams| {
        bess::QueueArg { size: it.size, prefetch: it.prefetch, backpressure: it.backpressure }.into()
    };
    match (command.name, arg) {
        ("set_burst", Message::QueueCommandSetBurstArg(arg)) => {
            queue.set_burst(arg.burst).map_err(refused)?
        }
        ("set_size", Message::QueueCommandSetSizeArg(arg)) => queue.set_size(arg.size).map_err(refused)?,
        ("set_runtime_config", Message::QueueArg(arg)) => {
            queue.set_params(queue_params(&arg)).map_err(refused)?;
        }
        ("get_initial_arg", _) => return Ok(Some(record(queue.initial_params()))),
        ("get_runtime_config", _) => return Ok(Some(record(queue.params()))),
        ("get_status", _) => {
            let QueueStatus { count, size, enqueued, dequeued, dropped } = queue.status();
            let status = bess::QueueCommandGetStatusResponse { count, size, enqueued, dequeued, dropped };
            return Ok(Some(status.into()));
        }
        (name, _) => return Err(Fault::unsupported(format!("Queue has no command {name} here yet"))),
    }
    Ok(None)
}

fn header_command(
    wish: &ModuleWish,
    module: &mut dyn Any,
    command: &'static ModuleCommand,
    arg: Message,
) -> Answer {
    match (wish.class.name, command.name, arg) {
        ("MPLSPop", "set", Message::MplsPopArg(arg)) => {
            cast::<MplsPop>(module)?.set(mpls_params(&arg)).map_err(refused)?;
        }
        ("VLANPush", "set_tci", Message::VlanPushArg(arg)) => {
            cast::<VlanPush>(module)?.set_tci(arg.tci).map_err(refused)?;
        }
        ("RandomUpdate", "add", Message::RandomUpdateArg(arg)) => {
            let fields = random_fields(&arg)?;
            cast::<RandomUpdate>(module)?.add(&fields).map_err(refused)?;
        }
        ("RandomUpdate", "clear", _) => cast::<RandomUpdate>(module)?.clear(),
        ("Rewrite", "add", Message::RewriteArg(arg)) => {
            cast::<Rewrite>(module)?.add(&arg.templates).map_err(refused)?;
        }
        ("Rewrite", "clear", _) => cast::<Rewrite>(module)?.clear(),
        ("Update", "add", Message::UpdateArg(arg)) => {
            let fields = update_fields(&arg)?;
            cast::<Update>(module)?.add(&fields).map_err(refused)?;
        }
        ("Update", "clear", _) => cast::<Update>(module)?.clear(),
        (_, _, arg) => return split_command(wish, module, command, arg),
    }
    Ok(None)
}

fn split_command(
    wish: &ModuleWish,
    module: &mut dyn Any,
    command: &'static ModuleCommand,
    arg: Message,
) -> Answer {
    match (wish.class.name, command.name, arg) {
        ("HashLB", "set_mode", Message::HashLbCommandSetModeArg(arg)) => {
            let mode = hash_mode(&arg.mode, &arg.fields)?;
            cast::<HashLb>(module)?.set_mode(&mode).map_err(refused)?;
        }
        ("HashLB", "set_gates", Message::HashLbCommandSetGatesArg(arg)) => {
            cast::<HashLb>(module)?.set_gates(&gates(&arg.gates)?).map_err(refused)?;
        }
        ("RandomSplit", "set_droprate", Message::RandomSplitCommandSetDroprateArg(arg)) => {
            cast::<RandomSplit>(module)?.set_drop_rate(arg.drop_rate).map_err(refused)?;
        }
        ("RandomSplit", "set_gates", Message::RandomSplitCommandSetGatesArg(arg)) => {
            cast::<RandomSplit>(module)?.set_gates(&gates(&arg.gates)?).map_err(refused)?;
        }
        ("Replicate", "set_gates", Message::ReplicateCommandSetGatesArg(arg)) => {
            cast::<Replicate>(module)?.set_gates(&gates(&arg.gates)?).map_err(refused)?;
        }
        ("RoundRobin", "set_gates", Message::RoundRobinCommandSetGatesArg(arg)) => {
            cast::<RoundRobin>(module)?.set_gates(&gates(&arg.gates)?).map_err(refused)?;
        }
        ("RoundRobin", "set_mode", Message::RoundRobinCommandSetModeArg(arg)) => {
            let mode = round_robin_mode(&arg.mode)?;
            cast::<RoundRobin>(module)?.set_mode(mode);
        }
        ("WorkerSplit", "reset", Message::WorkerSplitArg(arg)) => {
            cast::<WorkerSplit>(module)?.reset(&worker_gates(&arg)).map_err(refused)?;
        }
        (class, name, _) => {
            return Err(Fault::unsupported(format!("{class} has no command {name} here yet")));
        }
    }
    Ok(None)
}

/// Frames a turn, 1 to 32.
fn burst(burst: u64) -> Result<usize, Fault> {
    match burst {
        1..=32 => Ok(burst as usize),
        _ => Err(Fault::invalid(format!("a burst of {burst} is none: give 1 to 32"))),
    }
}

fn cast<M: Module>(module: &mut dyn Any) -> Result<&mut M, Fault> {
    let kind = || Fault::new(Errno::EIO, "the module is not what its class says, please report it");
    module.downcast_mut().ok_or_else(kind)
}
