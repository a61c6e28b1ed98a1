//! What a batch is worth (paper, figure 8b): Tidegate at one rate with batches of different sizes.

use super::median::Median;
use super::plan::{Load, TOO_MUCH};
use super::report::percent;
use crate::plot::{Panel, Series};

/// The medians with a batch size of their own, by size.
pub(crate) fn batched(medians: &[Median]) -> Vec<(u16, &Median)> {
    let overloaded = medians.iter().filter(|median| median.load == Load::Open(TOO_MUCH));
    let mut batched: Vec<_> = overloaded.filter_map(|m| Some((m.contender.batch?, m))).collect();
    batched.sort_by_key(|(batch, _)| *batch);
    batched
}

/// The table, or nothing where no sizes were compared.
pub(crate) fn table(medians: &[Median]) -> String {
    let batched = batched(medians);
    let Some(&(_, first)) = batched.first() else { return String::new() };
    let mut text = format!(
        "\n## Batches\n\n{}, offered {TOO_MUCH} % of what it bears with its own batch size\n\n\
         | batch | answers/s | against the smallest | CPU us | user us | lost     |\n\
         |------:|----------:|---------------------:|-------:|--------:|---------:|\n",
        first.contender.server.name()
    );
    for (batch, median) in batched {
        text.push_str(&format!(
            "| {batch:5} | {:9.0} | {:20.2} | {:6.2} | {:7.2} | {:>8} |\n",
            median.answers_per_s,
            median.answers_per_s / first.answers_per_s,
            median.cpu_us_per_answer,
            median.user_us_per_answer,
            percent(median.loss),
        ));
    }
    text
}

/// The same as a line.
pub(crate) fn panel(medians: &[Median]) -> Option<Panel> {
    let batched = batched(medians);
    let (_, first) = batched.first()?;
    let series = Series {
        name: first.contender.server.name().into(),
        values: batched.iter().map(|(_, median)| Some(median.cpu_us_per_answer)).collect(),
    };
    Some(Panel {
        title: "overload, by batch size".into(),
        categories: batched.iter().map(|(batch, _)| batch.to_string()).collect(),
        series: vec![series],
    })
}
