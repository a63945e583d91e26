//! A calibration of helium-3 tubes from a capture that was taken behind a mask with slits across the tubes.
//!
//! ```text
//! capture ─► charges of each group ─► places along each tube ─► peaks of the slits ─► ends and polynomial ─► proposal
//! ```
//!
//! | step | module |
//! |---|---|
//! | packets to places along tubes | [`spectra`] |
//! | peaks at the slits, with their uncertainties | [`peaks`] |
//! | ends and polynomial of a tube | [`fit`] |
//! | what is proposed, and what stands out: tubes that are missing or swapped | [`proposal`] |
//!
//! The slits are known as shares of a tube: 0 is its beginning in the picture, 1 its end. The calibration of the configuration is where
//! peaks are looked for first: it must be right to half the distance of two slits.

pub mod fit;
pub mod peaks;
pub mod proposal;
pub mod spectra;

use crate::LabError;
use evforge_config::Config;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use proposal::Proposal;
use spectra::Spectra;

/// Fewest slits: two ends, and one by which they can be judged.
pub const FEWEST_SLITS: usize = 3;

/// Reads a capture and proposes a calibration; `slits` are shares of a tube, ascending.
///
/// # Errors
/// If the detector has no tubes, slits are no shares in order, or the capture cannot be read.
pub fn calibrate(
    config: &Config,
    mut input: Box<dyn PacketSource>,
    slits: &[f64],
) -> Result<Proposal, LabError> {
    let Some(settings) = config.detector.tubes() else {
        return Err(
            format!("a detector with a section [{}] has no tubes to calibrate", config.section).into()
        );
    };
    let in_order = slits.windows(2).all(|pair| pair[0] < pair[1]);
    if slits.len() < FEWEST_SLITS || !in_order || !slits.iter().all(|slit| (0.0..=1.0).contains(slit)) {
        let problem = format!(
            "--slits: found {slits:?}, expected at least {FEWEST_SLITS} numbers from 0 to 1 in order: where the slits are, as shares of a tube"
        );
        return Err(problem.into());
    }
    if settings.calibrated_by.is_empty() {
        return Err(format!(
            "[{}] calibrated_by is empty: a calibration would have no effect",
            config.section
        )
        .into());
    }
    let groups = settings.expand()?;
    let mut spectra = Spectra::new(settings, &groups);
    let mut slab = PacketSlab::new(config.input.packets_per_slab, config.input.bytes_per_slab.bytes as usize);
    loop {
        slab.clear();
        let fill = input.fill(&mut slab)?;
        slab.batch().iter().for_each(|packet| spectra.read(&packet));
        if fill == Fill::End {
            break;
        }
    }
    Ok(Proposal::new(settings, &groups, &spectra, slits))
}

#[cfg(test)]
mod tests;
