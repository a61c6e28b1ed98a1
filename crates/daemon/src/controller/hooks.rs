//! Hooks on gates: put on, taken off, set back.

use crate::Daemon;
use crate::hooks::{Fifo, Format, PCAPNG, Patience, Site, TCPDUMP, TRACK, Tap, Track};
use std::sync::{Arc, Mutex};
use tidegate_control::classes::HookClass;
use tidegate_control::controller::{GateHooks, HookCall, HookSpec, Outcome, ResumeHook};
use tidegate_control::proto::bess::{self, GateHookInfo, gate_hook_info::Gate};
use tidegate_control::{Errno, Fault, Message, generated_name};
use tidegate_pipeline::GateSide;

fn info(class: &str, name: &str, (module, side): &Site, arg: &Message) -> GateHookInfo {
    GateHookInfo {
        class_name: class.to_owned(),
        hook_name: name.to_owned(),
        module_name: module.clone(),
        gate: Some(match side {
            GateSide::Input(gate) => Gate::Igate(*gate as i64),
            GateSide::Output(gate) => Gate::Ogate(*gate as i64),
        }),
        arg: Some(arg.to_any()),
    }
}

/// The FIFO that a capture's argument names.
fn open(format: Format, arg: &Message) -> Outcome<Fifo> {
    let (path, defer, reconnect) = match arg {
        Message::TcpdumpArg(arg) => (&arg.fifo, arg.defer, arg.reconnect),
        Message::PcapngArg(arg) => (&arg.fifo, arg.defer, arg.reconnect),
        _ => return Err(Fault::invalid("a capture wants the path of a FIFO")),
    };
    Fifo::open(path, format.head(), Patience { defer, reconnect })
}

impl Daemon {
    /// The connected gates that are meant; `ENOENT` if there is none.
    fn meant(&self, hook: &HookSpec) -> Outcome<Vec<Site>> {
        if let Some(module) = &hook.module {
            self.wish(module)?;
        }
        let sites = self.sites(hook.module.as_deref(), hook.direction, hook.gate);
        if sites.is_empty() {
            return Err(Fault::missing("no such gate is connected: connect it first"));
        }
        Ok(sites)
    }

    /// Brings workers to hooks that have changed.
    fn settle_hooks(&mut self) -> Outcome {
        self.change_to(self.plant.clone())
    }

    fn put_tap(&mut self, format: Format, hook: &HookSpec, arg: Message) -> Outcome<String> {
        let sites = self.meant(hook)?;
        let [site] = &sites[..] else {
            return Err(Fault::invalid("one FIFO takes the packets of one gate: name module and gate"));
        };
        let class = format.class();
        if self.taps.iter().any(|tap| tap.site == *site && tap.format == format) {
            let text = format!("that gate of {} has a {class} already: take it off first", site.0);
            return Err(Fault::new(Errno::EEXIST, text));
        }
        let is_taken = |name: &str| self.taps.iter().any(|tap| tap.name == name);
        let name = hook.name.clone().unwrap_or_else(|| generated_name(hook.class.short_name, is_taken));
        let fifo = Arc::new(Mutex::new(open(format, &arg)?));
        self.taps.push(Tap { name: name.clone(), site: site.clone(), format, arg, fifo });
        self.settle_hooks().inspect_err(|_| drop(self.taps.pop()))?;
        Ok(name)
    }

    fn take_taps(&mut self, format: Format, hook: &HookSpec) -> Outcome {
        let sites = self.meant(hook)?;
        let is_meant = |tap: &Tap| {
            let is_named = hook.name.as_ref().is_none_or(|name| *name == tap.name);
            is_named && tap.format == format && sites.contains(&tap.site)
        };
        let before = self.taps.len();
        self.taps.retain(|tap| !is_meant(tap));
        if self.taps.len() == before {
            return Err(Fault::missing("there is no such hook there"));
        }
        self.settle_hooks()
    }

    /// Counts from now on, where nothing counted; where something did, bytes from now on or no longer.
    fn put_tracks(&mut self, hook: &HookSpec, arg: &Message) -> Outcome<String> {
        let Message::TrackArg(bess::TrackArg { bits }) = *arg else {
            return Err(Fault::invalid("Track wants to know whether to count bits"));
        };
        let sites = self.meant(hook)?;
        let totals = self.totals()?;
        let is_taken = |name: &str| self.tracks.values().any(|track| track.name == name);
        let name = hook.name.clone().unwrap_or_else(|| generated_name(hook.class.short_name, is_taken));
        let mut answer = name.clone();
        for site in sites {
            let base = totals.get(&site.0).map_or_else(Default::default, |total| total.count_at(site.1));
            let track = self.tracks.entry(site).or_insert_with(|| Track { name: name.clone(), bits, base });
            track.bits = bits;
            answer.clone_from(&track.name);
        }
        self.settle_hooks()?;
        Ok(answer)
    }

    fn take_tracks(&mut self, hook: &HookSpec) -> Outcome {
        let sites = self.meant(hook)?;
        let before = self.tracks.len();
        self.tracks.retain(|site, track| {
            !sites.contains(site) || hook.name.as_ref().is_some_and(|name| *name != track.name)
        });
        if self.tracks.len() == before {
            return Err(Fault::missing("there is no such hook there"));
        }
        self.settle_hooks()
    }

    /// Has counting start again.
    fn reset_tracks(&mut self, hook: &HookSpec) -> Outcome {
        let sites = self.meant(hook)?;
        let totals = self.totals()?;
        let mut is_any = false;
        for (site, track) in self.tracks.iter_mut().filter(|(site, _)| sites.contains(site)) {
            if hook.name.as_ref().is_none_or(|name| *name == track.name) {
                track.base =
                    totals.get(&site.0).map_or_else(Default::default, |total| total.count_at(site.1));
                is_any = true;
            }
        }
        if is_any { Ok(()) } else { Err(Fault::missing("there is no such hook there")) }
    }
}

impl GateHooks for Daemon {
    fn has_hook(&self, _: &'static HookClass) -> bool {
        true
    }

    fn hooks(&mut self) -> Outcome<Vec<GateHookInfo>> {
        let tracks = self
            .tracks
            .iter()
            .map(|(site, track)| info(TRACK, &track.name, site, &bess::TrackArg { bits: track.bits }.into()));
        let taps = self.taps.iter().map(|tap| info(tap.format.class(), &tap.name, &tap.site, &tap.arg));
        Ok(tracks.chain(taps).collect())
    }

    fn enable_hook(&mut self, hook: HookSpec, arg: Message) -> Outcome<String> {
        match hook.class.name {
            TCPDUMP => self.put_tap(Format::Pcap, &hook, arg),
            PCAPNG => self.put_tap(Format::PcapNg, &hook, arg),
            _ => self.put_tracks(&hook, &arg),
        }
    }

    fn disable_hook(&mut self, hook: HookSpec) -> Outcome {
        match hook.class.name {
            TCPDUMP => self.take_taps(Format::Pcap, &hook),
            PCAPNG => self.take_taps(Format::PcapNg, &hook),
            _ => self.take_tracks(&hook),
        }
    }

    fn run_hook_command(&mut self, call: HookCall) -> Outcome<Option<Message>> {
        match (call.hook.class.name, call.command.0) {
            (TRACK, "reset") => self.reset_tracks(&call.hook).map(|()| None),
            (class, command) => Err(Fault::unsupported(format!("{class} has no command {command} here"))),
        }
    }

    fn set_resume_hook(&mut self, _: ResumeHook, enable: bool) -> Outcome {
        if enable {
            return Ok(());
        }
        Err(Fault::unsupported("attributes and tasks are placed at every change: that cannot be turned off"))
    }
}
