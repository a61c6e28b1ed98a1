//! A line plot over named categories on a logarithmic scale, written as SVG without any library.
//!
//! It knows nothing of what it shows; labels, units and order are the caller's.

use std::fmt::{self, Write};

/// One line of a panel; a value that is absent leaves a gap.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) values: Vec<Option<f64>>,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) categories: Vec<String>,
    pub(crate) series: Vec<Series>,
}

/// Panels beside each other under one title, on one scale.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) footer: String,
    pub(crate) panels: Vec<Panel>,
}

const PANEL_WIDTH: f64 = 520.0;
const PANEL_HEIGHT: f64 = 340.0;
const MARGIN_LEFT: f64 = 64.0;
const MARGIN_TOP: f64 = 84.0;
const MARGIN_BOTTOM: f64 = 128.0;
const GAP: f64 = 40.0;
/// Told apart also by those who see fewer colours (Okabe and Ito), but for the last two.
const COLOURS: [&str; 10] = [
    "#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000", "#999999", "#f0e442",
    "#8b4513",
];

impl Plot {
    /// The whole picture.
    pub(crate) fn svg(&self) -> String {
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = self.draw(&mut svg);
        svg
    }

    fn draw(&self, svg: &mut String) -> fmt::Result {
        let width = MARGIN_LEFT + self.panels.len() as f64 * (PANEL_WIDTH + GAP);
        let height = MARGIN_TOP + PANEL_HEIGHT + MARGIN_BOTTOM;
        writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
        )?;
        text(svg, MARGIN_LEFT, 26.0, "font-size=\"17\" font-weight=\"bold\"", &self.title)?;
        text(svg, MARGIN_LEFT, height - 12.0, "font-size=\"11\" fill=\"#777\"", &self.footer)?;
        let scale = Scale::over(self.panels.iter().flat_map(Panel::values));
        for (index, panel) in self.panels.iter().enumerate() {
            let left = MARGIN_LEFT + index as f64 * (PANEL_WIDTH + GAP);
            panel.draw(svg, left, &scale, &self.unit)?;
        }
        writeln!(svg, "</svg>")
    }
}

impl Panel {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(|series| series.values.iter().copied().flatten())
    }

    fn draw(&self, svg: &mut String, left: f64, scale: &Scale, unit: &str) -> fmt::Result {
        text(svg, left, MARGIN_TOP - 30.0, "font-weight=\"bold\"", &self.title)?;
        for value in scale.ticks() {
            let y = scale.y(value);
            writeln!(svg, "<path d=\"M{left} {y:.1}h{PANEL_WIDTH}\" stroke=\"#ddd\"/>")?;
            text(svg, left - 8.0, y + 4.0, "text-anchor=\"end\" fill=\"#555\"", &format!("{value} {unit}"))?;
        }
        for (index, category) in self.categories.iter().enumerate() {
            let x = self.x(left, index);
            text(svg, x, MARGIN_TOP + PANEL_HEIGHT + 20.0, "text-anchor=\"middle\" fill=\"#555\"", category)?;
        }
        for (index, series) in self.series.iter().enumerate() {
            self.draw_series(svg, left, scale, series, COLOURS[index % COLOURS.len()])?;
            self.draw_key(svg, left, index, &series.name)?;
        }
        Ok(())
    }

    fn x(&self, left: f64, index: usize) -> f64 {
        left + PANEL_WIDTH * (index as f64 + 0.5) / self.categories.len() as f64
    }

    fn draw_series(
        &self,
        svg: &mut String,
        left: f64,
        scale: &Scale,
        series: &Series,
        colour: &str,
    ) -> fmt::Result {
        let mut path = String::new();
        for (index, value) in series.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (x, y) = (self.x(left, index), scale.y(*value));
            let after_a_gap = index == 0 || series.values[index - 1].is_none();
            write!(path, "{}{x:.1} {y:.1}", if after_a_gap { 'M' } else { 'L' })?;
            writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>")?;
        }
        writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>")
    }

    fn draw_key(&self, svg: &mut String, left: f64, index: usize, name: &str) -> fmt::Result {
        let x = left + (index % 3) as f64 * 176.0;
        let y = MARGIN_TOP + PANEL_HEIGHT + 42.0 + (index / 3) as f64 * 18.0;
        let colour = COLOURS[index % COLOURS.len()];
        writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\"/>")?;
        text(svg, x + 10.0, y + 4.0, "", name)
    }
}

fn text(svg: &mut String, x: f64, y: f64, style: &str, content: &str) -> fmt::Result {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{content}</text>")
}

/// A logarithmic axis that spans whole decades.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>) -> Scale {
        let logs = values.filter(|value| *value > 0.0).map(f64::log10);
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), log| (low.min(log), high.max(log)));
        if low > high {
            return Scale { low: 0.0, high: 1.0 };
        }
        Scale { low: low.floor(), high: high.ceil().max(low.floor() + 1.0) }
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        MARGIN_TOP + PANEL_HEIGHT * (1.0 - share)
    }

    /// 1, 2 and 5 of each decade.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = (self.low as i32, self.high as i32);
        let all = (low..=high).flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(decade)));
        all.filter(move |tick| tick.log10() <= f64::from(high) + 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_breaks_the_line() {
        let series = Series { name: "a<b".into(), values: vec![Some(1.0), None, Some(100.0)] };
        let categories = ["x", "y", "z"].map(str::to_owned).to_vec();
        let panel = Panel { title: "p".into(), categories, series: vec![series] };
        let plot = Plot { title: "t".into(), unit: "us".into(), footer: String::new(), panels: vec![panel] };
        let svg = plot.svg();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("a&lt;b") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains('L'), "{svg}");
    }

    #[test]
    fn a_scale_spans_whole_decades() {
        let scale = Scale::over([3.0, 450.0].into_iter());
        assert_eq!(
            scale.ticks().collect::<Vec<_>>(),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(scale.y(1000.0), MARGIN_TOP);
        assert_eq!(scale.y(1.0), MARGIN_TOP + PANEL_HEIGHT);
    }
}
