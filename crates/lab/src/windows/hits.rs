//! Packets to hits, whatever the readout.

use super::ess_hits::EssHits;
use super::placed_hit::PlacedHit;
use crate::LabError;
use evforge_config::Config;
use evforge_core::packet::Packet;
use evforge_detect::measured_windows::{HitSource, MeasuredWindows};
use evforge_sim::overlay::caen_records::{CaenRecordCapture, RecordContent};
use evforge_sim::overlay::format::{CaptureFormat, RecordedReadout};
use evforge_sim::overlay::srs_vmm::{SrsContent, SrsVmmCapture};

/// Reads the packets of a configured detector.
pub enum HitReader {
    /// VMM3a behind SRS.
    Srs(Box<SrsVmmCapture>, Vec<RecordedReadout<SrsContent>>),
    /// Records of CAEN digitisers.
    Caen(Box<CaenRecordCapture>, Vec<RecordedReadout<RecordContent>>),
    /// VMM3a in the ESS readout.
    Ess(Box<EssHits>),
}

impl HitReader {
    /// The reader of captures of a configured detector.
    ///
    /// # Errors
    /// If its captures cannot be read here.
    pub fn of(config: &Config) -> Result<Self, LabError> {
        let Some(MeasuredWindows { hits, .. }) = config.detector.measured_windows()? else {
            let section = config.section;
            return Err(
                format!("captures of a detector with a section [{section}] cannot be read here").into()
            );
        };
        Ok(match hits {
            HitSource::Srs(of) => Self::Srs(Box::new(SrsVmmCapture::new(of)?), Vec::new()),
            HitSource::CaenRecords(of) => Self::Caen(Box::new(CaenRecordCapture::new(of)?), Vec::new()),
            HitSource::Ess { ess, vmm, targets_of_module } => {
                Self::Ess(Box::new(EssHits::new(ess, *vmm, targets_of_module)))
            }
        })
    }

    /// Adds the hits of a packet that have a place and a time and are above the configured threshold.
    pub fn read(&mut self, packet: &Packet<'_>, hits: &mut Vec<PlacedHit>) {
        match self {
            Self::Srs(format, readouts) => recorded(&mut **format, packet, readouts, hits),
            Self::Caen(format, readouts) => recorded(&mut **format, packet, readouts, hits),
            Self::Ess(reader) => reader.read(packet, hits),
        }
    }
}

fn recorded<F: CaptureFormat>(
    format: &mut F,
    packet: &Packet<'_>,
    readouts: &mut Vec<RecordedReadout<F::Content>>,
    hits: &mut Vec<PlacedHit>,
) {
    readouts.clear();
    format.read(packet, readouts);
    let step_ps = format.step_ps();
    hits.extend(readouts.iter().filter_map(|readout| {
        let amplitude = format.amplitude(readout)?;
        Some(PlacedHit { place: readout.place, time_ps: readout.time_ps(step_ps), amplitude })
    }));
}
