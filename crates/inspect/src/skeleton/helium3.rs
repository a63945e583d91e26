//! Helium-3 tubes with R5560 digitisers: a row for each tube of each group that has sent.

use crate::channels::Channels;
use crate::content::{EssContent, TubesSeen};
use evforge_wire::ess::detector_type as types;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Pixels along a tube.
const PIXELS: u16 = 256;

/// Intervals of the tubes of a group, as instruments have them: (from, to).
fn tubes(detector_type: u8, has_four: bool) -> Vec<(f64, f64)> {
    match detector_type {
        _ if has_four => equal(7),
        types::BIFROST => equal(3),
        // Two tubes in a row, each counted from its far end.
        types::MIRACLES => vec![(1.0, 0.5), (0.0, 0.5)],
        _ => equal(1),
    }
}

fn equal(count: u8) -> Vec<(f64, f64)> {
    let share = |number: u8| (f64::from(number) * 1000.0 / f64::from(count)).round() / 1000.0;
    // A thousandth between two, so that no position is of both.
    (0..count)
        .map(|number| (share(number) + if number > 0 { 0.001 } else { 0.0 }, share(number + 1)))
        .collect()
}

/// The configuration of all senders.
pub(super) fn body(ess: &str, contents: &[&EssContent]) -> Result<Vec<String>, String> {
    let mut fens: BTreeMap<(u8, u8), (Channels, TubesSeen)> = BTreeMap::new();
    for (place, seen) in contents.iter().flat_map(|content| &content.by_place().tubes.fens) {
        let own = fens.entry(*place).or_insert_with(|| (Channels::default(), seen.clone()));
        seen.groups.iter().for_each(|group| own.0.insert(group));
    }
    if fens.is_empty() {
        return Err("no readout of it is sound, so that no tube is known".to_owned());
    }
    let detector_type = contents.first().map_or(0, |content| content.detector_type());
    let has_four = fens.values().any(|(_, seen)| seen.with_last > 0);
    let tubes = tubes(detector_type, has_four);
    let (mut rows, mut wiring, mut sums) = (0, String::new(), (u64::MAX, 0));
    for ((ring, fen), (groups, seen)) in &fens {
        if let Some((least, largest)) = seen.sum.ends() {
            sums = (sums.0.min(least), sums.1.max(largest));
        }
        for (first, count) in runs(groups) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                wiring,
                "    {{ ring = {ring}, fen = {fen}, group = {first}, y = {rows}, groups = [{{ count = {count}, y = {} }}] }},",
                tubes.len()
            );
            rows += count * tubes.len();
        }
    }
    let mut text =
        format!("{ess}[ess_helium3]\ngeometry = {{ nx = {PIXELS}, ny = {rows} }}   # a row for each tube\n");
    if has_four {
        text += "charges = \"four\"                 # C and D are in use\n";
    }
    let _ = write!(
        text,
        "pixels = {PIXELS}                     # UNKNOWN: pixels along a tube\n\
         # UNKNOWN: how many tubes share a group, where each of them begins and ends, and which end is A: a calibration says it\n\
         # (calibration_file). A tube whose interval is written from the larger to the smaller number is read from its other end.\n\
         tubes = [\n"
    );
    for (number, (from, to)) in tubes.iter().enumerate() {
        let _ = writeln!(text, "    {{ interval = [{from:?}, {to:?}], y = {number} }},");
    }
    let least = match detector_type {
        types::TBL3HE => "least_charge = 2                 # as the instrument has it\n",
        types::BIFROST => "largest_sum = 32767              # as the instrument has it\n",
        _ => "",
    };
    let limit =
        if has_four { "" } else { "saturation = 32768               # larger charges were never recorded\n" };
    let _ = write!(
        text,
        "]\nleast_sum = 1                    # UNKNOWN: sums of charges lie between {} and {}; noise is below the peak of neutrons\n{least}{limit}\
         # UNKNOWN: where the groups are: here they follow one another, ring by ring.\nwiring = [\n{wiring}]\n",
        sums.0.min(sums.1),
        sums.1
    );
    Ok(vec![text])
}

/// Numbers that follow one another: the first, and how many.
fn runs(channels: &Channels) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for channel in channels.iter() {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == usize::from(channel) => *count += 1,
            _ => runs.push((channel.into(), 1)),
        }
    }
    runs
}
