//! The digital geometry of SRS readout, backwards: which chip reads a strip, and what a receiver makes of its readouts.

use crate::layout::{Layout, Place};
use crate::vmm_channel::{FineTime, FineTimeSense, RawAmplitude};
use evforge_detect::calibration::ChannelCalibration;
use evforge_detect::gdgem::settings::{GdGemSettings, TimeConvention};
use evforge_wire::srs_vmm::{CHANNELS, LARGEST_ADC};

/// Units of the fine time are picoseconds.
const PICOSECONDS_PER_NANOSECOND: f64 = 1000.0;

/// The strips that are wired: modules are panels, plane 0 is x.
pub(super) fn layout(settings: &GdGemSettings) -> Layout {
    let channels =
        (0..CHANNELS as u8).flat_map(|channel| settings.mapping.iter().map(move |chip| (chip, channel)));
    let places = channels.filter_map(|(chip, channel)| {
        let coordinate = chip.strip(channel)?;
        Some(Place { module: chip.panel, plane: chip.plane.index() as u8, coordinate })
    });
    Layout::new(places.collect())
}

/// What reads a strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wired {
    /// Place of its FEC among [`Wiring::fecs`].
    pub(super) fec: u16,
    pub(super) chip: u8,
    pub(super) channel: u8,
    pub(super) fine_time: FineTime,
    pub(super) amplitude: RawAmplitude,
}

/// All channels, by their numbers in the layout.
#[derive(Clone, Debug)]
pub(super) struct Wiring {
    /// Numbers of the FECs, in order.
    pub(super) fecs: Vec<u16>,
    pub(super) channels: Vec<Option<Wired>>,
}

impl Wiring {
    /// For settings that have been checked. Of channels that are wired to the same strip the first is read.
    pub(super) fn new(settings: &GdGemSettings, layout: &Layout) -> Self {
        let mut fecs: Vec<u16> = settings.mapping.iter().map(|chip| chip.fec).collect();
        fecs.sort_unstable();
        fecs.dedup();
        let time = &settings.time;
        let sense = match time.convention {
            TimeConvention::SignedOffset => FineTimeSense::Subtracted,
            TimeConvention::TriggerPeriod2018 => FineTimeSense::Added,
        };
        let mut channels = vec![None; layout.channel_count()];
        for chip in &settings.mapping {
            let Some(fec) = fecs.iter().position(|fec| *fec == chip.fec) else { continue };
            let calibrated =
                settings.calibration.iter().find(|entry| (entry.fec, entry.chip) == (chip.fec, chip.chip));
            for channel in 0..CHANNELS as u8 {
                let Some(coordinate) = chip.strip(channel) else { continue };
                let place = Place { module: chip.panel, plane: chip.plane.index() as u8, coordinate };
                let number = layout.channel(place).and_then(|number| channels.get_mut(number as usize));
                let Some(wired) = number.filter(|wired: &&mut Option<Wired>| wired.is_none()) else {
                    continue;
                };
                let lines = calibrated.and_then(|entry| entry.channels.get(usize::from(channel)));
                let lines = lines.copied().unwrap_or(ChannelCalibration::IDENTITY);
                let (crossing, range) = (time.bunch_crossing as i64, time.tac_range as f64);
                *wired = Some(Wired {
                    fec: fec as u16,
                    chip: chip.chip & 15,
                    channel,
                    fine_time: FineTime::new(crossing, range, sense, lines.time, PICOSECONDS_PER_NANOSECOND),
                    amplitude: RawAmplitude::new(lines.amplitude, LARGEST_ADC),
                });
            }
        }
        Self { fecs, channels }
    }

    /// Names of the FECs, as the ledger has them.
    pub(super) fn sources(&self) -> Vec<String> {
        self.fecs.iter().map(|fec| format!("FEC {fec}")).collect()
    }
}
