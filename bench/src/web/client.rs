//! The clients: programs of others that ask over the kernel's stack, and our own; and what they say at the
//! end.

use std::fmt::Write;
use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use tidegate_testbed::{End, ScratchDir};

use super::plan::Connection;
use crate::syscalls::{SyscallCounter, under};

/// The program that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClientKind {
    /// wrk, one thread.
    Wrk,
    /// h2load in HTTP/1.1 mode, one thread; it tells no percentiles and knows keep-alive only.
    H2load,
    /// Our own, on our own stack over AF_XDP: for servers that outrun what a kernel's core can ask.
    Packet,
}

impl ClientKind {
    pub(crate) fn program(self) -> &'static str {
        match self {
            ClientKind::Wrk => "wrk",
            ClientKind::H2load => "h2load",
            ClientKind::Packet => "tidegate-bench",
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            ClientKind::Wrk => "wrk",
            ClientKind::H2load => "h2load",
            ClientKind::Packet => "our own client",
        }
    }

    /// Its name, its path and the flag that makes it tell its version; our own has ours.
    pub(crate) fn version(self) -> Option<(&'static str, &'static Path, &'static str)> {
        let flag = match self {
            ClientKind::Wrk => "-v",
            ClientKind::H2load => "--version",
            ClientKind::Packet => return None,
        };
        Some((self.program(), Path::new(self.program()), flag))
    }
}

/// What is asked for, and how.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) client: ClientKind,
    pub(crate) server: SocketAddr,
    /// Below the root, asked for in turn.
    pub(crate) paths: Vec<String>,
    pub(crate) connection: Connection,
    pub(crate) concurrency: u32,
    pub(crate) seconds: u32,
}

/// What the client saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Requests answered in all.
    pub(crate) request_count: u64,
    /// Requests answered a second.
    pub(crate) requests_per_s: f64,
    /// Half of the answers came within this.
    pub(crate) p50_us: Option<f64>,
    /// 99 of 100 answers came within this.
    pub(crate) p99_us: Option<f64>,
    /// Answers other than 2xx, and connections that failed.
    pub(crate) error_count: u64,
}

impl Load {
    /// Asks for as long as the load says, under `counter` if there is one.
    pub(crate) fn apply(
        &self,
        from: &End,
        scratch: &ScratchDir,
        counter: Option<&SyscallCounter>,
    ) -> anyhow::Result<Seen> {
        let asking = match self.client {
            ClientKind::Wrk => self.wrk(scratch)?,
            ClientKind::H2load => self.h2load(scratch)?,
            ClientKind::Packet => self.packet(from)?,
        };
        let program = self.client.program();
        let output = from.output(under(counter, asking))?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{program} failed: {}", String::from_utf8_lossy(&output.stderr));
        let seen = match self.client {
            ClientKind::Wrk => parse_wrk(&said),
            ClientKind::H2load => parse_h2load(&said),
            ClientKind::Packet => parse_packet(&said),
        };
        seen.with_context(|| format!("{program} said what nobody expected:\n{said}"))
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.server)
    }

    fn wrk(&self, scratch: &ScratchDir) -> anyhow::Result<Command> {
        let mut command = Command::new("wrk");
        command.args(["--threads", "1", "--latency", "--timeout", "10s"]);
        command.args(["--connections", &self.concurrency.to_string()]);
        command.args(["--duration", &format!("{}s", self.seconds)]);
        if self.connection == Connection::Close {
            command.args(["--header", "Connection: close"]);
        }
        if self.paths.len() > 1 {
            command.arg("--script").arg(scratch.write("paths.lua", any_of(&self.paths)?)?);
        }
        command.arg(self.url(self.paths.first().map_or("", String::as_str)));
        Ok(command)
    }

    fn packet(&self, from: &End) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("find this program")?);
        command.args(["client", "--dev", from.device(), "--from", &fresh_address(from).to_string()]);
        command.args(["--to", &self.server.to_string(), "--seconds", &self.seconds.to_string()]);
        command.args(["--connections", &self.concurrency.to_string()]);
        command.args(self.paths.iter().flat_map(|path| ["--path".to_owned(), format!("/{path}")]));
        command.args(from.cpu().iter().flat_map(|cpu| ["--cpu".to_owned(), cpu.to_string()]));
        if self.connection == Connection::Close {
            command.arg("--close");
        }
        Ok(command)
    }

    fn h2load(&self, scratch: &ScratchDir) -> anyhow::Result<Command> {
        if self.connection == Connection::Close {
            bail!("h2load cannot ask once a connection: choose --client wrk or --connections keep-alive");
        }
        let urls: String = self.paths.iter().map(|path| self.url(path) + "\n").collect();
        let list = scratch.write("urls", urls)?;
        let mut command = Command::new("h2load");
        command.args(["--h1", "--threads", "1", "--clients", &self.concurrency.to_string()]);
        command.args(["--duration", &self.seconds.to_string(), "--input-file"]).arg(list);
        Ok(command)
    }
}

/// An address beside that of `from` which no client of ours had yet: of the last one's connections the server keeps
/// many in TIME-WAIT, and a SYN from their ports with another's timestamps would wait (RFC 6191).
fn fresh_address(from: &End) -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    const FIRST: u8 = 10;
    const COUNT: u8 = 240;
    let [a, b, c, _] = from.ipv4().octets();
    Ipv4Addr::new(a, b, c, FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT)
}

/// A wrk script that asks for any of `paths`, the same ones in every run.
fn any_of(paths: &[String]) -> anyhow::Result<String> {
    let mut script = String::from("math.randomseed(1)\nlocal paths = {\n");
    for path in paths {
        writeln!(script, "  \"/{path}\",")?;
    }
    script.push_str(
        "}
local requests = {}
init = function(args)
  for i, path in ipairs(paths) do requests[i] = wrk.format(\"GET\", path) end
end
request = function() return requests[math.random(#requests)] end
",
    );
    Ok(script)
}

fn parse_wrk(said: &str) -> Option<Seen> {
    let words = |label: &str| {
        said.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::split_whitespace)
    };
    let total = said.lines().find(|line| line.contains(" requests in "))?;
    let socket_errors = words("Socket errors:")
        .map_or(0, |words| words.filter_map(|word| word.trim_end_matches(',').parse::<u64>().ok()).sum());
    let other_status = words("Non-2xx or 3xx responses:").and_then(|mut words| words.next()?.parse().ok());
    Some(Seen {
        request_count: total.split_whitespace().next()?.parse().ok()?,
        requests_per_s: words("Requests/sec:")?.next()?.parse().ok()?,
        p50_us: Some(microseconds(words("50%")?.next()?)?),
        p99_us: Some(microseconds(words("99%")?.next()?)?),
        error_count: socket_errors + other_status.unwrap_or(0),
    })
}

/// wrk's `12.30us`, `1.20ms`, `1.00s`, `1.00m`.
fn microseconds(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 60e6)];
    units.into_iter().find_map(|(unit, scale)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}

fn parse_packet(said: &str) -> Option<Seen> {
    let said: crate::client::Said = serde_json::from_str(said).ok()?;
    Some(Seen {
        request_count: said.request_count,
        requests_per_s: said.requests_per_s,
        p50_us: Some(said.p50_us),
        p99_us: Some(said.p99_us),
        error_count: said.failures.request_count(),
    })
}

fn parse_h2load(said: &str) -> Option<Seen> {
    let line = |label: &str| said.lines().find_map(|line| line.strip_prefix(label));
    let before = |text: &str, label: &str| -> Option<u64> {
        let (head, _) = text.split_once(label)?;
        head.split([' ', ',']).rfind(|word| !word.is_empty())?.parse().ok()
    };
    let requests = line("requests:")?;
    let mut finished = line("finished in ")?.split(", ");
    Some(Seen {
        request_count: before(requests, " succeeded")?,
        requests_per_s: finished.nth(1)?.strip_suffix(" req/s")?.parse().ok()?,
        p50_us: None,
        p99_us: None,
        error_count: before(requests, " failed")?
            + before(requests, " errored")?
            + before(requests, " timeout")?,
    })
}

/// Asks for every path once and compares each answer with the file: what is compared for speed must be right, and is
/// warm afterwards.
pub(crate) fn verify(
    from: &End,
    server: SocketAddr,
    paths: &[String],
    file: impl Fn(&str) -> std::path::PathBuf,
) -> anyhow::Result<()> {
    for path in paths {
        let answer = from.run(|| fetch(server, path))?.with_context(|| format!("ask for /{path}"))?;
        ensure!(answer == read(&file(path))?, "/{path} came back as other bytes than the file's");
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("read {}", path.display()))
}

/// The body of a 200, over a connection of its own.
fn fetch(server: SocketAddr, path: &str) -> anyhow::Result<Vec<u8>> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // At once: some servers read but once.
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head_len =
        answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").context("the head has no end")? + 4;
    let head = String::from_utf8_lossy(&answer[..head_len]);
    ensure!(head.starts_with("HTTP/1.1 200 "), "{}", head.lines().next().unwrap_or_default());
    Ok(answer.split_off(head_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wrk_says() {
        let said = "\
Running 1s test @ http://10.78.0.2/
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   547.62us    0.96ms   9.81ms   89.41%
    Req/Sec    15.16k     6.19k   29.44k    80.00%
  Latency Distribution
     50%  205.00us
     75%  348.00us
     90%    1.64ms
     99%    4.45ms
  15223 requests in 1.02s, 4.46MB read
  Socket errors: connect 1, read 2, write 0, timeout 4
  Non-2xx or 3xx responses: 5
Requests/sec:  14992.99
Transfer/sec:      4.39MB
";
        let seen = Seen {
            request_count: 15223,
            requests_per_s: 14992.99,
            p50_us: Some(205.0),
            p99_us: Some(4450.0),
            error_count: 12,
        };
        assert_eq!(parse_wrk(said), Some(seen));
        assert_eq!(parse_wrk("unable to connect"), None);
    }

    #[test]
    fn what_h2load_says() {
        let said = "\
finished in 1.00s, 80674.00 req/s, 24.00MB/s
requests: 80674 total, 80682 started, 80674 done, 80670 succeeded, 1 failed, 2 errored, 1 timeout
";
        let seen = parse_h2load(said).unwrap();
        assert_eq!((seen.request_count, seen.error_count), (80670, 4));
        assert_eq!(seen.requests_per_s, 80674.0);
    }
}
