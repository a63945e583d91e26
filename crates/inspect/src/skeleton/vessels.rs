//! Multi-Grid in the ESS readout: vessels as at TREX, or as at LET.

use crate::content::{VmmPlace, VmmSeen};
use crate::report::listed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Columns of a vessel.
const COLUMNS: usize = 12;
/// Grids of a short and of a long vessel.
const SHORT: u16 = 51;
const LONG: u16 = 140;
/// First channel of wires.
const FIRST_WIRE: u16 = 32;

/// Whether the front ends are wired as at LET: grids, which begin at channel 0, on hybrid 0. At TREX it has wires, from
/// channel 32 on.
fn is_let(vmms: &BTreeMap<VmmPlace, VmmSeen>) -> bool {
    let first = |wanted: u8| {
        let own = vmms.iter().filter(move |((_, _, vmm), _)| *vmm == wanted);
        own.flat_map(|(_, seen)| seen.channels.iter())
    };
    first(0).any(|channel| channel < FIRST_WIRE) && first(1).next().is_none()
}

pub(super) fn body(ess: &str, vmms: &BTreeMap<VmmPlace, VmmSeen>) -> String {
    let is_let = is_let(vmms);
    // Two front ends read a vessel: at TREX two FENs of a ring, at LET those of two rings.
    let mut vessels: BTreeMap<(u8, u8), Vec<VmmPlace>> = BTreeMap::new();
    for place in vmms.keys() {
        let (ring, fen, _) = *place;
        let vessel = if is_let { (ring / 2, fen) } else { (ring, fen / 2) };
        vessels.entry(vessel).or_default().push(*place);
    }
    let is_short = |places: &[VmmPlace]| {
        is_let
            || !places.iter().any(|place| {
                let last = vmms.get(place).and_then(|seen| seen.channels.ends()).map_or(0, |(_, last)| last);
                place.2 > 2 || (place.2 == 2 && last >= SHORT)
            })
    };
    let mut entries = String::new();
    for (number, places) in vessels.values().enumerate() {
        let rings: BTreeSet<u8> = places.iter().map(|place| place.0).collect();
        let fens: BTreeSet<u8> = places.iter().map(|place| place.1).collect();
        let short = if is_short(places) { ", short = true" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            entries,
            "    {{ rings = [{}], fens = [{}]{short}, x_offset = {} }},",
            listed(rings),
            listed(fens),
            COLUMNS * number
        );
    }
    let rows = if vessels.values().all(|places| is_short(places)) { SHORT } else { LONG };
    let (wiring, why, min_adc) =
        if is_let { ("let", "grids are on hybrid 0", 20) } else { ("trex", "wires are on hybrid 0", 50) };
    format!(
        "{ess}[ess_multigrid]\nwiring = \"{wiring}\"                  # {why}\ncolumns = {}\nrows = {rows}\n\
         min_adc = {min_adc}\n\
         # UNKNOWN: where vessels stand (x_offset, y_offset), and which stand upside down (rotated = true).\n\
         vessels = [\n{entries}]\n",
        COLUMNS * vessels.len()
    )
}
