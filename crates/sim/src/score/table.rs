//! Scores as text for people.

use super::text::{decimals, none, percent, rate};
use super::{NeutronScore, RateBin, Residual, Score};
use std::fmt::{Display, Formatter, Result, Write as _};

/// Rows of cells under their titles: the first column to the left, the others to the right.
fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(titles.get(column).map(|title| title.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(rows) {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = match column {
                0 => write!(text, "  {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

impl Display for Score {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let events = &self.events;
        let mean_rate = self.neutrons_per_second.map_or_else(none, rate);
        writeln!(
            f,
            "{} neutrons at {mean_rate}, {} of them resolvable; {} events",
            self.all.neutrons,
            percent(self.ceiling),
            events.events
        )?;
        let row = |name: &str, score: &NeutronScore| {
            vec![
                name.to_owned(),
                score.neutrons.to_string(),
                score.found.to_string(),
                format!("{} ± {}", percent(score.efficiency), percent(score.efficiency_error)),
                score.merged.to_string(),
                score.missed.to_string(),
                percent(score.in_wrong_pixel_share),
            ]
        };
        let titles = ["neutrons", "number", "found", "efficiency", "merged", "missed", "in a wrong pixel"];
        f.write_str(&table(&titles, &[row("resolvable", &self.resolvable), row("all", &self.all)]))?;
        let row = |name: &str, count: u64, share: Option<f64>| {
            vec![name.to_owned(), count.to_string(), percent(share)]
        };
        let rows = [
            row("matched", events.matched, super::share(events.matched, events.events)),
            row("split", events.split, self.split_share),
            row("ghosts", events.ghosts, self.ghost_share),
        ];
        f.write_str(&table(&["events", "number", "share"], &rows))?;
        let row = |name: &str, residual: &Residual| {
            vec![
                name.to_owned(),
                decimals(residual.mean, 3),
                decimals(residual.rms, 3),
                decimals(residual.median, 3),
            ]
        };
        let mut rows = Vec::new();
        for (axis, residual) in
            ["x (pixels)", "y (pixels)", "z (pixels)"].iter().zip(&self.resolvable.position)
        {
            rows.extend(residual.as_ref().map(|residual| row(axis, residual)));
        }
        rows.push(row("time (ns)", &self.resolvable.time_ns));
        f.write_str(&table(&["event less truth, resolvable", "mean", "RMS", "median"], &rows))?;
        f.write_str(&rate_table(&self.against_rate))
    }
}

/// The score against the rate at the moment of each neutron.
pub fn rate_table(bins: &[RateBin]) -> String {
    let rows: Vec<Vec<String>> = bins
        .iter()
        .map(|bin| {
            vec![
                match bin.to {
                    Some(to) => format!("{} to {}", rate(bin.from), rate(to)),
                    None => format!("above {}", rate(bin.from)),
                },
                bin.neutrons.to_string(),
                percent(bin.resolvable_efficiency()),
                percent(bin.efficiency()),
                percent(bin.ceiling()),
                bin.merged.to_string(),
                bin.split.to_string(),
                percent(bin.ghost_share()),
            ]
        })
        .collect();
    let titles =
        ["rate", "neutrons", "found of resolvable", "of all", "ceiling", "merged", "split", "ghosts"];
    table(&titles, &rows)
}

/// One line for each run, with its name, against its mean rate.
pub fn run_table<'a>(runs: impl IntoIterator<Item = (&'a str, &'a Score)>) -> String {
    let rows: Vec<Vec<String>> = runs
        .into_iter()
        .map(|(name, score)| {
            let mean_rate = score.neutrons_per_second.map_or_else(none, rate);
            [name.to_owned(), mean_rate].into_iter().chain(run_cells(score)).collect()
        })
        .collect();
    table(&[&["run", "mean rate"], &RUN_TITLES[..]].concat(), &rows)
}

/// One line for each run, against the mean rate that it was simulated with, in hertz: a table in Markdown.
pub fn markdown_table<'a>(runs: impl IntoIterator<Item = (f64, &'a Score)>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<String> =
        std::iter::once("mean rate").chain(RUN_TITLES).map(|title| title.to_owned()).collect();
    let mut text = line(&titles) + &line(&vec!["---:".to_owned(); titles.len()]);
    for (hertz, score) in runs {
        let cells: Vec<String> = std::iter::once(rate(hertz)).chain(run_cells(score)).collect();
        text += &line(&cells);
    }
    text
}

/// How far an event may be from its neutron, along the axes with several pixels.
pub fn tolerance_text(score: &Score) -> String {
    let axes = score.resolvable.position.iter().zip(score.settings.largest_distance);
    let pixels = axes
        .filter(|(residual, _)| residual.is_some())
        .map(|(_, pixels)| format!("{}", (pixels * 100.0).round() / 100.0));
    pixels.collect::<Vec<_>>().join(", ")
}

/// What is said of a run.
const RUN_TITLES: [&str; 11] = [
    "rate at neutrons",
    "tolerance x, y, z (pixels)",
    "neutrons",
    "found of resolvable",
    "found of all",
    "ceiling",
    "ghosts",
    "merged",
    "split",
    "RMS x, y, z (pixels)",
    "time (ns)",
];

fn run_cells(score: &Score) -> impl Iterator<Item = String> {
    let rms = score.resolvable.position.iter().flatten().map(|residual| decimals(residual.rms, 2));
    let time = &score.resolvable.time_ns;
    let found =
        format!("{} ± {}", percent(score.resolvable.efficiency), percent(score.resolvable.efficiency_error));
    [
        score.rate_at_neutrons.map_or_else(none, rate),
        tolerance_text(score),
        score.all.neutrons.to_string(),
        found,
        percent(score.all.efficiency),
        percent(score.ceiling),
        percent(score.ghost_share),
        percent(super::share(score.all.merged, score.all.neutrons)),
        percent(score.split_share),
        rms.collect::<Vec<_>>().join(", "),
        format!("{} ± {}", decimals(time.mean, 1), decimals(time.rms, 1)),
    ]
    .into_iter()
}
