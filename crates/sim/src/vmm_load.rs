//! A load for any detector with VMM3a records in today's ESS readout: neutrons on its wired channels.
//!
//! The wiring is read backwards: on every module the channels of both planes are put into the order of their
//! coordinates, and a neutron takes neighbours of them. There is no physics in it (amplitudes are drawn, charge is
//! not shared), so it is good for speed, order and counting, not for judging positions.

use crate::neutron_source::NeutronSource;
use evforge_core::pulse::PulseTrain;
use evforge_detect::ess::{PlaceRequest, VmmSettings};
use evforge_wire::ess::{EssEncoder, EssTime, RECORD, TICKS_PER_SECOND, Vmm3aFields};
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What neutrons leave, and how many there are.
#[derive(Clone, Debug, PartialEq)]
pub struct VmmLoad {
    /// Neutrons per pulse on average, over all modules.
    pub neutrons_per_pulse: f64,
    /// Pulses, 14 in a second.
    pub pulses: u64,
    /// Hits of a neutron on each plane.
    pub hits: [RangeInclusive<usize>; 2],
    /// Ticks between two hits of a neutron that follow one another on a plane: 0 where they come together, more for
    /// the track of a micro-TPC.
    pub ticks_between_hits: RangeInclusive<u32>,
    /// Records that a packet has at most.
    pub records_per_packet: usize,
    /// How much later the records of one FEN may be sent than those of another, in ticks.
    pub latency: u32,
    /// Start of the random numbers.
    pub seed: u64,
}

impl VmmLoad {
    /// Neutrons of a Multi-Blade: a wire and two strips are typical.
    pub fn multi_blade() -> Self {
        Self { hits: [1..=2, 1..=3], ..Self::plain() }
    }

    /// Neutrons of a Multi-Grid: one to three wires and one or two grids.
    pub fn multi_grid() -> Self {
        Self { hits: [1..=3, 1..=2], ..Self::plain() }
    }

    /// Neutrons of a Gd-GEM: tracks over several strips of both planes, fewer of them, because a panel is a single
    /// module.
    pub fn gd_gem() -> Self {
        let hits = [3..=9, 3..=9];
        Self { neutrons_per_pulse: 6_000.0, pulses: 14, hits, ticks_between_hits: 1..=3, ..Self::plain() }
    }

    fn plain() -> Self {
        Self {
            neutrons_per_pulse: 40_000.0,
            pulses: 7,
            hits: [1..=1, 1..=1],
            ticks_between_hits: 0..=1,
            records_per_packet: usize::MAX,
            latency: 900,
            seed: 1,
        }
    }
}

/// A channel as it is addressed in a record.
#[derive(Clone, Copy, Debug)]
struct Address {
    fibre: u8,
    fen: u8,
    vmm: u8,
    channel: u8,
}

/// The channels of one plane of a module, in the order of their coordinates.
type Plane = Vec<(u16, Address)>;

/// The second of the first pulse.
const FIRST_SECOND: u64 = 1_700_000_000;

/// The packets of `load` for a detector with this type and wiring, and the number of neutrons in them.
/// `module_and_plane` says what a channel is wired to: planes are 0 and 1.
pub fn packets(
    load: &VmmLoad,
    detector_type: u8,
    wiring: &VmmSettings,
    module_and_plane: impl Fn(&PlaceRequest) -> (usize, usize),
) -> (Vec<Vec<u8>>, u64) {
    let modules = modules(wiring, module_and_plane);
    let mut random = SmallRng::seed_from_u64(load.seed);
    let train = PulseTrain::ess();
    let first = FIRST_SECOND * 14;
    let source = NeutronSource::new(train, load.neutrons_per_pulse);
    let mut encoder = EssEncoder::new(detector_type, 0, load.records_per_packet);
    let (mut packets, mut neutrons) = (Vec::new(), 0);
    let mut latencies = BTreeMap::new();
    for pulse in first..first + load.pulses {
        let mut sent: Vec<(u64, [u8; RECORD])> = Vec::new();
        for time_ns in source.arrivals(pulse, &mut random) {
            let Some(start) = EssTime::nearest(time_ns) else { continue };
            let Some(module) = modules.get(random.random_range(0..modules.len().max(1))) else { continue };
            neutrons += 1;
            for (plane, hits) in module.iter().zip(&load.hits) {
                let mut time = start.total_ticks() + u64::from(random.random_range(0..=2_u32));
                for address in neighbours(plane, random.random_range(hits.clone()), &mut random) {
                    let latency = latencies
                        .entry((address.fibre / 2, address.fen))
                        .or_insert_with(|| random.random_range(0..=load.latency));
                    let delay = u64::from(*latency) + u64::from(random.random_range(0..=load.latency / 8));
                    sent.push((time + delay, record(address, time, &mut random)));
                    time += u64::from(random.random_range(load.ticks_between_hits.clone()));
                }
            }
        }
        sent.sort_by_key(|(at, _)| *at);
        let records: Vec<_> = sent.into_iter().map(|(_, record)| record).collect();
        if let Some(pulse) = train.start_ns(pulse).and_then(EssTime::nearest) {
            encoder.pulse(pulse, &records, &mut packets);
        }
    }
    (packets, neutrons)
}

/// The modules that have both planes.
fn modules(
    wiring: &VmmSettings,
    module_and_plane: impl Fn(&PlaceRequest) -> (usize, usize),
) -> Vec<[Plane; 2]> {
    let mut modules: BTreeMap<usize, [Plane; 2]> = BTreeMap::new();
    for hybrid in &wiring.hybrids {
        for (index, request) in hybrid.channels.iter().enumerate() {
            let Some(request) = request else { continue };
            let (module, plane) = module_and_plane(request);
            let address = Address {
                fibre: 2 * hybrid.ring,
                fen: hybrid.fen,
                vmm: 2 * hybrid.hybrid + (index / 64) as u8,
                channel: (index % 64) as u8,
            };
            if let Some(plane) = modules.entry(module).or_default().get_mut(plane) {
                plane.push((request.coordinate, address));
            }
        }
    }
    let mut modules: Vec<_> =
        modules.into_values().filter(|planes| planes.iter().all(|plane| !plane.is_empty())).collect();
    modules.iter_mut().flatten().for_each(|plane| plane.sort_by_key(|(coordinate, _)| *coordinate));
    modules
}

/// Up to `count` channels of neighbouring coordinates, from a place drawn at random.
fn neighbours(plane: &Plane, count: usize, random: &mut impl Rng) -> Vec<Address> {
    let from = random.random_range(0..plane.len().max(1));
    let first = plane.get(from).map_or(0, |(coordinate, _)| *coordinate);
    let run = plane[from.min(plane.len())..].iter().zip(first..).take(count);
    let run = run.take_while(|((coordinate, _), expected)| coordinate == expected);
    run.map(|((_, address), _)| *address).collect()
}

fn record(address: Address, ticks: u64, random: &mut impl Rng) -> [u8; RECORD] {
    let Address { fibre, fen, vmm, channel } = address;
    let seconds = (ticks / u64::from(TICKS_PER_SECOND)) as u32;
    let time = EssTime { seconds, ticks: (ticks % u64::from(TICKS_PER_SECOND)) as u32 };
    let (adc, tdc) = (random.random_range(200..900), random.random());
    Vmm3aFields { fibre, fen, vmm, channel, adc, tdc, time, ..Vmm3aFields::default() }.encode()
}
