//! The Prometheus endpoint: one report as text, over HTTP on the host's own stack.
//!
//! Not the web server of this repository: whoever scrapes must get through when that one is in trouble.
//! Format: <https://prometheus.io/docs/instrumenting/exposition_formats/>, text, version 0.0.4.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tidegate_service::{Collector, Named, Report, WorkerReport};

/// How long a scraper may take for its request, and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest request that is read.
const REQUEST_LEN_MAX: usize = 8 << 10;

/// The endpoint, bound and not yet served.
pub(crate) struct Endpoint(TcpListener);

impl Endpoint {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self> {
        let bound = TcpListener::bind(address);
        Ok(Self(bound.with_context(|| format!("--metrics {address}: could not listen there"))?))
    }

    /// Answers on a thread of its own, one scraper after the other.
    pub(crate) fn serve(self, collector: Arc<Collector>) -> io::Result<()> {
        let answer = move || {
            for stream in self.0.incoming().flatten() {
                if let Err(error) = answer(stream, &collector) {
                    tracing::debug!("a scraper went away: {error}");
                }
            }
        };
        std::thread::Builder::new().name("metrics".into()).spawn(answer).map(drop)
    }
}

fn answer(mut stream: TcpStream, collector: &Collector) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, body) = match asked_path(&mut stream)?.as_deref() {
        Some("/metrics") => ("200 OK", text(&collector.report())),
        Some(_) => ("404 Not Found", "The counters are at /metrics\n".into()),
        None => ("400 Bad Request", "GET /metrics\n".into()),
    };
    let len = body.len();
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// The path of a GET request; `None` for anything else.
fn asked_path(stream: &mut impl Read) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while bytes.len() < REQUEST_LEN_MAX {
        let len = stream.read(&mut piece)?;
        bytes.extend_from_slice(&piece[..len]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) if len > 0 => {}
            Ok(httparse::Status::Complete(_)) if request.method == Some("GET") => {
                return Ok(request.path.map(str::to_owned));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Samples by metric, so that each metric's are together as the format wants them.
#[derive(Default)]
struct Metrics(BTreeMap<String, Vec<String>>);

impl Metrics {
    fn add(&mut self, metric: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.0.entry(metric.to_owned()).or_default().push(format!("{labels} {value}"));
    }

    fn add_each(&mut self, prefix: &str, labels: &[(&str, &str)], counters: &Named) {
        for (name, value) in counters {
            self.add(&format!("{prefix}_{name}"), labels, *value);
        }
    }

    fn add_by(&mut self, metric: &str, labels: &[(&str, &str)], by: &str, counters: &Named) {
        for (name, value) in counters {
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain([(by, name.as_str())]).collect();
            self.add(metric, &labels, *value);
        }
    }

    fn worker(&mut self, worker: &WorkerReport) {
        let number = worker.worker.to_string();
        let of = [("worker", number.as_str())];
        self.add("tidegate_worker_rounds", &of, worker.round_count);
        self.add("tidegate_worker_sleeps", &of, worker.sleep_count);
        self.add_by("tidegate_frames", &of, "place", &worker.frames);
        for port in &worker.ports {
            self.add_each("tidegate_port", &[of[0], ("port", &port.name)], &port.counters);
        }
        for module in &worker.modules {
            let of = [of[0], ("module", module.name.as_str())];
            self.add_each("tidegate_module", &of, &module.gates);
            self.add_each(&format!("tidegate_{}", module.class), &of, &module.own);
            self.add_each("tidegate_site", &of, &module.site);
            self.add_each("tidegate_packer", &of, &module.packer);
            self.add_each("tidegate_dns", &of, &module.dns);
            self.add_by("tidegate_module_drops", &of, "reason", &module.drops);
        }
    }
}

/// A label's value with what the format wants escaped.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n"))
}

/// The report as Prometheus reads it. Counters may be gauges here (frames in a pool), hence untyped.
fn text(report: &Report) -> String {
    let mut metrics = Metrics::default();
    metrics.add("tidegate_uptime_seconds", &[("version", &report.version)], report.uptime_ms / 1000);
    metrics.add_each("tidegate_library", &[], &report.library);
    for zone in &report.zones {
        let of = [("zone", zone.name.as_str())];
        metrics.add("tidegate_zone_serial", &of, zone.serial.into());
        metrics.add_each("tidegate_zone", &of, &zone.sizes);
    }
    for device in &report.devices {
        let of = [("device", device.name.as_str()), ("mode", device.mode.as_str())];
        for (verdict, counters) in [("socket", &device.xdp_socket), ("pass", &device.xdp_pass)] {
            let of = [of[0], of[1], ("verdict", verdict)];
            metrics.add_by("tidegate_xdp_frames", &of, "reason", counters);
        }
    }
    report.workers.iter().for_each(|worker| metrics.worker(worker));
    let mut text = String::new();
    for (metric, samples) in metrics.0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# TYPE {metric} untyped");
        for sample in samples {
            let _ = writeln!(text, "{metric}{sample}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_service::{DeviceReport, ModuleReport};

    #[test]
    fn samples_of_a_metric_are_together_with_their_labels() {
        let device = |name: &str| DeviceReport {
            name: name.into(),
            mode: "driver".into(),
            xdp_socket: [("tuple".to_owned(), 7)].into(),
            ..Default::default()
        };
        let drops = [("malformed".to_owned(), 3)].into();
        let module =
            ModuleReport { name: "stack0".into(), class: "stack".into(), drops, ..Default::default() };
        let worker = WorkerReport { modules: vec![module], ..Default::default() };
        let report =
            Report { devices: vec![device("a"), device("b\"")], workers: vec![worker], ..Default::default() };
        let text = text(&report);
        let frames: Vec<&str> =
            text.lines().skip_while(|l| !l.contains("# TYPE tidegate_xdp_frames")).collect();
        let labels = |name: &str| {
            format!(
                "tidegate_xdp_frames{{device=\"{name}\",mode=\"driver\",verdict=\"socket\",reason=\"tuple\"}} 7"
            )
        };
        assert_eq!(frames[1..3], [labels("a"), labels("b\\\"")]);
        assert!(
            text.contains("tidegate_module_drops{worker=\"0\",module=\"stack0\",reason=\"malformed\"} 3")
        );
    }

    #[test]
    fn a_request_may_come_in_pieces_and_must_be_a_get() {
        let path = |pieces: &[&[u8]]| {
            let mut stream: Box<dyn Read> = Box::new(io::empty());
            for piece in pieces.iter().rev() {
                stream = Box::new(io::Cursor::new(piece.to_vec()).chain(stream));
            }
            asked_path(&mut stream).expect("nothing fails")
        };
        assert_eq!(
            path(&[b"GET /met", b"rics HTTP/1.1\r\nHost: x\r\n", b"\r\n"]).as_deref(),
            Some("/metrics")
        );
        assert_eq!(path(&[b"POST /metrics HTTP/1.1\r\n\r\n"]), None);
        assert_eq!(path(&[b"GET /metrics"]), None);
        assert_eq!(path(&[&[b'x'; 9000]]), None);
    }
}
