//! How zones relate to other servers, as configured: who may have them, who is told, where they come from.
//!
//! Never changes; a new configuration makes a new one.

use super::acl::Acl;
use crate::name::{Name, NameBuf};
use crate::tsig::{Key, Keyring};
use hashbrown::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Another server.
#[derive(Clone, PartialEq, Debug)]
pub struct Remote {
    /// Where it is.
    pub address: SocketAddr,
    /// The key that messages to it are signed with.
    pub key: Option<Arc<Key>>,
}

/// One zone's relations.
#[derive(Clone, Default, Debug)]
pub struct Relation {
    /// Who may have all of it.
    pub allow_transfer: Acl,
    /// Whom to tell that it has changed.
    pub notify: Vec<Remote>,
    /// Where it is copied from; it is ours, if there is none.
    pub copied: Option<Copied>,
}

/// A zone of which this server has a copy.
#[derive(Clone, Debug)]
pub struct Copied {
    /// Asked in this order.
    pub primaries: Vec<Remote>,
    /// Who, besides them, may say that it has changed.
    pub allow_notify: Acl,
    /// Where the copy is kept.
    pub file: PathBuf,
}

impl Copied {
    /// Whether a NOTIFY from there is heeded: it leads to no more than a question to the primaries.
    pub(crate) fn heeds(&self, from: IpAddr, key: Option<&Name>) -> bool {
        let is_primary = |primary: &Remote| primary.address.ip().to_canonical() == from.to_canonical();
        self.primaries.iter().any(is_primary) || self.allow_notify.admits(from, key)
    }
}

/// Bytes of a zone's last steps that are kept, unless it is said otherwise.
const JOURNAL_LEN_MAX: usize = 16 << 20;

/// All relations.
#[derive(Clone, Debug)]
pub struct Relations {
    keys: Keyring,
    zones: HashMap<NameBuf, Relation>,
    journal_len_max: usize,
}

impl Default for Relations {
    fn default() -> Self {
        Self::new(Keyring::default(), [])
    }
}

impl Relations {
    /// The relations of these zones, with these keys.
    pub fn new(keys: Keyring, zones: impl IntoIterator<Item = (NameBuf, Relation)>) -> Self {
        Self { keys, zones: zones.into_iter().collect(), journal_len_max: JOURNAL_LEN_MAX }
    }

    /// The same with so many bytes for the last steps of each zone, from which incremental transfers are made.
    pub const fn with_journal(mut self, len_max: usize) -> Self {
        self.journal_len_max = len_max;
        self
    }

    pub(crate) const fn journal_len_max(&self) -> usize {
        self.journal_len_max
    }

    /// The keys that requests may be signed with.
    pub const fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// The relations of one zone.
    pub fn of(&self, apex: &Name) -> Option<&Relation> {
        self.zones.get(apex)
    }

    /// Every zone that is copied from elsewhere.
    pub(crate) fn copied(&self) -> impl Iterator<Item = (&Name, &Copied)> {
        self.zones.iter().filter_map(|(apex, relation)| Some((&**apex, relation.copied.as_ref()?)))
    }
}
