//! Multi-Blade with CAEN digitisers: a cassette for each of them.

use crate::content::CaenContent;
use evforge_wire::recognise::Format;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Wires and strips of a cassette.
const HALF: usize = 32;
/// Cassettes that a geometry of fewer than 2^16 rows has room for.
const MOST: usize = 1024;

pub(super) fn body<'a>(
    format: Format,
    contents: impl Iterator<Item = &'a CaenContent>,
) -> Result<Vec<String>, String> {
    let digitizers: BTreeSet<u32> =
        contents.flat_map(CaenContent::digitizers).map(|(number, _)| number).collect();
    if digitizers.is_empty() || digitizers.len() > MOST {
        return Err(format!("{} digitisers are not what a detector has", digitizers.len()));
    }
    let readout = match format {
        Format::Jadaq1_3 => "jadaq-1.3",
        Format::JadaqOfJune2018 => "jadaq-2018-06",
        _ => "records",
    };
    let mut entries = String::new();
    for (cassette, digitizer) in digitizers.iter().enumerate() {
        for (first_channel, plane) in [(0, "wires"), (HALF, "strips")] {
            // Writing to a string cannot fail.
            let _ = writeln!(
                entries,
                "    {{ digitizer = {digitizer}, first_channel = {first_channel}, channels = {HALF}, \
                 cassette = {cassette}, plane = \"{plane}\", first = 0 }},"
            );
        }
    }
    let cassettes = digitizers.len();
    Ok(vec![format!(
        "[multiblade]\nreadout = \"{readout}\"\ntick = \"16ns\"\ncassettes = {cassettes}\nwires = {HALF}\nstrips = {HALF}\n\
         geometry = {{ nx = {HALF}, ny = {} }}\n\
         # UNKNOWN: which digitizer reads which cassette, and which channels are wires. The first half of each is taken\n\
         # for wires, as in the prototype of 2018.\n\
         mapping = [\n{entries}]\n\n\
         [multiblade.window]\nrule = \"box\"\nticks = 185\nmax_wires = 3\nmax_strips = 5\nmax_amplitude_ratio = 15.0\n\n\
         [multiblade.sorting]\nwindow = \"20ms\"\nforward_jump = \"1s\"\nrestart = \"1s\"\nsource_lag = \"2s\"\n",
        HALF * cassettes
    )])
}
