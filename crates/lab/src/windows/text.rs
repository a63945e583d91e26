//! What was found, for people, and what can be pasted.

use super::neutrons::{ENOUGH, Neutrons};
use super::proposal::{Figure, Key, Proposal};
use evforge_pipeline::report::{grouped, scaled};
use std::path::Path;

/// Shares of the neutrons that exceed the values of the table.
const SHARES: [(&str, f64); 3] = [("median", 0.5), ("99 %", 0.01), ("99.9 %", 0.001)];

/// The report: comments but for the keys.
pub(super) fn text(path: &Path, neutrons: &Neutrons, proposal: &Proposal, is_whole: bool) -> String {
    let alone = neutrons.alone.len();
    let mut text = format!(
        "# Gaps and windows that fit {}: measured on {} neutrons that stand alone, of {} groups of hits with {} ns of\n\
         # silence around them. {}neutrons/s on a module, at the hits of the capture.\n",
        path.display(),
        grouped(alone as u64),
        grouped(neutrons.groups as u64),
        grouped(neutrons.silence_ps / 1000),
        scaled(neutrons.rate),
    );
    if neutrons.by_chance >= 1.0 {
        let two = neutrons.by_chance;
        text.push_str(&format!("# Some {two:.0} of them are two neutrons by chance: as many of the largest values are left out.\n"));
    }
    if !is_whole {
        text.push_str("# The capture is longer: only its beginning was looked at.\n");
    }
    if alone < ENOUGH {
        text.push_str(&format!(
            "# Of so few neutrons the last thousandth is not known: take values for 99.9 % with care (from {} on).\n",
            grouped(ENOUGH as u64)
        ));
    }
    let width = proposal.figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or(0);
    text.push_str(&format!("#\n# {:width$}", ""));
    for (name, _) in SHARES {
        text.push_str(&format!(" {name:>9}"));
    }
    text.push('\n');
    for figure in &proposal.figures {
        text.push_str(&format!("# {:width$}", figure.name));
        for (_, beyond) in SHARES {
            text.push_str(&format!(" {:>9}", value(figure, beyond)));
        }
        text.push('\n');
    }
    let [lost, lost_now] = proposal.lost.map(|share| 100.0 * share);
    let [near, near_now] = proposal.reach_ps.map(|ps| 100.0 * neutrons.pile_up(ps));
    text.push_str(&format!(
        "#\n# Torn or missed, of neutrons that stand alone: {lost:.2} % with what follows, {lost_now:.2} % as configured.\n\
         # With another neutron within the window, at the rate of this capture: {near:.2} %, and {near_now:.2} % as configured.\n\
         # In place of the keys of the same names:\n"
    ));
    let mut table = "";
    for Key { table: of, key, value } in &proposal.keys {
        if of != table {
            text.push_str(&format!("\n[{of}]\n"));
            table = of;
        }
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

/// A value of a figure in its unit.
fn value(figure: &Figure, beyond: f64) -> String {
    let value = figure.distribution.quantile(beyond);
    if figure.unit == 1 { value.to_string() } else { format!("{:.2}", value as f64 / figure.unit as f64) }
}
