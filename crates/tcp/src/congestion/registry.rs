//! Algorithms by name: the built-in ones, and those that a program registers from other crates.

use super::{Algorithm, CUBIC, NEW_RENO};
use core::fmt;
use std::sync::{PoisonError, RwLock};

/// A process has one set of names, whichever configuration they stand in.
static REGISTERED: RwLock<Vec<Algorithm>> = RwLock::new(Vec::new());

/// Two algorithms cannot have one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a congestion control `{}` exists already: give the new one another name", self.0)
    }
}

impl std::error::Error for NameTaken {}

/// Lets [`by_name`] find an algorithm of another crate. The same one may be registered again.
pub fn register(algorithm: Algorithm) -> Result<(), NameTaken> {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let taken = [NEW_RENO, CUBIC].iter().chain(registered.iter()).find(|known| known.name == algorithm.name);
    match taken {
        Some(known) if core::ptr::fn_addr_eq(known.start, algorithm.start) => Ok(()),
        Some(known) => Err(NameTaken(known.name)),
        None => {
            registered.push(algorithm);
            Ok(())
        }
    }
}

/// All algorithms there are.
fn all() -> Vec<Algorithm> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    [NEW_RENO, CUBIC].into_iter().chain(registered.iter().copied()).collect()
}

/// The algorithm of that name.
pub fn by_name(name: &str) -> Option<Algorithm> {
    all().into_iter().find(|algorithm| algorithm.name == name)
}

/// The names that [`by_name`] knows, for a message that refuses another.
pub fn names() -> Vec<&'static str> {
    all().into_iter().map(|algorithm| algorithm.name).collect()
}
