//! libbpf's messages, kept from standard error and handed to whoever asked for the operation.
//!
//! Invariant: a message that libbpf prints on a thread ends in that thread's innermost [`captured`], or
//! nowhere.

use std::cell::RefCell;
use std::sync::Once;

use libbpf_rs::PrintLevel;

thread_local! {
    static MESSAGES: RefCell<Option<String>> = const { RefCell::new(None) };
}

static REDIRECTED: Once = Once::new();

/// Runs `operation` and returns with its result what libbpf had to say about it.
pub(crate) fn captured<T>(operation: impl FnOnce() -> T) -> (T, String) {
    REDIRECTED.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Info, keep)));
    });
    let outer = MESSAGES.replace(Some(String::new()));
    let result = operation();
    let messages = MESSAGES.replace(outer).unwrap_or_default();
    (result, messages)
}

fn keep(_level: PrintLevel, message: String) {
    MESSAGES.with_borrow_mut(|messages| {
        if let Some(messages) = messages {
            messages.push_str(&message);
        }
    });
}

/// The last `count` lines of `messages` that say something.
pub(crate) fn last_lines(messages: &str, count: usize) -> String {
    let lines: Vec<&str> = messages.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
