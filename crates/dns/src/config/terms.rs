//! Settings in the terms of the parts that they are for.

use super::{
    AnswerMode, Config, CookieSecret, KeyAlgorithm, KeyConfig, KeyForm, KeyName, Peer, Remote, ZoneConfig,
};
use crate::answer::Policy;
use crate::cookie::Cookies;
use crate::desk::DeskConfig;
use crate::name::NameBuf;
use crate::rrl::{RateLimiter, RateLimits};
use crate::store::StoreSize;
use crate::tcp::Bounds;
use crate::transfer::{self, Acl, ClientPatience, Copied, Relation, Relations, Rule};
use crate::tsig::{Algorithm, Key, Keyring};
use crate::udp::{self, Mode, UdpConfig};
use std::sync::Arc;
use tidegate_base::Duration;

/// How long nothing of what is under way may be acknowledged.
const SENDING: Duration = Duration::from_secs(30);

impl Config {
    /// How connections are limited.
    pub fn bounds(&self) -> Bounds {
        let (limits, timeouts) = (&self.limits, &self.timeouts);
        Bounds {
            connection_count_max: limits.connections,
            connection_count_max_per_peer: limits.connections_per_address,
            pipelined_max: usize::from(limits.pipelined),
            query_count_max: limits.queries_per_connection,
            idle: timeouts.idle.0,
            query: timeouts.query.0,
            sending: SENDING,
        }
    }

    /// How one of `worker_count` workers answers over UDP, with its share of the memory, in `rrset_count` record
    /// sets.
    pub fn udp(&self, worker_count: usize, rrset_count: usize) -> UdpConfig {
        let key_form = match self.keys {
            KeyForm::Wire => udp::KeyForm::Wire,
            KeyForm::Decompressed => udp::KeyForm::Expanded,
        };
        let mode = match self.mode {
            AnswerMode::InPlace => Mode::InPlace,
            AnswerMode::Memcopy => Mode::MemCopy,
            AnswerMode::PreCopy => Mode::PreCopy,
        };
        let byte_count_max = usize::try_from(self.memory.0).unwrap_or(usize::MAX) / worker_count.max(1);
        let store = StoreSize::of_rrsets(byte_count_max, rrset_count);
        UdpConfig { key_form, mode, size_max: self.limits.udp_size, store }
    }

    /// What the server says of itself. Cookies are made with `own_secret`, which is random, unless there are shared
    /// ones.
    pub fn desk(&self, own_secret: CookieSecret) -> DeskConfig {
        let version = Some(self.version.clone()).filter(|version| !version.is_empty());
        let policy = Policy { version, identity: self.nsid.clone() };
        let nsid = self.nsid.as_ref().map(|nsid| nsid.as_bytes().to_vec());
        let transfer_count_max = usize::from(self.limits.transfers);
        let cookies = self.cookies(own_secret);
        DeskConfig { policy, nsid, udp_size: self.limits.udp_size, cookies, transfer_count_max }
    }

    /// How many like answers a network gets, for all workers together; none if there is no limit. `seed` is random and
    /// secret.
    pub fn limiter(&self, seed: u64) -> Option<RateLimiter> {
        Some(RateLimiter::new(&RateLimits::from(&self.rrl), seed)).filter(RateLimiter::is_active)
    }

    fn cookies(&self, own_secret: CookieSecret) -> Option<Cookies> {
        // A file that cannot be read was found out when the settings were checked.
        let shared = self.cookies.secrets().unwrap_or_default();
        let secrets = if shared.is_empty() { vec![own_secret] } else { shared };
        Cookies::new(&secrets).filter(|_| self.cookies.enabled)
    }

    /// How long primaries may take.
    pub fn client_patience(&self) -> ClientPatience {
        ClientPatience { message: self.timeouts.primary.0.into(), ..ClientPatience::default() }
    }

    /// How `zones` relate to other servers; their names are those of the configuration, or of their files.
    pub fn relations<'a>(
        &'a self,
        zones: impl IntoIterator<Item = (NameBuf, &'a ZoneConfig)>,
    ) -> Result<Relations, String> {
        let keys: Keyring = self.tsig_keys.iter().map(KeyConfig::key).collect::<Result<_, _>>()?;
        let zones: Vec<(NameBuf, Relation)> =
            zones.into_iter().map(|(apex, zone)| (apex, self.relation(&keys, zone))).collect();
        let journal_len_max = usize::try_from(self.limits.journal.0).unwrap_or(usize::MAX);
        Ok(Relations::new(keys, zones).with_journal(journal_len_max))
    }

    fn relation(&self, keys: &Keyring, zone: &ZoneConfig) -> Relation {
        let remotes = |remotes: &[Remote]| remotes.iter().map(|remote| remote.known(keys)).collect();
        let copied = zone.is_secondary().then(|| Copied {
            primaries: remotes(&zone.primaries),
            allow_notify: acl(&zone.allow_notify),
            file: zone.file.clone(),
        });
        Relation {
            allow_transfer: acl(self.transfer_peers(zone)),
            notify: remotes(self.notified(zone)),
            copied,
        }
    }
}

impl KeyConfig {
    fn key(&self) -> Result<Key, String> {
        let algorithm = match self.algorithm {
            KeyAlgorithm::HmacSha1 => Algorithm::HmacSha1,
            KeyAlgorithm::HmacSha224 => Algorithm::HmacSha224,
            KeyAlgorithm::HmacSha256 => Algorithm::HmacSha256,
            KeyAlgorithm::HmacSha384 => Algorithm::HmacSha384,
            KeyAlgorithm::HmacSha512 => Algorithm::HmacSha512,
        };
        Key::new(&self.name.to_name(), algorithm, &self.secret_bytes()?).map_err(|error| error.to_string())
    }
}

impl Remote {
    /// With its key, which was checked to be there.
    fn known(&self, keys: &Keyring) -> transfer::Remote {
        let key = self.key.as_ref().and_then(|name| keys.find(&name.to_name()));
        transfer::Remote { address: self.address, key: key.map(Arc::clone) }
    }
}

fn acl(peers: &[Peer]) -> Acl {
    let rule = |peer: &Peer| Rule {
        network: peer.network.map(|network| (network.address, network.prefix_len)),
        key: peer.key.as_ref().map(KeyName::to_name),
    };
    peers.iter().map(rule).collect()
}
