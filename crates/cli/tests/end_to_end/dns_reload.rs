//! Zones that change while they are asked for.

use crate::scene::{lone_machine, output, run};
use crate::service::{Service, TIDEGATE};
use crate::zone::{Asker, Zone, text};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidegate_sys::netns::Netns;

fn serial(machine: &Netns) -> Option<u32> {
    machine.run(|| Asker::of("10.77.0.2:53").serial()).expect("entered")
}

fn await_serial(machine: &Netns, service: &Service, wanted: u32) {
    let start = Instant::now();
    while serial(machine) != Some(wanted) {
        assert!(start.elapsed() < Duration::from_secs(10), "no serial {wanted}: {}", service.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_new_version_is_served_once_it_is_there_or_asked_for() {
    let (machine, zone) = (lone_machine(), Zone::new(1));
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    assert_eq!(serial(&machine), Some(1));
    zone.write(&text(2));
    await_serial(&machine, &service, 2);
    let said = run(&machine, TIDEGATE, &["dns", "reload", "--pid", &service.pid().to_string()]);
    assert_eq!(said.trim(), "zone example.org.: serial 2");
    let stats = run(&machine, TIDEGATE, &["stats", "--json", "--pid", &service.pid().to_string()]);
    assert!(stats.contains("\"udp_queries\"") && stats.contains("\"example.org.\""), "{stats}");
    assert!(service.terminate().success());
}

#[test]
fn without_watching_a_signal_or_the_command_reloads() {
    let (machine, zone) = (lone_machine(), Zone::new(1));
    let file = crate::service::tempfile("toml");
    let config = format!("[dns]\nwatch = false\n[[dns.zone]]\nfile = \"{}\"\n", zone.file());
    std::fs::write(&file, config).expect("written");
    let service = Service::run(&machine, "serve", &["--config", file.to_str().expect("a path in ASCII")]);
    zone.write(&text(22));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(serial(&machine), Some(1));
    service.signal("HUP");
    await_serial(&machine, &service, 22);
    zone.write(&text(333));
    let pid = service.pid().to_string();
    let said = run(&machine, TIDEGATE, &["dns", "reload", "Example.ORG", "--pid", &pid]);
    assert_eq!((said.trim(), serial(&machine)), ("zone example.org.: serial 333", Some(333)));
    let absent = output(&machine, TIDEGATE, &["dns", "reload", "example.net", "--pid", &pid]);
    assert!(!absent.status.success());
    assert!(service.terminate().success());
    let _ = std::fs::remove_file(&file);
}

#[test]
fn a_broken_zone_leaves_the_old_one_and_says_where() {
    let (machine, zone) = (lone_machine(), Zone::new(5));
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    zone.write(&format!("{}oops IN A not-an-address\n", text(6)));
    service.await_log(&format!("{}:9: ", zone.file()));
    assert_eq!(serial(&machine), Some(5));
    let reload = output(&machine, TIDEGATE, &["dns", "reload", "--pid", &service.pid().to_string()]);
    let said = String::from_utf8_lossy(&reload.stdout);
    assert!(!reload.status.success() && said.contains("serial 5 stays") && said.contains(":9: "), "{said}");
    zone.write(&text(7));
    await_serial(&machine, &service, 7);
    assert!(service.terminate().success());
}

/// Asks until told to stop; returns how many answers were lost, and the first serial that went back.
fn ask_on(address: &str, stop: &AtomicBool, asked: &AtomicU64) -> (u64, Option<u32>) {
    let mut asker = Asker::of(address);
    let (mut lost, mut latest, mut mixed) = (0, 0, None);
    while !stop.load(Ordering::Relaxed) {
        match asker.serial() {
            Some(serial) if serial < latest => mixed = Some(serial),
            Some(serial) => latest = serial,
            None => lost += 1,
        }
        asked.fetch_add(1, Ordering::Relaxed);
    }
    (lost, mixed)
}

#[test]
fn no_answer_is_lost_while_zones_are_reloaded_under_load() {
    const RELOAD_COUNT: u32 = 20;
    let (machine, zone) = (lone_machine(), Zone::new(1));
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    let (stop, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let outcomes: Vec<(u64, Option<u32>)> = std::thread::scope(|scope| {
        let ask = |address: &'static str| machine.run(|| ask_on(address, &stop, &asked)).expect("entered");
        let addresses = ["10.77.0.2:53", "[fd77::2]:53", "10.77.0.2:53"];
        let askers = addresses.map(|address| scope.spawn(move || ask(address)));
        for serial in 2..2 + RELOAD_COUNT {
            zone.write(&text(serial));
            await_serial(&machine, &service, serial);
        }
        stop.store(true, Ordering::Relaxed);
        askers.into_iter().map(|asker| asker.join().expect("it asks")).collect()
    });
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked > 1000, "that was no load: {asked} queries");
    assert!(
        outcomes.iter().all(|outcome| *outcome == (0, None)),
        "lost, or went back: {outcomes:?} of {asked}"
    );
    assert!(service.terminate().success());
}

/// A version of the zone that takes a while to read, and whose answers take a while to make.
fn large_text(serial: u32) -> String {
    (0..20_000).fold(text(serial), |mut text, number| {
        let _ = writeln!(text, "h{number} IN A 10.{}.{}.{}", serial % 256, number / 256, number % 256);
        text
    })
}

#[test]
fn no_answer_is_lost_at_full_load_while_a_large_zone_is_reloaded() {
    const RELOAD_COUNT: u32 = 5;
    let (machine, zone, queries) = (lone_machine(), Zone::new(1), crate::service::tempfile("queries"));
    zone.write(&large_text(1));
    let lines: String = (0..20_000).map(|number| format!("h{number}.example.org A\n")).collect();
    std::fs::write(&queries, lines).expect("written");
    let service = Service::run(&machine, "dns", &["--zone", zone.file()]);
    // As much as the client can, some hundreds under way at once.
    let args = ["-s", "10.77.0.2", "-c", "8", "-q", "400", "-l", "6", "-d"];
    let args = [&args[..], &[queries.to_str().expect("a path in ASCII")]].concat();
    let said = std::thread::scope(|scope| {
        let load = scope.spawn(|| run(&machine, "dnsperf", &args));
        for serial in 2..2 + RELOAD_COUNT {
            zone.write(&large_text(serial));
            await_serial(&machine, &service, serial);
        }
        assert!(!load.is_finished(), "the load ended before the last reload");
        load.join().expect("it asks")
    });
    let figure = |what: &str| {
        let line = said.lines().find(|line| line.trim_start().starts_with(what));
        line.and_then(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok())
    };
    assert!(figure("Queries completed:") > Some(10_000), "that was no load: {said}");
    assert_eq!(figure("Queries lost:"), Some(0), "{said}");
    assert!(said.contains("(100.00%)") && said.contains("NOERROR"), "{said}");
    assert!(service.terminate().success());
    let _ = std::fs::remove_file(&queries);
}
