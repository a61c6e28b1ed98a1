//! Bytes held in memory, and the account they are booked on.
//!
//! Invariant: an account's balance is what was booked for all blocks that still exist, also for those that
//! only a response under way keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of content are in memory now. Clones share one balance.
#[derive(Clone, Default, Debug)]
pub(crate) struct Account(Arc<AtomicU64>);

impl Account {
    pub(crate) fn balance(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body in memory.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Box<[u8]>,
    booked: u64,
    account: Account,
}

impl Block {
    /// A block on an account of its own, for content that no budget covers.
    pub(crate) fn unbooked(bytes: Vec<u8>) -> Self {
        Self::new(bytes, 0, Account::default())
    }

    /// A block that is booked with `booked` bytes, itself and what else exists because of it.
    pub(crate) fn new(bytes: Vec<u8>, booked: u64, account: Account) -> Self {
        account.0.fetch_add(booked, Ordering::Relaxed);
        Self { bytes: bytes.into_boxed_slice(), booked, account }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.account.0.fetch_sub(self.booked, Ordering::Relaxed);
    }
}
