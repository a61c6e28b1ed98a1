//! A worker's thread: made with a pool of its own, pinned, and asked between two rounds.

use crate::hooks::HookWish;
use crate::plant::Leaf;
use std::thread::JoinHandle;
use std::time::Duration;
use tidegate_control::controller::ClassSpec;
use tidegate_control::{Errno, Fault};
use tidegate_packet::{BATCH_LEN_MAX, Pool};
use tidegate_pipeline::metadata::Place;
use tidegate_pipeline::{
    Control, Graph, Idle, KernelEnvironment, PortIndex, Waker, Worker, WorkerConfig, control,
};
use tidegate_service::Asked;
use tidegate_sys::xsk::Umem;
use tidegate_sys::{clock, cpu, mem::Mapping};

/// Bytes of a worker's frames.
const POOL_SIZE: usize = 32 << 20;
/// Bytes of a frame's chunk.
pub(crate) const CHUNK_SIZE: usize = 2048;
/// How long a worker may take for a round before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a worker is made, for good.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shape {
    /// Bytes of its frames.
    pub(crate) pool_size: usize,
    /// Bytes of a frame's chunk.
    pub(crate) chunk_size: usize,
    /// The most frames that a port is asked for at a time.
    pub(crate) batch_len: usize,
    /// What it does when there is nothing to do.
    pub(crate) idle: Idle,
}

impl Default for Shape {
    fn default() -> Self {
        Self { pool_size: POOL_SIZE, chunk_size: CHUNK_SIZE, batch_len: BATCH_LEN_MAX, idle: Idle::ADAPTIVE }
    }
}

/// What a worker was last told to run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Told {
    /// Modules by name, with their number.
    pub(crate) modules: Vec<(String, u64)>,
    /// Links between them, by place in `modules`.
    pub(crate) links: Vec<(usize, usize, usize, usize)>,
    /// Where each finds its attributes.
    pub(crate) places: Vec<Vec<Place>>,
    pub(crate) classes: Vec<ClassSpec>,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) hooks: Vec<HookWish>,
}

/// A worker that runs.
pub(crate) struct Running {
    wid: u8,
    control: Control,
    thread: Option<JoinHandle<()>>,
    /// Ends its sleep.
    pub(crate) waker: Waker,
    /// Its frames' memory, for sockets that receive into it.
    pub(crate) umem: Umem,
    pub(crate) told: Told,
    /// Its ports by index, those that have left it with their last names.
    port_names: Vec<String>,
    pub(crate) is_paused: bool,
}

impl Running {
    /// Starts worker `wid` on a core, with nothing to run.
    pub(crate) fn start(wid: u8, core: u32, shape: Shape) -> Result<Self, Fault> {
        let failed = |what: &str, why: String| Fault::new(Errno::EIO, format!("worker {wid}: {what}: {why}"));
        let core = core as usize;
        let allowed = cpu::allowed();
        if !allowed.contains(&core) {
            let text = format!("worker {wid} cannot run on core {core}: name one of {allowed:?}");
            return Err(Fault::invalid(text));
        }
        let memory =
            Mapping::anonymous(shape.pool_size).map_err(|e| failed("no memory for frames", e.to_string()))?;
        let pool =
            Pool::new(Box::new(memory), shape.chunk_size).map_err(|e| failed("no pool", e.to_string()))?;
        let umem = Umem::of_pool(&pool);
        let waker = Waker::new().map_err(|e| failed("no wake-up", e.to_string()))?;
        let (wake, sleeper) = (waker.clone(), waker.clone());
        let (control, commands) = control(move || wake.wake());
        let config = WorkerConfig {
            number: wid.into(),
            idle: shape.idle,
            batch_len: shape.batch_len,
            ..WorkerConfig::default()
        };
        let mut worker = Worker::new(config, pool, Vec::new(), Graph::new(), commands);
        let thread = std::thread::Builder::new().name(format!("worker{wid}"));
        let thread = thread.spawn(move || {
            if let Err(error) = cpu::pin_current_thread(core) {
                tracing::warn!("worker {wid} is not pinned: {error}");
            }
            worker.run(&mut KernelEnvironment::new(sleeper));
        });
        let thread = Some(thread.map_err(|e| failed("no thread", e.to_string()))?);
        tracing::info!("worker {wid} runs on core {core} since {} ns", clock::now().as_nanos());
        let (told, port_names) = (Told::default(), Vec::new());
        Ok(Self { wid, control, thread, waker, umem, told, port_names, is_paused: false })
    }

    /// Whom to ask for its counters.
    pub(crate) fn asked(&self) -> Asked {
        let ports = self.port_names.clone();
        Asked { number: self.wid.into(), control: self.control.clone(), ports }
    }

    /// A port of that name has the index from now on.
    pub(crate) fn name_port(&mut self, index: PortIndex, name: String) {
        if self.port_names.len() <= index.0 {
            self.port_names.resize(index.0 + 1, String::new());
        }
        self.port_names[index.0] = name;
    }

    /// Has it run no task, or go on; nothing that waits in it is lost.
    pub(crate) fn set_paused(&mut self, is_paused: bool) -> Result<(), Fault> {
        if self.is_paused != is_paused {
            self.ask(move |worker| worker.set_paused(is_paused))?;
            self.is_paused = is_paused;
        }
        Ok(())
    }

    /// Asks it something between two rounds.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Worker) -> R + Send + 'static,
    ) -> Result<R, Fault> {
        let gone = || {
            let text = format!("worker {} does not answer: see the daemon's log, then destroy it", self.wid);
            Fault::new(Errno::EIO, text)
        };
        self.control.ask(PATIENCE, question).ok_or_else(gone)
    }
}

impl Drop for Running {
    /// Frames that modules keep go back to the pool first, whose memory can then be given back.
    fn drop(&mut self) {
        let _ = self.ask(|worker| worker.replace(Graph::new()));
        self.control.send(Worker::stop);
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
