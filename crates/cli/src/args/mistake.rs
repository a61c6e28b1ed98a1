//! What was typed wrong, in one line.

use super::Cli;
use clap::CommandFactory;
use clap::error::{ContextKind, ErrorKind};

/// clap's message without its layout: what is wrong, what it suggests, and where to read on.
pub(super) fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("no command given: type one of {}, or see tidegate --help", commands().join(", "));
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let wrong = paragraphs.next().unwrap_or_default().trim_start_matches("error: ");
    let wrong = wrong.split_whitespace().collect::<Vec<_>>().join(" ");
    let tip = paragraphs.find_map(|p| p.trim().strip_prefix("tip: ").map(str::to_owned));
    let tip = tip.map(|tip| format!(" ({})", tip.trim())).unwrap_or_default();
    format!("{wrong}{tip}; see {} --help", asked_of(error))
}

fn commands() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

/// `tidegate web` where that was typed, `tidegate` otherwise.
fn asked_of(error: &clap::Error) -> String {
    let typed = std::env::args().nth(1).filter(|word| commands().contains(word));
    let known = error.get(ContextKind::InvalidSubcommand).is_none();
    typed.filter(|_| known).map_or("tidegate".into(), |command| format!("tidegate {command}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    fn complaint(words: &[&str]) -> String {
        one_line(&Cli::try_parse_from(words).expect_err("wrong on purpose"))
    }

    #[test]
    fn mistakes_are_one_line_that_names_them() {
        for (words, named) in [
            (&["tidegate"][..], "type one of web, dns, serve, daemon, run, check"),
            (&["tidegate", "wbe"], "'wbe'"),
            (&["tidegate", "web", "--rot", "x"], "'--root'"),
            (&["tidegate", "web", "--listen", "here"], "'here'"),
            (&["tidegate", "web", "--memory", "lots"], "512MiB"),
            (&["tidegate", "web", "--batch", "999"], "1..=512"),
            (&["tidegate", "dns", "--zoen", "x"], "'--zone'"),
            (&["tidegate", "dns", "--zone", "=x"], "NAME=FILE"),
            (&["tidegate", "serve"], "--config"),
        ] {
            let complaint = complaint(words);
            assert!(complaint.contains(named) && complaint.contains("--help"), "{complaint}");
            assert!(!complaint.contains('\n'), "{complaint}");
        }
    }
}
