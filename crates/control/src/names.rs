//! Names and numbers that requests carry: which are good, and how one is made that was left out.

use crate::{Fault, GATES_MAX, WORKERS_MAX};

/// Bytes that a name may have.
const NAME_LEN_MAX: usize = 255;

/// Bytes of a client's text that an error quotes.
const QUOTE_LEN_MAX: usize = 60;

/// The first of `short_name` followed by 0, 1, 2 and so on that is not `taken`.
pub fn generated_name(short_name: &str, mut taken: impl FnMut(&str) -> bool) -> String {
    let mut names = (0u64..).map(|count| format!("{short_name}{count}"));
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// A client's text, fit to stand in one line of an error.
pub(crate) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(QUOTE_LEN_MAX).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(QUOTE_LEN_MAX).is_some() { "..." } else { "" };
    format!("`{shown}{more}`")
}

/// A name that must be given; `what` says whose it is.
pub(crate) fn required(what: &str, name: String) -> Result<String, Fault> {
    if name.is_empty() {
        return Err(Fault::invalid(format!("the name of a {what} is missing")));
    }
    checked(what, name)
}

/// A name that may be left out.
pub(crate) fn optional(what: &str, name: String) -> Result<Option<String>, Fault> {
    if name.is_empty() { Ok(None) } else { checked(what, name).map(Some) }
}

fn checked(what: &str, name: String) -> Result<String, Fault> {
    let wrong = if name.len() > NAME_LEN_MAX {
        format!("is {} bytes long: {NAME_LEN_MAX} are the most", name.len())
    } else if name.chars().any(char::is_control) {
        "has control characters in it".to_owned()
    } else {
        return Ok(name);
    };
    Err(Fault::invalid(format!("{what} {} {wrong}", quoted(&name))))
}

/// `number` as one of 0 to `end`, `end` left out.
pub(crate) fn below<N, T>(what: &str, number: N, end: u64) -> Result<T, Fault>
where
    N: Copy + std::fmt::Display + TryInto<u64>,
    T: TryFrom<u64>,
{
    let within = number.try_into().ok().filter(|number| *number < end);
    within.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        Fault::invalid(format!("{what} {number} does not exist: 0 to {} do", end.saturating_sub(1)))
    })
}

/// The number of a worker.
pub(crate) fn worker(wid: i64) -> Result<u8, Fault> {
    below("worker", wid, WORKERS_MAX)
}

/// The number of a gate that any module could have.
pub(crate) fn gate(number: u64) -> Result<u16, Fault> {
    below("gate", number, GATES_MAX)
}

#[cfg(test)]
mod tests;
