//! Neutrons of known place and time, and the charges that they leave; noise.

use crate::kinds_of_panels::wired::{Charge, Place, Wired};
use evforge_core::geometry::Coordinates;
use evforge_detect::gdgem::GdGemSettings;
use evforge_detect::panel_kind::PanelKind;
use evforge_sim::truth::Neutron;

/// Numbers that look like chance, always the same.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// From 0 to below 1.
    pub(crate) fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, limit: u16) -> u16 {
        (self.part() * f64::from(limit)) as u16
    }

    /// Time from one to the next where so many come per second, in nanoseconds.
    pub(crate) fn gap_ns(&mut self, rate: f64) -> f64 {
        -(1.0 - self.part()).ln() * 1e9 / rate
    }
}

/// How many neutrons come, and what goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beam {
    pub(crate) seed: u64,
    pub(crate) neutrons: u64,
    /// Neutrons per second on each panel.
    pub(crate) rate: f64,
    /// Hits per second on the whole detector that nothing causes.
    pub(crate) noise: f64,
    /// Share of neutrons that a plane does not see.
    pub(crate) lost: f64,
}

/// The truth and the charges of neutrons on every panel that has events.
pub(crate) fn neutrons(settings: &GdGemSettings, wired: &Wired, beam: &Beam) -> (Vec<Neutron>, Vec<Charge>) {
    let mut chance = Chance::new(beam.seed);
    let (mut truth, mut charges) = (Vec::new(), Vec::new());
    let panels = settings.geometry.panels() as u16;
    let mut end = 0.0_f64;
    for panel in 0..panels {
        let mut time = 1e6;
        for _ in 0..beam.neutrons / u64::from(panels) {
            time += chance.gap_ns(beam.rate);
            let kind = settings.panel_kinds()[usize::from(panel)];
            let [x, y] = neutron(kind, panel, time, wired, beam, &mut chance, &mut charges);
            let place = Coordinates { x: x.into(), y: y.into(), z: 0, panel: panel.into() };
            truth.push(Neutron {
                number: 0,
                time_ns: time as u64,
                pixel_id: settings.geometry.pixel(place),
                module: panel.into(),
                position: [f64::from(x) + 0.5, f64::from(y) + 0.5, 0.5],
                resolvable: true,
            });
        }
        end = end.max(time);
    }
    truth.sort_by_key(|neutron| (neutron.time_ns, neutron.pixel_id));
    truth.iter_mut().zip(0..).for_each(|(neutron, number)| neutron.number = number);
    let places = wired.places();
    let mut time = 1e6;
    while time < end {
        time += chance.gap_ns(beam.noise);
        let place = places[usize::from(chance.below(places.len() as u16))];
        charges.push(Charge { time_ns: time, place, adc: 50 + chance.below(400) });
    }
    (truth, charges)
}

/// The charges of a neutron; its column and row.
fn neutron(
    kind: PanelKind,
    panel: u16,
    time: f64,
    wired: &Wired,
    beam: &Beam,
    chance: &mut Chance,
    charges: &mut Vec<Charge>,
) -> [u16; 2] {
    let sees = |chance: &mut Chance| chance.part() >= beam.lost;
    let strip = |plane: usize, chance: &mut Chance| 3 + chance.below(wired.strips(panel, plane) - 6);
    let mut track = |plane: usize, strip: u16, chance: &mut Chance| {
        if sees(chance) {
            charges.extend(of_track(panel, plane, strip, time, chance));
        }
    };
    match kind {
        PanelKind::OnlyX => {
            let x = strip(0, chance);
            track(0, x, chance);
            [x, 0]
        }
        PanelKind::OnlyY => {
            let y = strip(1, chance);
            track(1, y, chance);
            [0, y]
        }
        PanelKind::TwoPlanes | PanelKind::ThreePlanes => {
            let [x, y] = [strip(0, chance), strip(1, chance)];
            track(0, x, chance);
            track(1, y, chance);
            if kind == PanelKind::ThreePlanes {
                // Half of them lie so that the next strip of u gets the charge.
                let u = x + y + chance.below(2);
                track(2, u, chance);
            }
            [x, y]
        }
        PanelKind::Pads => {
            let [x, y] = [chance.below(8), chance.below(8)];
            charges.extend(of_pads(panel, [x, y], time, chance));
            [x, y]
        }
    }
}

/// A track of three or four strips, whose latest hit is where the neutron was.
fn of_track(panel: u16, plane: usize, strip: u16, time: f64, chance: &mut Chance) -> Vec<Charge> {
    let goes_up = chance.below(2) == 1;
    let late = 12.0 * chance.part() - 6.0;
    (0..3 + chance.below(2))
        .filter_map(|step| {
            let strip = if goes_up { strip + step } else { strip.checked_sub(step)? };
            let time_ns = time + late - 35.0 * f64::from(step);
            let adc = 200 + chance.below(400);
            Some(Charge { time_ns, place: Place::Strip { panel, plane, strip }, adc })
        })
        .collect()
}

/// A pad and its neighbours to all sides, which get less.
fn of_pads(panel: u16, [column, row]: [u16; 2], time: f64, chance: &mut Chance) -> Vec<Charge> {
    let around = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)];
    around
        .into_iter()
        .filter_map(|(right, up)| {
            let [column, row] = [column.checked_add_signed(right)?, row.checked_add_signed(up)?];
            let adc = if (right, up) == (0, 0) { 700 } else { 40 + chance.below(40) };
            let time_ns = time - 40.0 * chance.part();
            Some(Charge { time_ns, place: Place::Pad { panel, column, row }, adc })
        })
        .collect()
}
