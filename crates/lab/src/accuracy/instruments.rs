//! The instruments of the EFU paper (*ESS event formation*, table 1) at their average rates: how many of their neutrons the
//! shipped configurations find.

use super::{AccuracyRun, accuracy};
use crate::LabError;
use crate::demands::Demands;
use evforge_config::shipped;
use evforge_core::quantity::Frequency;
use evforge_sim::score::text::{none, percent, rate};
use evforge_sim::score::{ScoreSettings, tolerance, tolerance_text};
use serde_json::{Value, json};

/// An instrument at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub instrument: &'static str,
    /// Its detector.
    pub detector: &'static str,
    /// The shipped configuration that stands for it; none if there is none, and so no figure.
    pub configuration: Option<&'static str>,
    /// What is to be known about it.
    pub note: &'static str,
    /// Neutrons per second on the detector, on average over all time.
    pub average: u64,
    /// How far events are spread about the truth along each axis, in pixels, as docs/accuracy.md has it: the tolerance follows from
    /// it.
    pub spread: [f64; 3],
    /// Share of all neutrons that must be found, in percent; none if nothing is demanded.
    pub min_found: Option<f64>,
    /// Share of the events that may be ghosts then, in percent.
    pub max_ghosts: f64,
}

/// Largest difference in time between an event and its neutron. Less than at low rates: with a microsecond, every third
/// event of ESTIA would be close to some neutron by chance.
const LARGEST_TIME_NS: u64 = 200;
/// Share of the events that may be ghosts, in percent, where a cassette hardly ever has two neutrons at once. Where it has,
/// only charges tell which wires belong to which strips, and each wrong pair is a ghost: docs/accuracy.md has the reason.
const MAX_GHOSTS: f64 = 1.0;
const MAX_GHOSTS_OF_FREIA: f64 = 6.0;
const MAX_GHOSTS_OF_ESTIA: f64 = 12.0;
/// Tracks of a Gd-GEM that overlap, and some whose end is taken for their beginning.
const MAX_GHOSTS_OF_NMX: f64 = 2.0;

const fn row(
    instrument: &'static str,
    detector: &'static str,
    configuration: &'static str,
    megahertz: u64,
    spread: [f64; 3],
    min_found: f64,
) -> Row {
    Row {
        instrument,
        detector,
        configuration: Some(configuration),
        note: "",
        average: megahertz * 1_000_000,
        spread,
        min_found: Some(min_found),
        max_ghosts: MAX_GHOSTS,
    }
}

const fn without_figure(instrument: &'static str, detector: &'static str, megahertz: u64) -> Row {
    Row {
        configuration: None,
        note: "not implemented",
        min_found: None,
        ..row(instrument, detector, "", megahertz, [1.0; 3], 0.0)
    }
}

const GRIDS: [f64; 3] = [0.32, 0.32, 0.52];
const BLADES: [f64; 3] = [0.4; 3];
const STRIPS: [f64; 3] = [1.5; 3];
const SONDE_PIXELS: [f64; 3] = [0.3; 3];

/// The table, and two instruments at lower rates.
pub const ROWS: &[Row] = &[
    Row {
        note: "no configuration of its own: that of T-REX",
        min_found: None,
        ..row("C-SPEC", "Multi-Grid", "trex", 10, GRIDS, 0.0)
    },
    Row { max_ghosts: MAX_GHOSTS_OF_ESTIA, ..row("ESTIA", "Multi-Blade", "estia", 500, BLADES, 20.0) },
    row("FREIA", "Multi-Blade", "freia", 10, BLADES, 80.0),
    Row { max_ghosts: MAX_GHOSTS_OF_FREIA, ..row("FREIA", "Multi-Blade", "freia", 100, BLADES, 35.0) },
    without_figure("LoKI", "BAND-GEM", 34),
    without_figure("LoKI", "BCS", 37),
    row("NMX", "Gd-GEM", "nmx", 1, STRIPS, 96.0),
    Row { max_ghosts: MAX_GHOSTS_OF_NMX, ..row("NMX", "Gd-GEM", "nmx", 5, STRIPS, 85.0) },
    row("SKADI", "SoNDe", "sonde", 37, SONDE_PIXELS, 95.0),
    row("T-REX", "Multi-Grid", "trex", 10, GRIDS, 80.0),
];

/// What was found for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The row.
    pub row: Row,
    /// Its run; none without a configuration.
    pub run: Option<AccuracyRun>,
}

impl Row {
    /// The rate.
    pub fn rate(&self) -> Frequency {
        Frequency { millihertz: self.average * 1000 }
    }

    /// The row as it is called in a message.
    pub fn name(&self) -> String {
        format!("{} at {}", self.instrument, rate(self.average as f64))
    }

    /// Simulates it, about so many neutrons.
    ///
    /// # Errors
    /// As [`accuracy`].
    pub fn measure(&self, neutrons: u64) -> Result<Found, LabError> {
        let limits = ScoreSettings {
            largest_time_ns: LARGEST_TIME_NS,
            largest_distance: tolerance(self.spread),
            ..ScoreSettings::default()
        };
        let measured = |name| -> Result<AccuracyRun, LabError> {
            let config = shipped::configuration(name, &[])?;
            Ok(accuracy(&config, self.rate(), neutrons, &limits)?)
        };
        Ok(Found { row: *self, run: self.configuration.map(measured).transpose()? })
    }
}

impl Found {
    /// What is not as good as it has to be, in words.
    pub fn problems(&self) -> Vec<String> {
        let (Some(run), Some(least)) = (&self.run, self.row.min_found) else { return Vec::new() };
        let demands =
            Demands { min_found: Some(least), max_ghosts: Some(self.row.max_ghosts), ..Demands::default() };
        let mut problems = demands.problems(&run.score);
        problems.extend(run.forced_closings_problem());
        problems
    }

    fn cells(&self) -> Vec<String> {
        let Row { instrument, detector, configuration, note, average, min_found, max_ghosts, .. } = self.row;
        let configuration = match (configuration, note) {
            (Some(name), "") => format!("`{name}`"),
            (Some(name), note) => format!("`{name}` ({note})"),
            (None, note) => note.to_owned(),
        };
        let mut cells = vec![instrument.to_owned(), detector.to_owned(), configuration, rate(average as f64)];
        cells.extend(match &self.run {
            Some(run) => [
                run.score.rate_at_neutrons.map_or_else(none, rate),
                tolerance_text(&run.score),
                run.score.all.neutrons.to_string(),
                percent(run.score.all.efficiency),
                percent(run.score.ceiling),
                percent(run.score.resolvable.efficiency),
                percent(run.score.ghost_share),
                run.forced_closings.to_string(),
            ],
            None => std::array::from_fn(|_| none()),
        });
        cells.push(min_found.map_or_else(none, |least| format!("≥ {least} %, ghosts ≤ {max_ghosts} %")));
        cells
    }
}

/// The titles of the table.
const TITLES: [&str; 13] = [
    "instrument",
    "detector",
    "configuration",
    "mean rate",
    "rate at neutrons",
    "tolerance x, y, z (pixels)",
    "neutrons",
    "found of all",
    "ceiling",
    "found of resolvable",
    "ghosts",
    "forced closings",
    "demanded",
];
/// Columns of words: the others are numbers.
const WORDS: usize = 3;

/// What was found, as a table in Markdown.
pub fn markdown_table(found: &[Found]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> =
        (0..TITLES.len()).map(|column| if column < WORDS { ":---" } else { "---:" }.to_owned()).collect();
    let rows = found.iter().map(|found| line(&found.cells()));
    line(&TITLES.map(str::to_owned)) + &line(&rule) + &rows.collect::<String>()
}

/// Everything that was found, with histograms.
pub fn json_of(found: &[Found]) -> Value {
    let rows = found.iter().map(|Found { row, run }| {
        json!({
            "instrument": row.instrument,
            "detector": row.detector,
            "configuration": row.configuration,
            "note": row.note,
            "neutrons_per_second": row.average,
            "min_found_percent": row.min_found,
            "max_ghosts_percent": row.min_found.map(|_| row.max_ghosts),
            "run": run.as_ref().map(AccuracyRun::to_json),
        })
    });
    json!({ "instruments": rows.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_sim::instruments::INSTRUMENTS;

    /// Every instrument of the paper's table is there at its rate.
    #[test]
    fn the_table_of_the_paper_is_complete() {
        for instrument in INSTRUMENTS {
            let is_it = |row: &&Row| {
                row.average == instrument.average
                    && instrument.name.starts_with(row.instrument)
                    && instrument.detector == row.detector
            };
            assert_eq!(ROWS.iter().filter(is_it).count(), 1, "{}", instrument.name);
        }
        for row in ROWS {
            let config = row.configuration.map(|name| shipped::configuration(name, &[]));
            assert!(config.is_none_or(|config| config.is_ok()), "{}", row.name());
            assert_eq!(row.configuration.is_none(), row.note == "not implemented");
        }
    }

    #[test]
    fn what_is_not_good_enough_is_told_and_what_is_not_implemented_has_no_figure() {
        let small = Row { average: 2_000_000, min_found: Some(99.0), ..ROWS[8] };
        let found = Row { configuration: Some("sonde-module"), ..small }.measure(1000).unwrap();
        let [problem] = &found.problems()[..] else { panic!("{:?}", found.problems()) };
        assert!(problem.contains("% of all neutrons were found, less than 99 %"), "{problem}");
        assert!(
            Found { row: Row { min_found: Some(5.0), ..found.row }, ..found.clone() }.problems().is_empty()
        );
        let mut forced = Found { row: Row { min_found: Some(5.0), ..found.row }, ..found };
        if let Some(run) = &mut forced.run {
            run.forced_closings = 3;
        }
        assert!(forced.problems()[0].contains("3 times"), "{:?}", forced.problems());
        let table = markdown_table(&[forced, ROWS[4].measure(1).unwrap()]);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[2].starts_with("| SKADI | SoNDe | `sonde-module` | 2 MHz |"), "{table}");
        assert_eq!(
            lines[3],
            "| LoKI | BAND-GEM | not implemented | 34 MHz | – | – | – | – | – | – | – | – | – |"
        );
    }
}
