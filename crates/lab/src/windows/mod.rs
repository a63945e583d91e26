//! Gaps and matching windows that fit a capture.
//!
//! ```text
//! capture ─► hits with places, times, amplitudes ─► groups with silence around them ─► neutrons ─► figures ─► proposal
//! ```
//!
//! | step | module |
//! |---|---|
//! | packets to hits: SRS and CAEN as `evforge overlay` reads them, the ESS readout | [`hits`], [`ess_hits`], [`placed_hit`] |
//! | hits to neutrons that stand alone, and what lies between their hits | [`neutrons`] |
//! | which value how many of them do not exceed | [`distribution`] |
//! | what the configuration should have, and what that costs | [`proposal`] |
//!
//! No gap or window of the configuration decides what a neutron is: a group is all hits of a module (panel, sector, cassette,
//! column) with silence before and after it ([`SILENCE_PS`], or less at high rates), and it is a neutron if both planes have
//! hits that are neighbours, and no channel has two. How many of these are two neutrons that have come together by chance is
//! known from the longest gaps, where there is nothing else; as many of the largest values are left out.

pub mod distribution;
pub mod ess_hits;
pub mod hits;
pub mod neutrons;
pub mod placed_hit;
pub mod proposal;
mod text;

use crate::LabError;
use evforge_config::Config;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use hits::HitReader;
use neutrons::Neutrons;
use placed_hit::PlacedHit;
use proposal::{Proposal, Windows};
use std::path::Path;

/// Silence around a neutron, where there are enough of them: some times the longest gap that any of the detectors has.
pub const SILENCE_PS: u64 = 2_000_000;
/// Silence around a neutron, in multiples of what the configuration takes for one neutron at most.
const SILENCE_OF_WINDOW: u64 = 2;
/// With fewer neutrons nothing is proposed.
pub const FEWEST_NEUTRONS: usize = 100;
/// Most hits: 32 bytes of memory each. Of a longer capture the beginning is enough.
const MOST_HITS: usize = 1 << 26;

/// What a capture says about the windows of its configuration.
#[derive(Clone, Debug)]
pub struct WindowReport {
    /// What was found, for people, and what can be pasted.
    pub text: String,
    /// What is proposed.
    pub proposal: Proposal,
}

/// Reads a capture and proposes windows for its configuration. `silence_ps` must lie around a neutron that stands alone;
/// none for as much as leaves enough of them.
///
/// # Errors
/// If the detector has no windows, its captures cannot be read here, or too few neutrons stand alone.
pub fn propose(
    config: &Config,
    mut input: Box<dyn PacketSource>,
    path: &Path,
    silence_ps: Option<u64>,
) -> Result<WindowReport, LabError> {
    let windows = Windows::of(config)?;
    let mut reader = HitReader::of(config)?;
    let (mut hits, is_whole) = read(config, &mut *input, &mut reader)?;
    neutrons::in_order(&mut hits);
    let neutrons = match silence_ps {
        Some(silence_ps) => Neutrons::find(&hits, silence_ps, windows.min_hits()),
        None => Neutrons::find_enough(
            &hits,
            SILENCE_PS.max(SILENCE_OF_WINDOW * windows.longest_ps()),
            windows.min_hits(),
        ),
    };
    if neutrons.alone.len() < FEWEST_NEUTRONS {
        let problem = format!(
            "{}: only {} neutrons of {} groups of hits stand alone with {} ns of silence around them, and {FEWEST_NEUTRONS} are \
             needed: take a longer capture or one of a lower rate, or less silence (--silence)",
            path.display(),
            neutrons.alone.len(),
            neutrons.groups,
            neutrons.silence_ps / 1000
        );
        return Err(problem.into());
    }
    let proposal = windows.propose(&neutrons);
    let text = text::text(path, &neutrons, &proposal, is_whole);
    Ok(WindowReport { text, proposal })
}

/// The hits of a capture, and whether they are all.
fn read(
    config: &Config,
    input: &mut dyn PacketSource,
    reader: &mut HitReader,
) -> Result<(Vec<PlacedHit>, bool), LabError> {
    let mut slab = PacketSlab::new(config.input.packets_per_slab, config.input.bytes_per_slab.bytes as usize);
    let mut hits = Vec::new();
    loop {
        slab.clear();
        let fill = input.fill(&mut slab)?;
        for packet in slab.batch().iter() {
            reader.read(&packet, &mut hits);
        }
        if fill == Fill::End {
            return Ok((hits, true));
        }
        if hits.len() >= MOST_HITS {
            return Ok((hits, false));
        }
    }
}
