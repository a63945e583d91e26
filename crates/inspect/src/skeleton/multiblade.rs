//! Multi-Blade in the ESS readout: a cassette for each hybrid.

use super::ess::hybrids;
use crate::content::{VmmPlace, VmmSeen};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Channels of wires.
const WIRES: std::ops::RangeInclusive<u16> = 16..=47;
/// Cassettes of ESTIA next to each other.
const ESTIA_COLUMNS: usize = 48;

/// Which VMM of the hybrids reads wires: true for the odd one. None if the channels do not tell.
fn wires_are_odd(vmms: &BTreeMap<VmmPlace, VmmSeen>) -> Option<bool> {
    let outside = |odd: u8| {
        let own = vmms.iter().filter(|((_, _, vmm), _)| vmm % 2 == odd);
        own.flat_map(|(_, seen)| seen.channels.iter()).filter(|channel| !WIRES.contains(channel)).count()
    };
    let (even, odd) = (outside(0), outside(1));
    (even != odd).then_some(odd < even)
}

pub(super) fn body(ess: &str, vmms: &BTreeMap<VmmPlace, VmmSeen>, is_estia: bool) -> String {
    let hybrids = hybrids(vmms);
    let found = wires_are_odd(vmms);
    let wires_are_odd = found.unwrap_or(true);
    let layout = if is_estia { "estia" } else { "freia" };
    let vmm = if wires_are_odd { "odd" } else { "even" };
    let why = match found {
        Some(_) => "as found: it uses channels 16-47 only".to_owned(),
        None => "UNKNOWN: the channels do not tell which VMM of a hybrid reads wires".to_owned(),
    };
    let (nx, ny) = if is_estia {
        (32 * ESTIA_COLUMNS, 64 * hybrids.len().div_ceil(ESTIA_COLUMNS))
    } else {
        (64, 32 * hybrids.len())
    };
    let mut text = format!(
        "{ess}[ess_multiblade]\nlayout = \"{layout}\"\nwires = \"{vmm}\"                   # {why}\n\
         geometry = {{ nx = {nx}, ny = {ny} }}\n\
         # UNKNOWN: which hybrid reads which cassette: they are in the order of ring, FEN and hybrid.\n\
         cassettes = [\n"
    );
    for (cassette, (ring, fen, hybrid)) in hybrids.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "    {{ cassette = {cassette}, ring = {ring}, fen = {fen}, hybrid = {hybrid} }},");
    }
    text + "]\n"
}
