//! Tidegate's own messages: to the error output, as words or as JSON.
//!
//! Not the access log, which is the `web` crate's, and not the one line on the standard output that says
//! where a service is to be found.

use tidegate_service::config::LogFormat;
use tracing_subscriber::EnvFilter;

/// Starts writing messages; `RUST_LOG` says which (default: `info`).
pub(crate) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => logs.with_target(false).with_ansi(false).init(),
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
}
