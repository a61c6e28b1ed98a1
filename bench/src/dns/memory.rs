//! The name server without a kernel, beside those that have one: the rows of `dns-memory`, in the same report.

use anyhow::anyhow;

use crate::dns_memory::{self, Args, Row};

/// Takes the rows, on a thread of their own: it stays on their processor.
pub(crate) fn measure() -> anyhow::Result<Vec<Row>> {
    let rows = std::thread::spawn(|| dns_memory::measure(&Args::beside_comparison(), |_| ()));
    rows.join().map_err(|_| anyhow!("the bench over the memory port has panicked"))?
}

/// The table, or nothing where nothing was measured.
pub(crate) fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heading = "\n## Without a kernel\n\nOver the memory port: the server's own modules on one processor, wire keys, EDNS, \
                   names drawn alike, one A record each\n\n\
                   | names   | store    | batch | ns an answer | answers/s  | best slice, ns |\n\
                   |--------:|----------|------:|-------------:|-----------:|---------------:|\n";
    std::iter::once(heading.to_owned()).chain(rows.iter().map(row)).collect()
}

fn row(row: &Row) -> String {
    format!(
        "| {:7} | {:8} | {:5} | {:12.1} | {:10.0} | {:14.1} |\n",
        row.name_count,
        row.store,
        row.batch_len,
        row.median_ns,
        1e9 / row.median_ns,
        row.best_ns,
    )
}

/// Million answers a second of the quickest store with batches of 32 and so many names.
pub(crate) fn best_rate(rows: &[Row], name_count: u32) -> Option<f64> {
    let alike = rows.iter().filter(|row| (row.name_count, row.batch_len) == (name_count, 32));
    alike.map(|row| 1e3 / row.median_ns).max_by(f64::total_cmp)
}

/// How many times the answers of a batch of one a batch of 32 gives, with answers written in place.
pub(crate) fn batch_gain(rows: &[Row]) -> Option<f64> {
    let of = |batch_len| {
        let last = rows.iter().rev().filter(|row| row.store == "in-place");
        last.into_iter().find(|row| row.batch_len == batch_len).map(|row| row.median_ns)
    };
    Some(of(1)? / of(32)?)
}
