//! Gd-GEM in the ESS readout: a ring is taken for a sector, its even FENs for x and the odd ones for y, as at NMX.

use super::ess::hybrids;
use crate::content::{VmmPlace, VmmSeen};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Strips of a hybrid.
const STRIPS: usize = 128;

pub(super) fn body(ess: &str, vmms: &BTreeMap<VmmPlace, VmmSeen>) -> String {
    let hybrids = hybrids(vmms);
    let rings: BTreeSet<u8> = hybrids.iter().map(|(ring, ..)| *ring).collect();
    let mut used: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut entries = String::new();
    for (ring, fen, hybrid) in &hybrids {
        let sector = rings.range(..ring).count();
        let plane = if fen % 2 == 0 { "x" } else { "y" };
        let place = used.entry((sector, plane)).or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            entries,
            "    {{ ring = {ring}, fen = {fen}, hybrid = {hybrid}, sector = {sector}, plane = \"{plane}\", offset = {} }},",
            STRIPS * *place
        );
        *place += 1;
    }
    let side = |plane: &str| {
        let counts = used.iter().filter(|((_, other), _)| *other == plane).map(|(_, count)| *count);
        STRIPS * counts.max().unwrap_or(1)
    };
    format!(
        "{ess}[ess_gdgem]\n\
         # UNKNOWN: sectors, planes, offsets, and whether strips run against the channels (reversed = true).\n\
         # A ring is taken for a sector, its FENs with even numbers for x and those with odd ones for y; strips are in the\n\
         # order of FEN and hybrid, and all sectors have the same pixels.\n\
         geometry = {{ nx = {}, ny = {} }}\nsectors = {}\nhybrid = [\n{entries}]\n",
        side("x"),
        side("y"),
        rings.len()
    )
}
