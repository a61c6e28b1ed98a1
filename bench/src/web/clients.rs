//! Whether our own client may be believed: what it and wrk saw of the same servers and the same files.
//!
//! CPU a request should agree where both fill the server, and be lower with ours where wrk cannot, since a server
//! that is asked for more works in larger batches.

use super::client::ClientKind;
use super::plan::Cell;
use super::report::Median;

/// Each cell that both filled, side by side; nothing where only one of them asked.
pub(crate) fn cross_check(medians: &[Median]) -> String {
    let ours = medians.iter().filter(|median| median.cell.client == ClientKind::Packet);
    let pairs = ours.filter_map(|ours| Some((counterpart(ours, medians)?, ours)));
    let rows: String = pairs.map(|(wrk, ours)| row(wrk, ours)).collect();
    if rows.is_empty() { rows } else { format!("{HEADING}{rows}") }
}

const HEADING: &str = "
Our own client against wrk

| body    | connections              | server            | CPU us, wrk | CPU us, ours | ours / wrk | requests/s, wrk | requests/s, ours |
|---------|--------------------------|-------------------|------------:|-------------:|-----------:|----------------:|-----------------:|
";

/// What wrk saw of the same.
fn counterpart<'a>(ours: &Median, medians: &'a [Median]) -> Option<&'a Median> {
    let cell = Cell { client: ClientKind::Wrk, ..ours.cell };
    medians.iter().find(|median| median.cell == cell && median.server == ours.server)
}

fn row(wrk: &Median, ours: &Median) -> String {
    format!(
        "| {:7} | {:24} | {:17} | {:11.2} | {:12.2} | {:10.2} | {:15.0} | {:16.0} |\n",
        ours.cell.body,
        ours.cell.connection.words(),
        ours.server.name(),
        wrk.cpu_us_per_request,
        ours.cpu_us_per_request,
        ours.cpu_us_per_request / wrk.cpu_us_per_request,
        wrk.requests_per_s,
        ours.requests_per_s,
    )
}
