//! Hooks on gates: counts are always there, `TcpDump` is put on and taken off.

use crate::Daemon;
use crate::hooks::{FifoTap, TCPDUMP, Tap};
use tidegate_control::classes::HookClass;
use tidegate_control::controller::{GateHooks, HookCall, HookSpec, Outcome, ResumeHook};
use tidegate_control::proto::bess::{self, GateHookInfo, gate_hook_info::Gate};
use tidegate_control::{Errno, Fault, Message, generated_name};
use tidegate_pipeline::GateSide;

fn gate_of(side: GateSide) -> Gate {
    match side {
        GateSide::Input(gate) => Gate::Igate(gate as i64),
        GateSide::Output(gate) => Gate::Ogate(gate as i64),
    }
}

impl Daemon {
    fn put_tap(&mut self, name: &str, arg: &Message, module: &str, side: GateSide) -> Outcome {
        let Message::TcpdumpArg(wanted) = arg else {
            return Err(Fault::invalid("TcpDump wants the path of a FIFO"));
        };
        let wid = self.placement.modules.get(module).and_then(|workers| workers.first()).copied();
        let running = wid.and_then(|wid| self.workers.get(&wid));
        let Some(running) = running else {
            return Err(Fault::new(
                Errno::EBUSY,
                format!("no task reaches {module} yet: nothing would be seen"),
            ));
        };
        let tap = FifoTap::open(&wanted.fifo)?;
        let owner = module.to_owned();
        if !running.ask(move |worker| worker.add_hook(&owner, side, Box::new(tap)))? {
            return Err(Fault::missing(format!("that gate of {module} is not connected")));
        }
        let tap = Tap { name: name.to_owned(), module: module.to_owned(), side, arg: arg.clone() };
        self.taps.push(tap);
        Ok(())
    }

    fn take_taps(&mut self, module: &str, side: GateSide) -> Outcome {
        for wid in self.placement.modules.get(module).into_iter().flatten() {
            let Some(running) = self.workers.get(wid) else { continue };
            let owner = module.to_owned();
            running.ask(move |worker| worker.remove_hooks(&owner, side, TCPDUMP))?;
        }
        self.taps.retain(|tap| tap.module != module || tap.side != side);
        Ok(())
    }
}

impl GateHooks for Daemon {
    fn has_hook(&self, class: &'static HookClass) -> bool {
        class.name != "PcapNg"
    }

    fn hooks(&mut self) -> Outcome<Vec<GateHookInfo>> {
        let track = self.plant.links.keys().map(|(module, gate)| GateHookInfo {
            class_name: "Track".to_owned(),
            hook_name: "track0".to_owned(),
            module_name: module.clone(),
            gate: Some(Gate::Ogate((*gate).into())),
            arg: Some(Message::from(bess::TrackArg { bits: false }).to_any()),
        });
        let taps = self.taps.iter().map(|tap| GateHookInfo {
            class_name: TCPDUMP.to_owned(),
            hook_name: tap.name.clone(),
            module_name: tap.module.clone(),
            gate: Some(gate_of(tap.side)),
            arg: Some(tap.arg.to_any()),
        });
        Ok(track.chain(taps).collect())
    }

    fn enable_hook(&mut self, hook: HookSpec, arg: Message) -> Outcome<String> {
        let is_taken = |name: &str| self.taps.iter().any(|tap| tap.name == name);
        let name = hook.name.clone().unwrap_or_else(|| generated_name(hook.class.short_name, is_taken));
        if let Some(module) = &hook.module {
            self.wish(module)?;
        }
        if hook.class.name != TCPDUMP {
            return Ok(name);
        }
        let sides = self.sides(hook.module.as_deref(), hook.direction, hook.gate);
        match &sides[..] {
            [] => Err(Fault::missing("no such gate is connected: connect it first")),
            [(module, side)] => {
                if self.taps.iter().any(|tap| tap.module == *module && tap.side == *side) {
                    let text = format!("that gate of {module} has a TcpDump already: take it off first");
                    return Err(Fault::new(Errno::EEXIST, text));
                }
                self.put_tap(&name, &arg, module, *side)?;
                Ok(name)
            }
            _ => Err(Fault::invalid("one FIFO takes the packets of one gate: name module and gate")),
        }
    }

    fn disable_hook(&mut self, hook: HookSpec) -> Outcome {
        if let Some(module) = &hook.module {
            self.wish(module)?;
        }
        if hook.class.name != TCPDUMP {
            return Ok(());
        }
        let sides = self.sides(hook.module.as_deref(), hook.direction, hook.gate);
        let named = |tap: &Tap| hook.name.as_ref().is_none_or(|name| *name == tap.name);
        let meant =
            self.taps.iter().filter(|tap| named(tap) && sides.contains(&(tap.module.clone(), tap.side)));
        let meant: Vec<(String, GateSide)> = meant.map(|tap| (tap.module.clone(), tap.side)).collect();
        if meant.is_empty() {
            return Err(Fault::missing("there is no such hook there"));
        }
        meant.iter().try_for_each(|(module, side)| self.take_taps(module, *side))
    }

    fn run_hook_command(&mut self, call: HookCall) -> Outcome<Option<Message>> {
        let HookCall { hook, command, .. } = call;
        Err(Fault::unsupported(format!(
            "{} has no command {} here: counters only rise",
            hook.class.name, command.0
        )))
    }

    fn set_resume_hook(&mut self, _: ResumeHook, enable: bool) -> Outcome {
        if enable {
            return Ok(());
        }
        Err(Fault::unsupported("attributes and tasks are placed at every change: that cannot be turned off"))
    }
}
