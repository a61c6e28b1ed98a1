//! What can be set for a socket. A connection that a listener accepts begins with the listener's.

use crate::error::Error;
use std::sync::Arc;
use tidegate_base::Duration;
use tidegate_stack::TcpConfig;
use tidegate_tcp::KeepAlive;
use tidegate_tcp::congestion::{self, Algorithm};
use tidegate_tcp::option::OptionKind;

/// The largest send buffer that can be asked for.
pub const SEND_BUFFER_LEN_MAX: u32 = 64 << 20;
/// Windows beyond this have no scale that names them (RFC 7323 section 2.3).
const RECEIVE_BUFFER_LEN_MAX: u32 = 1 << 30;
const BUFFER_LEN_MIN: u32 = 2 << 10;

/// A socket's settings.
#[derive(Clone, Debug)]
pub struct Options {
    /// Small segments do not wait for an acknowledgement (TCP_NODELAY).
    pub no_delay: bool,
    /// Idle peers are asked whether they still exist (SO_KEEPALIVE).
    pub keep_alive: bool,
    /// When and how often (TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT).
    pub keep_alive_pace: KeepAlive,
    /// What closing does with what was not sent (SO_LINGER): without a time it is sent in peace; after a time the connection
    /// is reset; after no time, at once.
    pub linger: Option<Duration>,
    /// Bytes that are written and not acknowledged (SO_SNDBUF); as many as one write beyond it.
    pub send_buffer_len: u32,
    /// Bytes that may arrive ahead of the reader (SO_RCVBUF): the receive window.
    pub receive_buffer_len: u32,
    /// Time without progress after which a connection is given up (TCP_USER_TIMEOUT).
    pub user_timeout: Duration,
    /// The congestion control (TCP_CONGESTION).
    pub congestion: Algorithm,
    /// An option of a module, for connections that a listener accepts: Fast Open is one (TCP_FASTOPEN).
    pub option: Option<OptionKind>,
}

impl Default for Options {
    fn default() -> Self {
        let config = TcpConfig::SERVER;
        Self {
            no_delay: false,
            keep_alive: false,
            keep_alive_pace: KeepAlive {
                idle: Duration::from_secs(7200),
                interval: Duration::from_secs(75),
                probe_count_max: 9,
            },
            linger: None,
            send_buffer_len: 256 << 10,
            receive_buffer_len: 256 << 10,
            user_timeout: config.user_timeout,
            congestion: congestion::CUBIC,
            option: None,
        }
    }
}

/// What of the options the stack must know; connections with the same share a profile.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ProfileKey {
    no_delay: bool,
    keep_alive: Option<KeepAlive>,
    receive_buffer_len: u32,
    user_timeout: Duration,
    congestion: &'static str,
    option: Option<Module>,
}

/// A module is the same where it makes its state by the same function.
#[derive(Clone, Debug)]
struct Module(OptionKind);

impl PartialEq for Module {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name && Arc::ptr_eq(&self.0.start, &other.0.start)
    }
}

impl Options {
    /// Chooses the congestion control by its name: a built-in one, or one that the program registered
    /// ([`congestion::register`]).
    pub fn set_congestion(&mut self, name: &str) -> Result<(), Error> {
        self.congestion = congestion::by_name(name).ok_or(Error::NoSuchAlgorithm)?;
        Ok(())
    }

    /// The same with lengths that work.
    pub(crate) fn clamped(mut self) -> Self {
        self.send_buffer_len = self.send_buffer_len.clamp(BUFFER_LEN_MIN, SEND_BUFFER_LEN_MAX);
        self.receive_buffer_len = self.receive_buffer_len.clamp(BUFFER_LEN_MIN, RECEIVE_BUFFER_LEN_MAX);
        self
    }

    pub(crate) fn profile_key(&self) -> ProfileKey {
        ProfileKey {
            no_delay: self.no_delay,
            keep_alive: self.keep_alive.then_some(self.keep_alive_pace),
            receive_buffer_len: self.receive_buffer_len,
            user_timeout: self.user_timeout,
            congestion: self.congestion.name,
            option: self.option.clone().map(Module),
        }
    }

    /// The stack's settings for such a socket; what cannot be set for one is as in `base`.
    pub(crate) fn tcp_config(&self, base: &TcpConfig) -> TcpConfig {
        TcpConfig {
            nagle: !self.no_delay,
            keep_alive: self.keep_alive.then_some(self.keep_alive_pace),
            receive_window: self.receive_buffer_len,
            user_timeout: self.user_timeout,
            congestion: self.congestion,
            option: self.option.clone(),
            ..base.clone()
        }
    }
}
