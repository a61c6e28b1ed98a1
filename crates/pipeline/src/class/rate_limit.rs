//! One child, as often as a token bucket allows.

use super::bucket::Bucket;
use super::link::NONE;
use super::tree::Ticks;
use super::usage::{Resource, Usage};

pub(super) struct RateLimit {
    /// The child, while it may run.
    ready: u32,
    resource: Resource,
    bucket: Bucket,
}

impl RateLimit {
    pub(super) const fn new(ticks_per_s: u64, resource: Resource, limit: u64, max_burst: u64) -> Self {
        Self { ready: NONE, resource, bucket: Bucket::new(ticks_per_s, limit, max_burst) }
    }

    #[inline]
    pub(super) const fn first(&self) -> u32 {
        self.ready
    }

    pub(super) fn join(&mut self, child: u32) {
        self.ready = child;
    }

    pub(super) fn leave(&mut self) {
        self.ready = NONE;
    }

    /// The class used that much. If that was too much: until when it is throttled.
    #[inline]
    pub(super) fn charge(&mut self, used: &Usage, now: Ticks) -> Option<Ticks> {
        self.bucket.charge(used.of(self.resource), now)
    }

    /// Another limit. Until when the class is throttled under it, if at all.
    pub(super) fn set(&mut self, resource: Resource, limit: u64, max_burst: u64) -> Option<Ticks> {
        if resource != self.resource {
            self.bucket.clear();
        }
        self.resource = resource;
        self.bucket.set_limit(limit, max_burst);
        self.bucket.level_at()
    }
}
