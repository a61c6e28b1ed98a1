//! A stack that tasks share, and who of them waits for what.

use crate::driver;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tidegate_socket::{Error, Readiness, Runtime, SocketId};
use tokio::sync::Notify;

/// A stack with its driver. Cheap to clone; the driver ends when the last clone, listener and stream is gone.
#[derive(Clone)]
pub struct Net {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Tells the driver that socket calls left something to do.
    pub(crate) work: Arc<Notify>,
    /// Told after each round.
    round: Notify,
}

pub(crate) struct Inner {
    pub(crate) runtime: Runtime,
    waiting: HashMap<SocketId, Waiting>,
    /// The driver could not go on.
    failed: Option<io::ErrorKind>,
}

/// The tasks that wait for one socket.
#[derive(Default)]
struct Waiting {
    readers: Vec<Waker>,
    writers: Vec<Waker>,
}

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Read,
    Write,
}

impl Net {
    /// Starts a driver for `runtime` as a task of the tokio runtime that this is called in.
    ///
    /// # Errors
    /// The descriptor to wait on cannot be had, or registered with tokio.
    pub fn new(mut runtime: Runtime) -> io::Result<Self> {
        let descriptor = runtime.watch().try_clone_to_owned()?;
        let work = Arc::new(Notify::new());
        let inner = Inner { runtime, waiting: HashMap::new(), failed: None };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), work: work.clone(), round: Notify::new() });
        driver::spawn(descriptor, work, Arc::downgrade(&shared))?;
        Ok(Self { shared })
    }

    /// Does something to the stack between two rounds: settings, counters, a neighbour's address.
    pub fn with<R>(&self, act: impl FnOnce(&mut Runtime) -> R) -> R {
        let done = act(&mut self.shared.lock().runtime);
        self.shared.work.notify_one();
        done
    }

    /// Waits until all that was written on streams that are dropped is acknowledged, and nothing is open any more.
    pub async fn drained(&self) {
        loop {
            let round = self.shared.round.notified();
            if self.shared.lock().runtime.socket_count() == 0 {
                return;
            }
            round.await;
        }
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A task that panicked in a socket call left nothing half done that another would trip over.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries `call`, and has the task woken when it is worth another try.
    pub(crate) fn poll<R>(
        &self,
        cx: &Context<'_>,
        id: SocketId,
        wish: Wish,
        call: impl FnOnce(&mut Runtime) -> Result<R, Error>,
    ) -> Poll<io::Result<R>> {
        let mut inner = self.lock();
        if let Some(kind) = inner.failed {
            return Poll::Ready(Err(kind.into()));
        }
        match call(&mut inner.runtime) {
            Ok(done) => {
                drop(inner);
                self.work.notify_one();
                Poll::Ready(Ok(done))
            }
            Err(Error::WouldBlock) => {
                inner.wait(id, wish, cx.waker());
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }

    /// Makes a call that never waits.
    pub(crate) fn call<R>(&self, call: impl FnOnce(&mut Runtime) -> Result<R, Error>) -> io::Result<R> {
        let done = call(&mut self.lock().runtime)?;
        self.work.notify_one();
        Ok(done)
    }

    /// Gives a socket up.
    pub(crate) fn close(&self, id: SocketId) {
        let mut inner = self.lock();
        inner.waiting.remove(&id);
        // One that is gone already has nothing to be closed.
        let _ = inner.runtime.close(id);
        drop(inner);
        self.work.notify_one();
    }

    /// Carries frames and wakes who can go on. True if there may be more at once.
    pub(crate) fn round(&self) -> bool {
        let mut inner = self.lock();
        let received_count = inner.runtime.poll();
        inner.wake_ready();
        drop(inner);
        self.round.notify_waiters();
        received_count > 0
    }

    /// The driver cannot go on: everybody hears of it.
    pub(crate) fn fail(&self, error: &io::Error) {
        let mut inner = self.lock();
        inner.failed = Some(error.kind());
        for waiting in std::mem::take(&mut inner.waiting).into_values() {
            waiting.readers.into_iter().chain(waiting.writers).for_each(Waker::wake);
        }
    }
}

impl Inner {
    fn wait(&mut self, id: SocketId, wish: Wish, waker: &Waker) {
        let waiting = self.waiting.entry(id).or_default();
        let wakers = if wish == Wish::Read { &mut waiting.readers } else { &mut waiting.writers };
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn wake_ready(&mut self) {
        let ended = Readiness::HANGUP | Readiness::ERROR;
        while let Some((id, readiness)) = self.runtime.next_event() {
            let Some(waiting) = self.waiting.get_mut(&id) else { continue };
            if readiness.has_any(Readiness::READABLE | Readiness::PEER_CLOSED | ended) {
                waiting.readers.drain(..).for_each(Waker::wake);
            }
            if readiness.has_any(Readiness::WRITABLE | ended) {
                waiting.writers.drain(..).for_each(Waker::wake);
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.work.notify_one();
    }
}
