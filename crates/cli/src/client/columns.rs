//! Columns that line up: names to the left, numbers to the right.

/// A table that is being filled.
pub(crate) struct Columns {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table with these heads; a column whose head begins with `>` holds numbers.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a line.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table; without a line, what there is none of.
    pub(crate) fn text_or(&self, nothing: &str) -> String {
        if self.rows.is_empty() { format!("{nothing}\n") } else { self.text() }
    }

    /// The table.
    pub(crate) fn text(&self) -> String {
        let names: Vec<String> =
            self.heads.iter().map(|head| head.trim_start_matches('>').to_owned()).collect();
        let widths: Vec<usize> = (0..names.len())
            .map(|at| std::iter::once(&names).chain(&self.rows).map(|row| len(row, at)).max().unwrap_or(0))
            .collect();
        let lines = std::iter::once(&names).chain(&self.rows);
        lines.map(|row| format!("{}\n", self.line(row, &widths).trim_end())).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cell = |at: usize| {
            let text = row.get(at).map_or("", String::as_str);
            let pad = " ".repeat(widths[at] - text.chars().count());
            if self.heads[at].starts_with('>') { format!("{pad}{text}") } else { format!("{text}{pad}") }
        };
        (0..self.heads.len()).map(cell).collect::<Vec<_>>().join("  ")
    }
}

fn len(row: &[String], at: usize) -> usize {
    row.get(at).map_or(0, |cell| cell.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_numbers_right() {
        let mut columns = Columns::new(&["name", ">packets", "what"]);
        assert_eq!(columns.text_or("none"), "none\n");
        columns.row(["q".to_owned(), "12345678".to_owned(), "a queue".to_owned()]);
        columns.row(["routes".to_owned(), "1".to_owned(), String::new()]);
        let expected = "name     packets  what\nq       12345678  a queue\nroutes         1\n";
        assert_eq!(columns.text_or("none"), expected);
    }
}
