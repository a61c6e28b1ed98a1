//! What a parent keeps of a child, in one array beside the classes themselves.

/// No class.
pub(super) const NONE: u32 = u32::MAX;

/// Why a class may not run, a bit each; none set: it is in its parent's ready set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stops(u8);

impl Stops {
    /// Nothing stops it.
    pub(super) const NOTHING: Self = Self(0);
    /// A group without a child that may run.
    pub(super) const EMPTY: Self = Self(1);
    /// A leaf that its worker has blocked.
    pub(super) const BLOCKED: Self = Self(1 << 1);
    /// A leaf that found nothing to do and lets others go first.
    pub(super) const YIELDED: Self = Self(1 << 2);
    /// A rate limit that is overdrawn.
    pub(super) const THROTTLED: Self = Self(1 << 3);

    #[inline]
    pub(super) const fn any(self) -> bool {
        self.0 != 0
    }

    #[inline]
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// A class as its parent sees it.
pub(super) struct Link {
    /// Its order in the parent's heap: virtual time under `weighted_fair`, {priority, turn} under `priority`.
    pub(super) key: u128,
    /// Under `weighted_fair`: virtual time for one unit of the resource.
    pub(super) stride: u64,
    /// Under `priority`: the smaller goes first.
    pub(super) priority: i64,
    pub(super) parent: u32,
    /// Its neighbours in the parent's ring.
    pub(super) next: u32,
    pub(super) prev: u32,
    /// Its seat in the parent's heap.
    pub(super) ready_seat: u32,
    /// Its seat in the tree's heap of timers, [`NONE`] without one.
    pub(super) wake_seat: u32,
    pub(super) stops: Stops,
}

impl Link {
    pub(super) const fn new(stops: Stops) -> Self {
        Self {
            key: 0,
            stride: 0,
            priority: 0,
            parent: NONE,
            next: NONE,
            prev: NONE,
            ready_seat: NONE,
            wake_seat: NONE,
            stops,
        }
    }
}
