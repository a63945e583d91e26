//! Gd-GEM with SRS: a mapping for each chip.

use crate::content::SrsContent;
use evforge_wire::recognise::Format;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Chips of a card.
const CHIPS: u8 = 16;
/// Channels of a chip.
const CHANNELS: usize = 64;

pub(super) fn body<'a>(
    format: Format,
    contents: impl Iterator<Item = &'a SrsContent>,
) -> Result<Vec<String>, String> {
    let mut chips: BTreeSet<(u16, u8)> = BTreeSet::new();
    for (number, fec) in contents.flat_map(SrsContent::fecs) {
        let used = fec.chips.iter().filter(|(chip, seen)| **chip < CHIPS && seen.readouts > 0);
        chips.extend(used.map(|(chip, _)| (*number, *chip)));
    }
    if chips.is_empty() {
        return Err("there are no readouts, so that no chip is known".to_owned());
    }
    let fecs: BTreeSet<u16> = chips.iter().map(|(fec, _)| *fec).collect();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut entries = String::new();
    for (place, (fec, chip)) in chips.iter().enumerate() {
        // Cards in turn; the chips of a single card in halves.
        let is_x = if fecs.len() > 1 { fec % 2 == 0 } else { 2 * place < chips.len() };
        let plane = if is_x { "x" } else { "y" };
        let strips = used.entry(plane).or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            entries,
            "    {{ fec = {fec}, vmm = {chip}, plane = \"{plane}\", strip_offset = {} }},",
            CHANNELS * *strips
        );
        *strips += 1;
    }
    let side = |plane: &str| CHANNELS * used.get(plane).copied().unwrap_or(1);
    let (readout, time) = match format {
        Format::SrsVmm3a => (
            "vmm3a",
            "convention = \"signed-offset\"\nbunch_crossing = \"22.5ns\"\ntac_range = \"60ns\"\nmarker_tick = \"22.5ns\"\n",
        ),
        Format::SrsVmm3Of2018 => ("vmm3-2018", TIMES_OF_2018),
        _ => ("vmm2", TIMES_OF_2018),
    };
    Ok(vec![format!(
        "[gdgem]\nreadout = \"{readout}\"\ngeometry = {{ nx = {}, ny = {} }}\n\
         # UNKNOWN: planes and offsets. {}; strips are in the order of cards and chips.\n\
         mapping = [\n{entries}]\n\n\
         # UNKNOWN: the clocks. These are the usual ones.\n[gdgem.time]\n{time}\n\
         [gdgem.sorting]\nwindow = \"500us\"\nforward_jump = \"2ms\"\nrestart = \"1s\"\nsource_lag = \"60s\"\n",
        side("x"),
        side("y"),
        if fecs.len() > 1 {
            "Cards with even numbers are taken for x, those with odd ones for y"
        } else {
            "The first half of the chips is taken for x, the other for y"
        }
    )])
}

const TIMES_OF_2018: &str = "convention = \"trigger-period-2018\"\nbunch_crossing = \"50ns\"\ntac_range = \"60ns\"\n\
                             marker_tick = \"25ns\"\ntrigger_tick = \"3.125ns\"\n";
