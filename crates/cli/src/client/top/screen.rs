//! What is on the screen: one of four tables, ordered by load or by name.

use crate::client::rates::{Rates, short};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, Tabs};

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Modules,
    Gates,
    Ports,
    Classes,
}

impl View {
    pub(super) const ALL: [View; 4] = [View::Modules, View::Gates, View::Ports, View::Classes];

    const fn title(self) -> &'static str {
        match self {
            View::Modules => "1 modules",
            View::Gates => "2 gates",
            View::Ports => "3 ports",
            View::Classes => "4 classes",
        }
    }

    const fn heads(self) -> &'static [&'static str] {
        match self {
            View::Modules => &["module", "packets/s", "dropped/s", "cycles/packet"],
            View::Gates => &["gate", "packets/s", "bits/s", "packets/batch"],
            View::Ports => &["port", "received/s", "bits/s", "dropped/s", "sent/s", "bits/s", "dropped/s"],
            View::Classes => &["class", "worker", "runs/s", "packets/s", "bits/s", "cycles/s"],
        }
    }

    pub(super) fn next(self) -> View {
        View::ALL[(self as usize + 1) % View::ALL.len()]
    }

    pub(super) fn before(self) -> View {
        View::ALL[(self as usize + View::ALL.len() - 1) % View::ALL.len()]
    }
}

/// A line of a table: what orders it, and its cells.
struct Entry {
    load: f64,
    cells: Vec<String>,
}

/// The screen.
pub(super) struct Screen {
    title: String,
    view: View,
    rates: Rates,
    is_by_name: bool,
    is_paused: bool,
    offset: usize,
}

impl Screen {
    pub(super) fn new(title: String) -> Self {
        let rates = Rates::default();
        Self { title, view: View::Modules, rates, is_by_name: false, is_paused: false, offset: 0 }
    }

    /// Takes new rates, unless what is shown is to stay.
    pub(super) fn take(&mut self, rates: Rates) {
        if !self.is_paused {
            self.rates = rates;
        }
    }

    pub(super) fn view(&self) -> View {
        self.view
    }

    pub(super) fn turn_to(&mut self, view: View) {
        self.view = view;
        self.offset = 0;
    }

    pub(super) fn reorder(&mut self) {
        self.is_by_name = !self.is_by_name;
    }

    pub(super) fn pause(&mut self) {
        self.is_paused = !self.is_paused;
    }

    pub(super) fn scroll(&mut self, by: isize) {
        let last = self.entries().len().saturating_sub(1);
        self.offset = self.offset.saturating_add_signed(by).min(last);
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let [head, tabs, body, foot] = Layout::vertical(rows).areas(frame.area());
        frame.render_widget(Paragraph::new(self.head()), head);
        let titles = View::ALL.map(View::title);
        let chosen = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Tabs::new(titles).select(self.view as usize).highlight_style(chosen), tabs);
        frame.render_widget(self.table(), body);
        let keys = "Tab another table   s order   p pause   up, down scroll   q end";
        frame.render_widget(Paragraph::new(keys).style(Style::new().add_modifier(Modifier::DIM)), foot);
    }

    fn head(&self) -> String {
        let state = if self.is_paused { ", paused" } else { "" };
        if self.rates.seconds == 0.0 {
            return format!("{}: the first rates come in a moment", self.title);
        }
        let order = if self.is_by_name { "name" } else { "load" };
        format!("{}, {} UTC, by {order}{state}", self.title, self.rates.time())
    }

    fn table(&self) -> Table<'_> {
        let right = |text: &str| Cell::new(Line::from(text.to_owned()).right_aligned());
        let row = |cells: &[String]| {
            let (first, rest) =
                cells.split_first().map_or((String::new(), &[][..]), |(first, rest)| (first.clone(), rest));
            Row::new(std::iter::once(Cell::new(first)).chain(rest.iter().map(|cell| right(cell))))
        };
        let heads: Vec<String> = self.view.heads().iter().map(|head| (*head).to_owned()).collect();
        let entries = self.entries();
        let lines: Vec<Row<'_>> = entries.iter().skip(self.offset).map(|entry| row(&entry.cells)).collect();
        let widths =
            std::iter::once(Constraint::Fill(1)).chain(heads.iter().skip(1).map(|_| Constraint::Length(14)));
        Table::new(lines, widths).header(row(&heads).style(Style::new().add_modifier(Modifier::BOLD)))
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries = match self.view {
            View::Modules => self.modules(),
            View::Gates => self.gates(),
            View::Ports => self.ports(),
            View::Classes => self.classes(),
        };
        if self.is_by_name {
            entries.sort_by(|a, b| a.cells.cmp(&b.cells));
        } else {
            entries.sort_by(|a, b| b.load.total_cmp(&a.load));
        }
        entries
    }

    fn modules(&self) -> Vec<Entry> {
        let entry = |it: &crate::client::rates::ModuleRate| {
            let each =
                if it.packets > 0.0 { format!("{:.1}", it.cycles / it.packets) } else { "-".to_owned() };
            Entry {
                load: it.cycles,
                cells: vec![it.module.clone(), short(it.packets), short(it.drops), each],
            }
        };
        self.rates.modules.iter().map(entry).collect()
    }

    fn gates(&self) -> Vec<Entry> {
        let entry = |it: &crate::client::rates::GateRate| {
            let each =
                if it.batches > 0.0 { format!("{:.1}", it.packets / it.batches) } else { "-".to_owned() };
            let bits = if it.bits > 0.0 { short(it.bits) } else { "-".to_owned() };
            Entry { load: it.packets, cells: vec![it.gate.clone(), short(it.packets), bits, each] }
        };
        self.rates.gates.iter().map(entry).collect()
    }

    fn ports(&self) -> Vec<Entry> {
        let entry = |it: &crate::client::rates::PortRate| {
            let rates = [it.received, it.sent].into_iter().flat_map(|it| [it.packets, it.bits, it.drops]);
            let cells = std::iter::once(it.port.clone()).chain(rates.map(short)).collect();
            Entry { load: it.received.packets + it.sent.packets, cells }
        };
        self.rates.ports.iter().map(entry).collect()
    }

    fn classes(&self) -> Vec<Entry> {
        let entry = |it: &crate::client::rates::ClassRate| {
            let rates = [it.runs, it.packets, it.bits, it.cycles].map(short);
            let cells = [it.class.clone(), it.worker.to_string()].into_iter().chain(rates).collect();
            Entry { load: it.cycles, cells }
        };
        self.rates.classes.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::rates::{GateRate, ModuleRate};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(screen: &Screen) -> String {
        let mut terminal = Terminal::new(TestBackend::new(70, 8)).expect("a terminal");
        terminal.draw(|frame| screen.draw(frame)).expect("drawn");
        terminal.backend().to_string()
    }

    fn screen() -> Screen {
        let mut screen = Screen::new("tidegate-0.1.0 at 127.0.0.1:10514".to_owned());
        let module = |name: &str, packets: f64| ModuleRate {
            module: name.to_owned(),
            packets,
            cycles: packets * 2.0,
            drops: 0.0,
        };
        let gate =
            GateRate { gate: "q:0".into(), module: "q".into(), packets: 3200.0, batches: 100.0, bits: 0.0 };
        screen.take(Rates {
            timestamp: 3661.0,
            seconds: 1.0,
            modules: vec![module("a", 5.0), module("q", 14_880_000.0)],
            gates: vec![gate],
            ..Rates::default()
        });
        screen
    }

    #[test]
    fn the_busiest_module_comes_first() {
        let text = drawn(&screen());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("tidegate-0.1.0 at 127.0.0.1:10514, 01:01:01 UTC, by load"), "{text}");
        assert!(lines[2].contains("module") && lines[2].contains("cycles/packet"), "{text}");
        assert!(lines[3].contains("14.88 M") && lines[3].contains("2.0"), "{text}");
        assert!(lines[4].starts_with("\"a "), "{text}");
        assert!(lines[7].contains("q end"), "{text}");
    }

    #[test]
    fn keys_turn_order_hold_and_scroll() {
        let mut screen = screen();
        screen.reorder();
        assert!(drawn(&screen).lines().nth(3).is_some_and(|line| line.starts_with("\"a ")));
        screen.scroll(1);
        assert!(drawn(&screen).lines().nth(3).is_some_and(|line| line.starts_with("\"q ")));
        screen.turn_to(View::Modules.next());
        assert!(drawn(&screen).contains("q:0") && drawn(&screen).contains("32.0"));
        screen.pause();
        screen.take(Rates::default());
        assert!(drawn(&screen).contains("q:0") && drawn(&screen).contains("paused"));
        assert_eq!(View::Modules.before(), View::Classes);
    }
}
