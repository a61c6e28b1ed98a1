//! `tidegate top`: rates on a screen, refreshed until `q`.
//!
//! ```text
//!   daemon --Watch--> watcher thread --Rates--> Screen <--keys-- terminal
//! ```

mod screen;

use super::rates::{Rates, watch};
use super::reach;
use crate::args::TopArgs;
use anyhow::{Context, Result, bail};
use crossbeam_channel::{Receiver, unbounded};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use screen::{Screen, View};
use std::io::IsTerminal;
use std::time::Duration;
use tidegate_control::proto::bess::EmptyRequest;
use tidegate_control::proto::v1::watch_request::Kind;

/// How long a key may wait.
const TICK: Duration = Duration::from_millis(100);

/// Shows rates until the user has seen enough or the daemon ends.
pub(crate) fn top(args: &TopArgs) -> Result<()> {
    if !std::io::stdout().is_terminal() {
        bail!("the output is no terminal: tidegate monitor prints the same as lines");
    }
    let mut client = reach(&args.address.address)?;
    let version = client.get_version(EmptyRequest {})?.version;
    let (sender, rates) = unbounded();
    let interval = args.interval;
    std::thread::Builder::new().name("watcher".into()).spawn(move || {
        let kinds = [Kind::Gates, Kind::Modules, Kind::Ports, Kind::Classes];
        let outcome = watch(&mut client, &kinds, interval, |rates| sender.send(Ok(rates)).is_ok());
        // Whoever looked may be gone.
        let _ = sender.send(outcome.and_then(|()| bail!("the daemon has ended")));
    })?;
    let mut screen = Screen::new(format!("{version} at {}", args.address.address));
    let mut terminal = ratatui::try_init().context("could not take the terminal over")?;
    let outcome = show(&mut terminal, &mut screen, &rates);
    ratatui::restore();
    outcome
}

fn show(terminal: &mut DefaultTerminal, screen: &mut Screen, rates: &Receiver<Result<Rates>>) -> Result<()> {
    loop {
        for news in rates.try_iter() {
            screen.take(news?);
        }
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(TICK)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
            && is_end(key, screen)
        {
            return Ok(());
        }
    }
}

/// Whether this key ends it; the others change what is shown.
fn is_end(key: KeyEvent, screen: &mut Screen) -> bool {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return true,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
        KeyCode::Tab | KeyCode::Right => screen.turn_to(screen.view().next()),
        KeyCode::BackTab | KeyCode::Left => screen.turn_to(screen.view().before()),
        KeyCode::Char(digit @ '1'..='4') => {
            if let Some(view) = View::ALL.get(digit as usize - '1' as usize) {
                screen.turn_to(*view);
            }
        }
        KeyCode::Char('s') => screen.reorder(),
        KeyCode::Char('p') | KeyCode::Char(' ') => screen.pause(),
        KeyCode::Down | KeyCode::Char('j') => screen.scroll(1),
        KeyCode::Up | KeyCode::Char('k') => screen.scroll(-1),
        _ => {}
    }
    false
}
