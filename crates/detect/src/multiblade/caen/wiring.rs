//! Which cassette, plane and wire or strip a channel is: one look into a table per readout.

use super::settings::{MultiBladeSettings, ReadoutFormat};
use crate::channel_mask::{ChannelMask, MaskEntry};
use evforge_core::monitor::{ChannelGroup, MonitorPlan, NO_PLANE};
use evforge_wire::caen::CHANNELS;

/// Plane of a channel that must be looked at twice: nothing is wired to it, or it is masked.
const NOWHERE: u8 = 2;

/// What a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub(super) struct Place {
    /// The cassette.
    pub(super) cassette: u16,
    /// Least amplitude.
    pub(super) threshold: u16,
    /// Index of the channel in the monitor plan; of the first one of its digitizer is the digitizer's index
    /// times [`CHANNELS`].
    pub(super) channel: u16,
    /// Wire or strip, 0..=63.
    pub(super) coordinate: u8,
    plane: u8,
}

impl Place {
    const NONE: Self = Self { cassette: 0, threshold: 0, channel: u16::MAX, coordinate: 0, plane: NOWHERE };

    /// 0 for wires, 1 for strips; none if the readout has no place.
    #[inline(always)]
    pub(super) fn plane(&self) -> Option<usize> {
        (self.plane < NOWHERE).then_some(usize::from(self.plane))
    }

    /// Index of the digitizer.
    #[inline]
    pub(super) fn source(&self) -> usize {
        usize::from(self.channel) / CHANNELS
    }
}

/// Why a readout has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    Digitizer,
    Channel,
    Masked,
}

/// The tables.
#[derive(Debug, get_size2::GetSize)]
pub(super) struct Wiring {
    digitizers: Vec<u32>,
    /// Places by index of the digitizer and channel.
    places: Vec<Place>,
    /// For records: places by digitizer × 256 + channel, so that every possible record has one.
    direct: Vec<Place>,
    mask: ChannelMask,
    plan: MonitorPlan,
}

/// Records tell apart this many pairs of digitizer and channel.
const RECORD_ADDRESSES: usize = 1 << 16;

impl Wiring {
    /// The tables of settings that have been checked.
    pub(super) fn new(settings: &MultiBladeSettings) -> Self {
        let digitizers = settings.digitizers();
        let index_of = |digitizer: u32| digitizers.binary_search(&digitizer).ok();
        let mut places = vec![Place::NONE; digitizers.len() * CHANNELS];
        for (index, place) in places.iter_mut().enumerate() {
            place.channel = u16::try_from(index).unwrap_or(u16::MAX);
            place.threshold = settings.threshold;
        }
        for run in &settings.mapping {
            for step in 0..run.channels {
                let Some(index) = index_of(run.digitizer) else { continue };
                let place = &mut places[index * CHANNELS + usize::from(run.first_channel + step)];
                place.cassette = run.cassette;
                place.coordinate = (run.first + step) as u8;
                place.plane = run.plane.index() as u8;
            }
        }
        for entry in &settings.channel_thresholds {
            for &channel in &entry.channels {
                let Some(index) = index_of(entry.digitizer) else { continue };
                places[index * CHANNELS + usize::from(channel)].threshold = entry.adc;
            }
        }
        let without_place = |places: &[Place]| {
            let silent = places.iter().enumerate().filter(|(_, place)| place.plane == NOWHERE);
            silent.map(|(channel, _)| channel).collect::<Vec<_>>()
        };
        let unwired: Vec<_> = places.chunks(CHANNELS).map(without_place).collect();
        let masked = settings.mask.iter().flat_map(|entry| {
            let first = index_of(entry.digitizer).unwrap_or(0) * CHANNELS;
            let reason = &entry.reason;
            entry.channels.iter().map(move |&channel| MaskEntry {
                channel: first + usize::from(channel),
                reason: reason.clone(),
            })
        });
        let mask = ChannelMask::new(places.len(), &masked.collect::<Vec<_>>());
        // Masked channels are watched as well.
        let wired = places.clone();
        for (index, place) in places.iter_mut().enumerate() {
            if mask.contains(index) {
                place.plane = NOWHERE;
            }
        }
        let direct = match settings.format {
            ReadoutFormat::Records => direct_places(&digitizers, &places),
            _ => Vec::new(),
        };
        let group = |((number, unwired), wired): ((&u32, &Vec<usize>), &[Place])| {
            ChannelGroup::new(format!("digitizer {number}"), CHANNELS)
                .masked_by(CHANNELS, &[("digitizer", *number)])
                .without(unwired.iter().copied())
                .with_thresholds(wired.iter().map(|place| place.threshold))
                .on_planes(
                    wired.iter().map(|place| if place.plane < NOWHERE { place.plane } else { NO_PLANE }),
                )
        };
        let plan = MonitorPlan {
            groups: digitizers.iter().zip(&unwired).zip(wired.chunks(CHANNELS)).map(group).collect(),
            planes: vec!["wires", "strips"],
            amplitude_bits: 16,
            cluster_amplitude_bits: 18,
        };
        Self { digitizers, places, direct, mask, plan }
    }

    /// The digitisers in order.
    pub(super) fn digitizers(&self) -> &[u32] {
        &self.digitizers
    }

    /// Index of a digitizer.
    pub(super) fn index_of(&self, digitizer: u32) -> Option<usize> {
        self.digitizers.binary_search(&digitizer).ok()
    }

    /// Place of a record.
    #[inline(always)]
    pub(super) fn of_record(&self, digitizer: u8, channel: u8) -> Place {
        let address = usize::from(u16::from_be_bytes([digitizer, channel]));
        self.direct.get(address).copied().unwrap_or(Place::NONE)
    }

    /// Places of the channels of the digitizer with this index.
    pub(super) fn of_digitizer(&self, index: usize) -> &[Place] {
        self.places.get(index * CHANNELS..(index + 1) * CHANNELS).unwrap_or_default()
    }

    /// Place of a channel beyond those of a table.
    pub(super) const BEYOND: Place = Place { channel: u16::MAX - 1, ..Place::NONE };

    /// Why a readout has no place; counts it if it is masked.
    #[cold]
    pub(super) fn explain(&mut self, place: &Place) -> NoPlace {
        if place.channel == u16::MAX {
            NoPlace::Digitizer
        } else if self.mask.hides(usize::from(place.channel)) {
            NoPlace::Masked
        } else {
            NoPlace::Channel
        }
    }

    /// What there is to be monitored.
    pub(super) fn plan(&self) -> &MonitorPlan {
        &self.plan
    }

    /// The masked channels.
    pub(super) fn mask(&self) -> &ChannelMask {
        &self.mask
    }
}

fn direct_places(digitizers: &[u32], places: &[Place]) -> Vec<Place> {
    let mut direct = vec![Place::NONE; RECORD_ADDRESSES];
    for (&digitizer, channels) in digitizers.iter().zip(places.chunks_exact(CHANNELS)) {
        let first = digitizer as usize * 256;
        // Channels above 63 are known to belong to this digitizer, and to nothing else.
        direct[first..first + 256].fill(Wiring::BEYOND);
        direct[first..first + CHANNELS].copy_from_slice(channels);
    }
    direct
}
