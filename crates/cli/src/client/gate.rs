//! Gates as they are typed: `q:0` for an output gate, `0:q` for an input gate, as in `q:0 -> 1:m`.

use crate::exit::wrong_input;
use anyhow::Result;

/// A gate of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// What leaves the module.
    Output { module: String, gate: u64 },
    /// What comes to it.
    Input { module: String, gate: u64 },
}

impl Gate {
    /// `q:0` and `q[0]` are output gates, `0:q` and `[0]q` are input gates.
    pub(crate) fn parse(text: &str) -> Result<Gate> {
        let named = |module: &str, gate: &str| {
            let gate = gate.parse().ok().filter(|_| !module.is_empty())?;
            Some((module.to_owned(), gate))
        };
        let bracketed = text.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
        let output = text.rsplit_once(':').or(bracketed).and_then(|(module, gate)| named(module, gate));
        if let Some((module, gate)) = output {
            return Ok(Gate::Output { module, gate });
        }
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let input = text.split_once(':').or(bracketed).and_then(|(gate, module)| named(module, gate));
        if let Some((module, gate)) = input {
            return Ok(Gate::Input { module, gate });
        }
        Err(wrong_input(format!(
            "{text} is no gate: write {text}:0 for what leaves it, 0:{text} for what comes to it"
        )))
    }

    /// The output gate that `text` means: 0, if it names a module alone.
    pub(crate) fn output(text: &str) -> Result<(String, u64)> {
        match Gate::parse(text) {
            Ok(Gate::Output { module, gate }) => Ok((module, gate)),
            Ok(Gate::Input { module, gate }) => Err(wrong_input(format!(
                "{text} is an input gate: a connection begins at an output, {module}:{gate}"
            ))),
            Err(_) => Ok((text.to_owned(), 0)),
        }
    }

    /// The input gate that `text` means: 0, if it names a module alone.
    pub(crate) fn input(text: &str) -> Result<(String, u64)> {
        match Gate::parse(text) {
            Ok(Gate::Input { module, gate }) => Ok((module, gate)),
            Ok(Gate::Output { module, gate }) => Err(wrong_input(format!(
                "{text} is an output gate: a connection ends at an input, {gate}:{module}"
            ))),
            Err(_) => Ok((text.to_owned(), 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_of_the_number_tells_the_direction() {
        for (text, expected) in [("q:3", true), ("q[3]", true), ("3:q", false), ("[3]q", false)] {
            let module = "q".to_owned();
            let gate =
                if expected { Gate::Output { module, gate: 3 } } else { Gate::Input { module, gate: 3 } };
            assert_eq!(Gate::parse(text).expect("a gate"), gate, "{text}");
        }
        for text in ["q", "", ":", "q:x", ":3"] {
            assert!(Gate::parse(text).is_err(), "{text}");
        }
        assert_eq!(Gate::output("q").expect("a gate"), ("q".to_owned(), 0));
        assert!(Gate::output("1:q").unwrap_err().to_string().contains("q:1"));
        assert!(Gate::input("q:1").unwrap_err().to_string().contains("1:q"));
    }
}
