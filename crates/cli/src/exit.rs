//! How the command ends: 0, 1 for what failed, 2 for what was typed wrong.

use std::process::ExitCode;
use tidegate_service::ServiceError;

/// What was typed, or what a configuration file says, is wrong.
pub(crate) const WRONG_INPUT: u8 = 2;

/// Marks an error as the user's to mend by typing something else.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongInput(pub(crate) String);

/// An error that ends the command with [`WRONG_INPUT`].
pub(crate) fn wrong_input(text: impl Into<String>) -> anyhow::Error {
    WrongInput(text.into()).into()
}

/// Prints the error as one line and gives the exit status that goes with it.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("tidegate: {}", explain(error));
    let is_of_service = error.downcast_ref::<ServiceError>().is_some_and(ServiceError::is_input);
    if error.is::<WrongInput>() || is_of_service { ExitCode::from(WRONG_INPUT) } else { ExitCode::FAILURE }
}

/// The error and its causes, without the causes that an outer message quotes already.
pub(crate) fn explain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |mut said, cause| {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
        said
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let io = std::io::Error::from_raw_os_error(1);
        let quoted = anyhow::Error::new(io).context("could not: Operation not permitted (os error 1)");
        assert_eq!(explain(&quoted), "could not: Operation not permitted (os error 1)");
        assert_eq!(explain(&anyhow::anyhow!("inner").context("outer")), "outer: inner");
    }
}
