//! What the windows of a configuration should be, for neutrons as they stand alone.

use super::distribution::Distribution;
use super::neutrons::{Alone, Compared, Neutrons, OnPlane};
use crate::LabError;
use evforge_config::Config;
use evforge_detect::ess::ticks;
use evforge_detect::gdgem::settings::{TimeGapOf, TrackSettings};
use evforge_detect::measured_windows::{MeasuredWindows, WindowKind};
use evforge_detect::multiblade::caen::settings::{WindowRule, WindowSettings};
use evforge_detect::pairing::Ambiguous;
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::pairing::PairingSettings;

/// Share of the neutrons that each proposed value may be too small for.
pub const BEYOND: f64 = 0.001;
/// Share of the neutrons that are beyond what is usual.
const BEYOND_USUAL: f64 = 0.01;

/// A key of the configuration with what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The table: `gdgem.clustering.x`.
    pub table: String,
    /// The key in it.
    pub key: &'static str,
    /// Its value in TOML.
    pub value: String,
}

/// A figure of the neutrons.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is, with its unit.
    pub name: String,
    /// What one unit is.
    pub unit: u64,
    /// How it is distributed.
    pub distribution: Distribution,
}

/// What is proposed for a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// What was measured.
    pub figures: Vec<Figure>,
    /// The keys, table by table.
    pub keys: Vec<Key>,
    /// Share of the neutrons that stand alone and would be torn or missed with the proposal, and as configured.
    pub lost: [f64; 2],
    /// Time after the first hit of a neutron within which that of another one must not come: with the proposal, and as
    /// configured; in picoseconds.
    pub reach_ps: [u64; 2],
}

impl Proposal {
    /// The keys as overrides: `key=value`.
    pub fn overrides(&self) -> Vec<String> {
        self.keys.iter().map(|Key { table, key, value }| format!("{table}.{key}={value}")).collect()
    }
}

/// The windows of a configuration.
#[derive(Clone, Debug)]
pub struct Windows {
    section: &'static str,
    kind: WindowKind,
}

impl Windows {
    /// Those of a configuration.
    ///
    /// # Errors
    /// If its detector has none.
    pub fn of(config: &Config) -> Result<Self, LabError> {
        let Some(MeasuredWindows { windows: kind, .. }) = config.detector.measured_windows()? else {
            let section = config.section;
            let problem = format!(
                "a detector with a section [{section}] has no gaps or matching windows: those of Gd-GEM, of Multi-Blade and \
                 of Multi-Grid with the ESS readout can be proposed"
            );
            return Err(problem.into());
        };
        Ok(Self { section: config.section, kind })
    }

    /// The longest time that one of them has, in picoseconds.
    pub fn longest_ps(&self) -> u64 {
        match &self.kind {
            WindowKind::Tracks(tracks) => {
                let [x, y] = tracks.clustering;
                x.max_time_gap.max(y.max_time_gap).max(tracks.matching.max_difference)
            }
            WindowKind::Cassettes(window, _, tick_ps) => window_ps(window, *tick_ps),
            WindowKind::Columns(gap, ..) => *gap,
        }
    }

    /// Hits that an event needs on each plane.
    pub fn min_hits(&self) -> [u64; 2] {
        match &self.kind {
            WindowKind::Tracks(tracks) => tracks.clustering.map(|plane| u64::from(plane.min_hits).max(1)),
            WindowKind::Cassettes(..) | WindowKind::Columns(..) => [1; 2],
        }
    }

    /// What they should be for these neutrons.
    pub fn propose(&self, neutrons: &Neutrons) -> Proposal {
        let mut proposing =
            Proposing { section: self.section, neutrons, figures: Vec::new(), keys: Vec::new() };
        let (lost, reach_ps) = match &self.kind {
            WindowKind::Tracks(tracks) => proposing.tracks(tracks),
            WindowKind::Cassettes(window, pairing, tick_ps) => proposing.cassettes(window, pairing, *tick_ps),
            WindowKind::Columns(gap, span, pairing) => proposing.columns(*gap, *span, pairing),
        };
        Proposal { figures: proposing.figures, keys: proposing.keys, lost, reach_ps }
    }
}

fn window_ps(window: &WindowSettings, tick_ps: Option<u64>) -> u64 {
    let ticks = u64::from(window.ticks);
    tick_ps.map_or_else(|| ticks::nanoseconds(ticks) * 1000, |tick_ps| ticks.saturating_mul(tick_ps))
}

/// A proposal under way.
struct Proposing<'a> {
    section: &'static str,
    neutrons: &'a Neutrons,
    figures: Vec<Figure>,
    keys: Vec<Key>,
}

const NANOSECOND: u64 = 1000;
const NANOSECOND_PS: i128 = NANOSECOND as i128;
/// Ratios are in thousandths.
const ONE: u64 = 1000;

impl Proposing<'_> {
    /// Notes a figure, and returns the value that few neutrons exceed.
    fn figure(&mut self, name: impl Into<String>, unit: u64, of: impl Fn(&Alone) -> u64) -> Distribution {
        let distribution = self.neutrons.distribution(of);
        self.figures.push(Figure { name: name.into(), unit, distribution: distribution.clone() });
        distribution
    }

    fn propose(&mut self, table: &str, key: &'static str, value: String) {
        let table =
            if table.is_empty() { self.section.to_owned() } else { format!("{}.{table}", self.section) };
        self.keys.push(Key { table, key, value });
    }

    /// Clusters of x and y and their matching.
    fn tracks(&mut self, tracks: &TrackSettings) -> ([f64; 2], [u64; 2]) {
        let mut gaps = [(0, 0); 2];
        for (plane, name) in [(0, "x"), (1, "y")] {
            let of = tracks.clustering[plane].time_gap_of;
            let in_time = self
                .figure(format!("gap in time on {name} (ns)"), NANOSECOND, |it| it.planes[plane].time_gap);
            let linked = self.figure(format!("gap in time of neighbours on {name} (ns)"), NANOSECOND, |it| {
                it.planes[plane].neighbour_gap
            });
            let missing = self.figure(format!("missing strips on {name}"), 1, |it| it.planes[plane].missing);
            let time = if of == TimeGapOf::Neighbours { &linked } else { &in_time };
            gaps[plane] = (rounded_up(time.quantile(BEYOND)), missing.quantile(BEYOND));
            let table = format!("clustering.{name}");
            self.propose(&table, "max_time_gap", nanoseconds(gaps[plane].0));
            self.propose(&table, "max_strip_gap", gaps[plane].1.to_string());
        }
        let matching = tracks.matching;
        let joins = matching.ambiguous == Ambiguous::Join;
        let compared = match matching.by {
            MatchBy::Start => Compared::Start,
            MatchBy::Centre => Compared::Mean,
            _ => Compared::End,
        };
        // Where clusters are joined no delay can be configured.
        let configured_delay = if joins { 0 } else { i128::from(matching.y_delay) };
        let delay = if joins { 0 } else { self.delay(compared) };
        let apart = |of: Compared, delay: i128| {
            move |it: &Alone| u64::try_from((it.later(of) - delay).unsigned_abs()).unwrap_or(u64::MAX)
        };
        let start =
            self.figure("first hits of x and y apart (ns)", NANOSECOND, apart(Compared::Start, delay));
        let end = self.figure("last hits of x and y apart (ns)", NANOSECOND, apart(Compared::End, delay));
        let mean = self.figure("means of x and y apart (ns)", NANOSECOND, apart(Compared::Mean, delay));
        let difference = match compared {
            Compared::Start => &start,
            Compared::End => &end,
            Compared::Mean => &mean,
        };
        let ratio = self.figure("larger charge for the smaller one", ONE, Alone::ratio_permille);
        let largest = rounded_up(difference.quantile(BEYOND));
        if matches!(matching.by, MatchBy::Overlap | MatchBy::Gap) {
            self.propose("matching", "by", "\"end\"".to_owned());
        }
        self.propose("matching", "max_difference", nanoseconds(largest));
        if !joins {
            self.propose("matching", "y_delay", format!("\"{}ns\"", delay / NANOSECOND_PS));
        }
        if matching.max_amplitude_permille.is_some() {
            self.propose("matching", "max_amplitude_ratio", times(ratio.quantile(BEYOND)));
        }
        if !joins {
            let usual = |of: &Distribution| nanoseconds(rounded_up(of.quantile(BEYOND_USUAL)));
            self.propose("matching.usual", "difference", usual(difference));
            self.propose("matching.usual", "start_difference", usual(&start));
            self.propose("matching.usual", "amplitude_ratio", times(ratio.quantile(BEYOND_USUAL)));
        }
        let is_lost = |gaps: [(u64, u64); 2], most: u64, delay: i128| {
            self.neutrons.share(|it| {
                let is_torn = |plane: usize| {
                    let (on, (time, strips)) = (it.planes[plane], gaps[plane]);
                    let is_linked = tracks.clustering[plane].time_gap_of == TimeGapOf::Neighbours;
                    let gap = if is_linked { on.neighbour_gap } else { on.time_gap };
                    gap > time || on.missing > strips
                };
                is_torn(0) || is_torn(1) || apart(compared, delay)(it) > most
            })
        };
        let configured = tracks.clustering.map(|it| (it.max_time_gap, u64::from(it.max_strip_gap)));
        let reach = |gaps: [(u64, u64); 2]| self.span() + gaps[0].0.max(gaps[1].0);
        // What is only overlapping or near is not looked at: its difference may be any.
        let most = if matches!(matching.by, MatchBy::Overlap | MatchBy::Gap) {
            u64::MAX
        } else {
            matching.max_difference
        };
        let lost = [is_lost(gaps, largest, delay), is_lost(configured, most, configured_delay)];
        (lost, [reach(gaps), reach(configured)])
    }

    /// By how much the times of y usually come after those of x, in whole nanoseconds.
    fn delay(&self, compared: Compared) -> i128 {
        let mut later: Vec<i128> = self.neutrons.alone.iter().map(|it| it.later(compared)).collect();
        later.sort_unstable();
        let median = later.get(later.len() / 2).copied().unwrap_or(0);
        (median + NANOSECOND_PS / 2).div_euclid(NANOSECOND_PS) * NANOSECOND_PS
    }

    /// Windows of cassettes.
    fn cassettes(
        &mut self,
        window: &WindowSettings,
        pairing: &PairingSettings,
        tick_ps: Option<u64>,
    ) -> ([f64; 2], [u64; 2]) {
        let gap = self.figure("gap in time (ns)", NANOSECOND, |it| it.time_gap);
        let span = self.figure("from the first to the last hit (ns)", NANOSECOND, |it| it.span);
        let length = |it: &Alone| if window.rule == WindowRule::Box { it.span } else { it.time_gap };
        let longest = if window.rule == WindowRule::Box { &span } else { &gap };
        let longest = longest.quantile(BEYOND);
        // A hit belongs to a window that comes less than its length after.
        let proposed = match tick_ps {
            Some(tick_ps) => {
                let ticks = longest / tick_ps.max(1) + 1;
                self.propose("window", "ticks", ticks.to_string());
                ticks * tick_ps
            }
            None => {
                self.propose("window", "max_time_gap", nanoseconds(rounded_up(longest)));
                rounded_up(longest)
            }
        };
        let mut most = [0; 2];
        for (plane, name, key) in [(0, "wires", "max_gap_wires"), (1, "strips", "max_gap_strips")] {
            let missing = self.figure(format!("missing {name}"), 1, |it| it.planes[plane].all_missing);
            self.figure(name, 1, |it| it.planes[plane].extent);
            most[plane] = missing.quantile(BEYOND);
            self.propose("window", key, most[plane].to_string());
        }
        if window.max_amplitude_ratio.is_some() {
            let ratio = self.figure("larger charge for the smaller one", ONE, Alone::ratio_permille);
            self.propose("window", "max_amplitude_ratio", times(ratio.quantile(BEYOND)));
        }
        self.pairing(pairing);
        let lost = |ps: u64, most: [u64; 2]| {
            self.neutrons
                .share(|it| length(it) > ps || (0..2).any(|plane| it.planes[plane].all_missing > most[plane]))
        };
        let configured = window_ps(window, tick_ps);
        let gaps = [window.max_gap_wires, window.max_gap_strips].map(u64::from);
        let reach = |ps: u64| if window.rule == WindowRule::Box { ps } else { self.span() + ps };
        ([lost(proposed, most), lost(configured, gaps)], [reach(proposed), reach(configured)])
    }

    /// Windows of columns.
    fn columns(&mut self, gap: u64, span: u64, pairing: &PairingSettings) -> ([f64; 2], [u64; 2]) {
        let gaps = self.figure("gap in time (ns)", NANOSECOND, |it| it.time_gap);
        let grids = self.figure("grids from the first to the last", 1, |it| it.planes[1].extent);
        let (proposed, most) = (rounded_up(gaps.quantile(BEYOND)), grids.quantile(BEYOND));
        self.propose("", "gap", nanoseconds(proposed));
        self.propose("", "max_grid_span", most.to_string());
        self.pairing(pairing);
        let lost =
            |ps: u64, most: u64| self.neutrons.share(|it| it.time_gap > ps || it.planes[1].extent > most);
        let reach = |ps: u64| self.span() + ps;
        ([lost(proposed, most), lost(gap, span)], [reach(proposed), reach(gap)])
    }

    /// What pairing compares, where several neutrons of a window are told apart.
    fn pairing(&mut self, pairing: &PairingSettings) {
        if pairing.joins() {
            return;
        }
        let on_plane =
            |of: fn(&OnPlane) -> u64| move |it: &Alone| it.planes.iter().map(of).max().unwrap_or(0);
        let gap = self.figure("gap in time on a plane (ns)", NANOSECOND, on_plane(|plane| plane.time_gap));
        let apart =
            self.figure("means of the planes apart (ns)", NANOSECOND, |it| it.difference(Compared::Mean));
        let quotients = self.figure("charge on the second plane for the first one", ONE, |it| {
            let [first, second] = it.planes.map(|plane| plane.charge.max(1));
            second * ONE / first
        });
        let typical = quotients.quantile(0.5).max(1);
        let ratio = self.figure("the same, larger or smaller than typical", ONE, |it| {
            let [first, second] = it.planes.map(|plane| plane.charge.max(1));
            let (first, second) = (first * typical, second * ONE);
            first.max(second) * ONE / first.min(second).max(1)
        });
        self.propose("pairing", "max_cluster_gap", nanoseconds(rounded_up(gap.quantile(BEYOND))));
        self.propose("pairing", "max_difference", nanoseconds(rounded_up(apart.quantile(BEYOND))));
        self.propose("pairing", "typical_amplitude_ratio", times_exactly(typical));
        if pairing.max_amplitude_ratio.is_some() {
            self.propose("pairing", "max_amplitude_ratio", times(ratio.quantile(BEYOND)));
        }
        self.propose("pairing.usual", "difference", nanoseconds(rounded_up(apart.quantile(BEYOND_USUAL))));
        self.propose("pairing.usual", "amplitude_ratio", times(ratio.quantile(BEYOND_USUAL)));
    }

    /// How long half of the neutrons last.
    fn span(&self) -> u64 {
        self.neutrons.distribution(|it| it.span).quantile(0.5)
    }
}

/// A time in picoseconds, up to the next 5 ns, or 10 ns from 100 ns on. Never 0.
fn rounded_up(ps: u64) -> u64 {
    let step = if ps < 100 * NANOSECOND { 5 * NANOSECOND } else { 10 * NANOSECOND };
    ps.max(1).next_multiple_of(step)
}

/// A time in TOML.
fn nanoseconds(ps: u64) -> String {
    format!("\"{}ns\"", ps / NANOSECOND)
}

/// A ratio of thousandths in TOML, up to the next twentieth.
fn times(permille: u64) -> String {
    times_exactly(permille.max(ONE).next_multiple_of(50))
}

fn times_exactly(permille: u64) -> String {
    let text = format!("{}.{:03}", permille / ONE, permille % ONE);
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_up_and_written_as_toml() {
        assert_eq!(
            [0, 1, 5000, 5001, 99_000, 100_001].map(rounded_up),
            [5000, 5000, 5000, 10_000, 100_000, 110_000]
        );
        assert_eq!(
            (nanoseconds(60_000), times(1001), times(1150)),
            ("\"60ns\"".into(), "1.05".into(), "1.15".into())
        );
        assert_eq!(
            (times(2000), times_exactly(875), times_exactly(1)),
            ("2.0".into(), "0.875".into(), "0.001".into())
        );
    }
}
