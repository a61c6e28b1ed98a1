//! Flags laid over what a configuration file says.
//!
//! `tidegate web` and `tidegate dns` are of one service: what the file says of the other is left out.

use super::Asked;
use crate::args::{
    AnswerModeArg, DnsArgs, GsoArg, IdleArg, KeyFormArg, LogFormatArg, ModeArg, PlaceArgs, ProcessArgs,
    WebArgs, XdpModeArg, ZeroCopyArg,
};
use tidegate_base::Duration;
use tidegate_config::{Listen, PackMode, Span};
use tidegate_dns::config::{AnswerMode, KeyForm, ZoneConfig};
use tidegate_service::Config;
use tidegate_service::config::{Gso, Idle, LogFormat, XdpMode, ZeroCopy};

/// The configuration as it was asked for.
pub(super) fn overlay(mut config: Config, asked: &Asked) -> Config {
    overlay_process(&mut config, asked.process());
    match asked {
        Asked::Web(args) => {
            config.dns = None;
            overlay_web(config.web.get_or_insert_default(), args);
        }
        Asked::Dns(args) => {
            config.web = None;
            overlay_dns(config.dns.get_or_insert_default(), args);
        }
        Asked::Serve(_) => {}
    }
    config
}

fn put<T>(field: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *field = value;
    }
}

fn overlay_process(config: &mut Config, args: &ProcessArgs) {
    put(&mut config.idle, args.idle.map(idle));
    put(&mut config.batch, args.batch.map(u32::from));
    put(&mut config.xdp_mode, args.xdp_mode.map(xdp_mode));
    put(&mut config.zero_copy, args.zero_copy.map(zero_copy));
    put(&mut config.gso, args.gso.map(gso));
    put(&mut config.workers, args.workers.map(|count| Some(u32::from(count))));
    let busy_poll = args.busy_poll.map(|us| Span(Duration::from_micros(us.into())));
    put(&mut config.busy_poll, busy_poll.map(Some));
    put(&mut config.metrics.address, args.metrics.map(Some));
    put(&mut config.name, args.name.clone());
    put(&mut config.process.drain, args.drain);
    put(&mut config.process.user, args.user.clone().map(Some));
    put(&mut config.process.sandbox, args.no_sandbox.then_some(false));
    put(&mut config.process.log_format, args.log_format.map(log_format));
}

fn overlay_web(web: &mut tidegate_web::Config, args: &WebArgs) {
    put(&mut web.root, args.root.clone());
    put(&mut web.mode, args.mode.map(pack_mode));
    put(&mut web.memory, args.memory);
    put(&mut web.congestion, args.congestion.clone());
    put(&mut web.access_log.path, args.access_log.clone().map(Some));
    put(&mut web.listen, listen(&args.place));
}

fn overlay_dns(dns: &mut tidegate_dns::Config, args: &DnsArgs) {
    put(&mut dns.mode, args.mode.map(answer_mode));
    put(&mut dns.keys, args.keys.map(key_form));
    put(&mut dns.memory, args.memory);
    put(&mut dns.nsid, args.nsid.clone().map(Some));
    put(&mut dns.rrl.responses_per_second, args.rrl);
    put(&mut dns.query_log.path, args.query_log.clone().map(Some));
    put(&mut dns.listen, listen(&args.place));
    let zone = |arg: &crate::args::ZoneArg| ZoneConfig::of_file(arg.name.clone(), arg.file.clone());
    dns.zones.extend(args.zone.iter().map(zone));
}

fn listen(args: &PlaceArgs) -> Option<Vec<Listen>> {
    let place = |address| Listen { dev: None, address };
    (!args.listen.is_empty()).then(|| args.listen.iter().copied().map(place).collect())
}

const fn answer_mode(arg: AnswerModeArg) -> AnswerMode {
    match arg {
        AnswerModeArg::InPlace => AnswerMode::InPlace,
        AnswerModeArg::Memcopy => AnswerMode::Memcopy,
        AnswerModeArg::PreCopy => AnswerMode::PreCopy,
    }
}

const fn key_form(arg: KeyFormArg) -> KeyForm {
    match arg {
        KeyFormArg::Wire => KeyForm::Wire,
        KeyFormArg::Decompressed => KeyForm::Decompressed,
    }
}

const fn pack_mode(arg: ModeArg) -> PackMode {
    match arg {
        ModeArg::PreCopy => PackMode::PreCopy,
        ModeArg::Memcopy => PackMode::Memcopy,
    }
}

const fn idle(arg: IdleArg) -> Idle {
    match arg {
        IdleArg::Poll => Idle::Poll,
        IdleArg::Adaptive => Idle::Adaptive,
    }
}

const fn log_format(arg: LogFormatArg) -> LogFormat {
    match arg {
        LogFormatArg::Text => LogFormat::Text,
        LogFormatArg::Json => LogFormat::Json,
    }
}

const fn xdp_mode(arg: XdpModeArg) -> XdpMode {
    match arg {
        XdpModeArg::Auto => XdpMode::Auto,
        XdpModeArg::Native => XdpMode::Native,
        XdpModeArg::Generic => XdpMode::Generic,
    }
}

const fn gso(arg: GsoArg) -> Gso {
    match arg {
        GsoArg::Auto => Gso::Auto,
        GsoArg::Off => Gso::Off,
    }
}

const fn zero_copy(arg: ZeroCopyArg) -> ZeroCopy {
    match arg {
        ZeroCopyArg::Auto => ZeroCopy::Auto,
        ZeroCopyArg::On => ZeroCopy::Require,
        ZeroCopyArg::Off => ZeroCopy::Off,
    }
}
