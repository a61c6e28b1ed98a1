//! What may be chosen of an AF_XDP socket, and what was.

/// Who copies a frame between the driver and the UMEM: a wish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindMode {
    /// Nobody where the driver can, otherwise the kernel.
    #[default]
    Auto,
    /// Nobody, or binding fails.
    ZeroCopy,
    /// The kernel, on any driver.
    Copy,
}

/// Who copies a frame between the driver and the UMEM: what it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverMode {
    /// Nobody: the NIC reads and writes the UMEM.
    ZeroCopy,
    /// The kernel.
    Copy,
}

impl std::fmt::Display for DriverMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DriverMode::ZeroCopy => "zero-copy",
            DriverMode::Copy => "copy",
        })
    }
}

/// Preferred busy polling: the process runs the driver's receive loop from its own system calls, and the
/// device's interrupts stay off while it does (networking/napi.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long a call may poll, in microseconds.
    pub poll_us: u32,
    /// How many frames a poll may process.
    pub budget: u32,
}

/// How a socket is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XskConfig {
    /// Who copies.
    pub mode: BindMode,
    /// The kernel sleeps when it has nothing to do and says on the rings when it must be woken.
    pub need_wakeup: bool,
    /// Polling the driver from system calls, if wanted.
    pub busy_poll: Option<BusyPoll>,
    /// Entries of the receive ring, a power of two.
    pub rx_size: u32,
    /// Entries of the transmit ring, a power of two.
    pub tx_size: u32,
    /// Entries of the fill ring, a power of two.
    pub fill_size: u32,
    /// Entries of the completion ring, a power of two; at least `tx_size`, or the kernel holds frames back.
    pub completion_size: u32,
}

impl Default for XskConfig {
    fn default() -> Self {
        Self {
            mode: BindMode::Auto,
            need_wakeup: true,
            busy_poll: None,
            rx_size: 2048,
            tx_size: 2048,
            fill_size: 512,
            completion_size: 2048,
        }
    }
}

impl BindMode {
    /// As bind(2) takes it; without a flag the kernel tries zero-copy first.
    pub(super) fn flags(self) -> u16 {
        match self {
            BindMode::Auto => 0,
            BindMode::ZeroCopy => libc::XDP_ZEROCOPY,
            BindMode::Copy => libc::XDP_COPY,
        }
    }
}

impl XskConfig {
    /// What cannot be done because a ring's size is none that the kernel takes.
    pub(super) fn refused_ring(&self) -> Option<&'static str> {
        let rings = [
            ("size the rx ring", self.rx_size),
            ("size the tx ring", self.tx_size),
            ("size the fill ring", self.fill_size),
            ("size the completion ring", self.completion_size),
        ];
        rings.into_iter().find(|(_, size)| !size.is_power_of_two()).map(|(attempted, _)| attempted)
    }
}
