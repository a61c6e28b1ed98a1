//! `tidegate capture`: what passes a gate, written to the standard output as pcap.
//!
//! ```text
//!   gate --TcpDump hook--> FIFO of ours --> standard output --> tcpdump -r -
//! ```
//! The FIFO is in a directory of its own. However this ends, by a signal, by a reader that has seen enough or by its
//! count, the hook is taken off and the directory removed; the daemon drops a hook whose FIFO nobody reads.

use super::gate::Gate;
use super::reach;
use crate::args::CaptureArgs;
use crate::exit::wrong_input;
use crate::signals::{self, Event};
use anyhow::{Context, Result, bail};
use nix::sys::stat::Mode;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidegate_control::Message;
use tidegate_control::proto::bess::{ConfigureGateHookRequest, GateHookInfo, TcpdumpArg, gate_hook_info};

/// Bytes of a pcap file's head, and of the head of each packet in it.
const FILE_HEAD_LEN: usize = 24;
const PACKET_HEAD_LEN: usize = 16;
/// Where a packet's length is in its head, little-endian.
const LEN_AT: std::ops::Range<usize> = 8..12;
/// How often a FIFO that stays empty is looked at.
const PATIENCE: Duration = Duration::from_millis(5);

/// Writes packets until one of the ends.
pub(crate) fn capture(args: &CaptureArgs) -> Result<()> {
    let gate = Gate::parse(&args.gate)?;
    if io::stdout().is_terminal() {
        let text =
            format!("packets are no text: tidegate capture {} | tcpdump -n -r -, or > FILE.pcap", args.gate);
        return Err(wrong_input(text));
    }
    let mut client = reach(&args.address.address)?;
    let fifo = Fifo::make()?;
    let mut reader = fifo.open()?;
    let (_, events) = signals::events()?;
    let mut hook = hook_on(&gate, &fifo.path);
    let configure =
        |hook: &GateHookInfo, enable| ConfigureGateHookRequest { hook: Some(hook.clone()), enable };
    hook.hook_name = client.configure_gate_hook(configure(&hook, true))?.name;
    let is_over = || events.try_recv().is_ok_and(|event| event == Event::Terminate);
    let copied = copy(&mut reader, &mut io::stdout().lock(), args.count, is_over);
    let taken_off = client.configure_gate_hook(configure(&hook, false));
    copied?;
    taken_off?;
    Ok(())
}

fn hook_on(gate: &Gate, fifo: &Path) -> GateHookInfo {
    let (module_name, gate) = match gate {
        Gate::Output { module, gate } => (module.clone(), gate_hook_info::Gate::Ogate(*gate as i64)),
        Gate::Input { module, gate } => (module.clone(), gate_hook_info::Gate::Igate(*gate as i64)),
    };
    let fifo = fifo.to_string_lossy().into_owned();
    let arg = Message::from(TcpdumpArg { fifo, defer: false, reconnect: false }).to_any();
    GateHookInfo {
        class_name: "TcpDump".to_owned(),
        hook_name: String::new(),
        module_name,
        gate: Some(gate),
        arg: Some(arg),
    }
}

/// A FIFO in a directory of its own, gone when dropped.
struct Fifo {
    directory: PathBuf,
    path: PathBuf,
}

impl Fifo {
    fn make() -> Result<Self> {
        let directory = std::env::temp_dir().join(format!("tidegate-capture-{}", std::process::id()));
        fs::create_dir(&directory).with_context(|| format!("could not make {}", directory.display()))?;
        let path = directory.join("packets");
        let fifo = Self { directory, path };
        // mkfifo(3): for the user alone, as packets may hold secrets.
        nix::unistd::mkfifo(&fifo.path, Mode::S_IRUSR | Mode::S_IWUSR)
            .with_context(|| format!("could not make the FIFO {}", fifo.path.display()))?;
        Ok(fifo)
    }

    /// The end to read from. fifo(7): with it open for writing too, a look before the daemon writes is no end of file.
    fn open(&self) -> Result<File> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
        options.open(&self.path).with_context(|| format!("could not open {}", self.path.display()))
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        // What is gone already need not be removed.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Copies whole packets until there were `count`, nobody reads `out` any more, or `is_over` says so.
fn copy(
    fifo: &mut impl Read,
    out: &mut impl Write,
    count: Option<u64>,
    is_over: impl Fn() -> bool,
) -> Result<()> {
    let mut pending: Vec<u8> = Vec::new();
    let mut left = count.unwrap_or(u64::MAX);
    let mut head_len = FILE_HEAD_LEN;
    let mut chunk = vec![0; 1 << 16];
    while left > 0 && !is_over() {
        match fifo.read(&mut chunk) {
            Ok(len) => pending.extend_from_slice(&chunk[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(PATIENCE),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => bail!("could not read from the FIFO: {error}"),
        }
        let ready = whole_packets(&pending, &mut head_len, &mut left);
        match out.write_all(&pending[..ready]).and_then(|()| out.flush()) {
            Ok(()) => {}
            // Who reads has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => bail!("could not write packets: {error}"),
        }
        pending.drain(..ready);
    }
    Ok(())
}

/// Bytes at the front that are the file's head and whole packets, of which `left` may still come.
fn whole_packets(pending: &[u8], head_len: &mut usize, left: &mut u64) -> usize {
    let mut at = 0;
    if *head_len > 0 {
        if pending.len() < *head_len {
            return 0;
        }
        at = *head_len;
        *head_len = 0;
    }
    while *left > 0 {
        let Some(len) = pending.get(at..at + PACKET_HEAD_LEN).and_then(|head| head[LEN_AT].try_into().ok())
        else {
            break;
        };
        let end = at + PACKET_HEAD_LEN + u32::from_le_bytes(len) as usize;
        if pending.len() < end {
            break;
        }
        at = end;
        *left -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lens: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; FILE_HEAD_LEN];
        for len in lens {
            bytes.extend([0; 8]);
            bytes.extend(len.to_le_bytes());
            bytes.extend(len.to_le_bytes());
            bytes.extend(vec![0xaa; *len as usize]);
        }
        bytes
    }

    /// Gives a few bytes a read, and then nothing.
    struct Dripping<'b>(&'b [u8]);

    impl Read for Dripping<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
            let len = self.0.len().min(7).min(buffer.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn as_many_packets_as_were_asked_for_and_no_half_one() {
        let bytes = file(&[60, 0, 1514, 60]);
        let mut out = Vec::new();
        copy(&mut Dripping(&bytes), &mut out, Some(3), || false).expect("copied");
        assert_eq!(out, file(&[60, 0, 1514]));
    }

    #[test]
    fn what_was_cut_off_is_left_out() {
        let bytes = file(&[60, 60]);
        let (mut out, asked) = (Vec::new(), std::cell::Cell::new(0));
        let is_over = || {
            asked.set(asked.get() + 1);
            asked.get() > 100
        };
        copy(&mut Dripping(&bytes[..bytes.len() - 1]), &mut out, None, is_over).expect("copied");
        assert_eq!(out, file(&[60]));
    }
}
