//! A plain model of what the reference does, written from "EFU formats of 2018", sections 2.1 to 2.4. It shares no
//! code with the production pipeline and does nothing cleverly.

/// How positions are found (2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Maximum,
    CenterMass,
    Prioritized,
}

impl Strategy {
    pub(crate) const ALL: [Self; 3] = [Self::Maximum, Self::CenterMass, Self::Prioritized];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Maximum => "maximum",
            Self::CenterMass => "center-mass",
            Self::Prioritized => "prioritized",
        }
    }
}

/// A bus (2.3).
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    pub(crate) max_channel: i64,
    pub(crate) max_wire: i64,
    pub(crate) max_z: i64,
    pub(crate) swap_wires: bool,
    pub(crate) swap_grids: bool,
    pub(crate) flipped_x: bool,
    pub(crate) flipped_z: bool,
    /// (index, factor) of rescaled grids.
    pub(crate) rescaled_grids: Vec<(i64, f64)>,
}

/// The settings of the reference.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) strategy: Strategy,
    pub(crate) spoof_high_time: bool,
    pub(crate) buses: Vec<Bus>,
}

impl Settings {
    /// As at ILL.
    pub(crate) fn ill(strategy: Strategy) -> Self {
        let bus = |rescaled: &[(i64, f64)]| Bus {
            max_channel: 120,
            max_wire: 80,
            max_z: 20,
            swap_wires: true,
            swap_grids: false,
            flipped_x: true,
            flipped_z: true,
            rescaled_grids: rescaled.to_vec(),
        };
        let rescaled = [(26, 1.5), (28, 1.5), (33, 1.5), (34, 1.5), (29, 0.5)];
        Self { strategy, spoof_high_time: true, buses: vec![bus(&[]), bus(&rescaled), bus(&[])] }
    }
}

/// A hit (2.2).
#[derive(Clone, Copy, Debug)]
struct Hit {
    external: bool,
    bus: usize,
    channel: i64,
    adc: u16,
    total_time: u64,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// (time, pixel) in the order of emission.
    pub(crate) events: Vec<(u64, u32)>,
    /// Hits without external ones.
    pub(crate) readouts: u64,
    /// Those of them that a wire or grid is wired to.
    pub(crate) placed: u64,
    pub(crate) triggers: u64,
    /// Triggers with readouts that made no event.
    pub(crate) without_event: u64,
}

struct Clock {
    high: u64,
    previous_low: u64,
}

/// Plays packets through the reference's loop.
pub(crate) fn run(packets: &[Vec<u8>], settings: &Settings) -> Outcome {
    let mut outcome = Outcome::default();
    let mut clock = Clock { high: 0, previous_low: 0 };
    let mut pulse = 0;
    for packet in packets {
        for trigger in sub_buffers(packet) {
            outcome.triggers += 1;
            let hits = hits(&trigger, &mut clock, settings.spoof_high_time);
            let Some(last) = hits.last() else { continue };
            if hits.iter().any(|hit| hit.external) {
                pulse = last.total_time;
            }
            let readouts = hits.iter().filter(|hit| !hit.external).count() as u64;
            outcome.readouts += readouts;
            outcome.placed +=
                hits.iter().filter(|hit| !hit.external && place(hit, &settings.buses).is_some()).count()
                    as u64;
            match event(&hits, settings) {
                Some((time, pixel)) => outcome.events.push((time.wrapping_sub(pulse) % (1 << 32), pixel)),
                None => outcome.without_event += u64::from(readouts > 0),
            }
        }
    }
    outcome
}

/// 2.1: the data words of each trigger; none of a packet that is not sound.
fn sub_buffers(packet: &[u8]) -> Vec<Vec<u32>> {
    if packet.first() != Some(&0x60) || packet.len() < 19 {
        return Vec::new();
    }
    let words: Vec<u32> = packet[3..]
        .chunks(4)
        .filter(|chunk| chunk.len() == 4)
        .map(|chunk| {
            u32::from(chunk[0])
                | u32::from(chunk[1]) << 8
                | u32::from(chunk[2]) << 16
                | u32::from(chunk[3]) << 24
        })
        .collect();
    let mut buffers = Vec::new();
    let mut at = 0;
    while words.len() - at > 4 {
        let length = ((words[at] >> 8 & 0xFF) << 8 | words[at] >> 16 & 0xFF) as usize;
        let sound = words[at] & 0xFF == 0x58
            && words[at + 1] >> 24 == 0xBB
            && length >= 3
            && at + length < words.len()
            && words[at + length - 1] == 0x8765_4321
            && words[at + length] >> 24 == 0xEE;
        if !sound {
            return Vec::new();
        }
        buffers.push(words[at + 2..at + length - 1].to_vec());
        at += length + 1;
    }
    buffers
}

/// 2.2: the hits of a trigger; none of one that is rejected.
fn hits(words: &[u32], clock: &mut Clock, spoofed: bool) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut time = None;
    for (index, &word) in words.iter().enumerate() {
        let hit = Hit {
            external: false,
            bus: (word >> 24 & 0xF) as usize,
            channel: i64::from(word >> 12 & 0xFFF),
            adc: (word & 0xFFF) as u16,
            total_time: 0,
        };
        match word >> 28 {
            0x4 => {
                if (word & 0x3FF) as usize > words.len() - index {
                    return Vec::new();
                }
                if word >> 24 & 1 == 1 {
                    hits.push(Hit { external: true, ..hit });
                }
            }
            0x2 if spoofed => {}
            0x2 => clock.high = u64::from(word & 0xFFFF),
            0x1 => hits.push(hit),
            0x0 | 0x3 => {}
            0xC.. => {
                let low = u64::from(word & 0x3FFF_FFFF);
                if spoofed && low < clock.previous_low {
                    clock.high += 1;
                }
                clock.previous_low = low;
                time = Some((clock.high << 30) + low);
            }
            _ => return Vec::new(),
        }
    }
    let Some(time) = time else { return Vec::new() };
    hits.iter().map(|hit| Hit { total_time: time, ..*hit }).collect()
}

/// 2.3: x and z of a wire or y of a grid, and the rescaled amplitude; none if nothing is wired there.
enum Place {
    Wire { x: i64, z: i64 },
    Grid { y: i64 },
}

fn place(hit: &Hit, buses: &[Bus]) -> Option<(Place, u64)> {
    let bus = buses.get(hit.bus)?;
    let swapped = |swap: bool| if swap { hit.channel ^ 1 } else { hit.channel };
    if hit.channel < bus.max_wire {
        let wire = swapped(bus.swap_wires);
        let before: i64 = buses[..hit.bus].iter().map(|bus| bus.max_wire / bus.max_z).sum();
        let columns = bus.max_wire / bus.max_z;
        let x = if bus.flipped_x { columns - 1 - wire / bus.max_z } else { wire / bus.max_z };
        let z = if bus.flipped_z { bus.max_z - 1 - wire % bus.max_z } else { wire % bus.max_z };
        Some((Place::Wire { x: before + x, z }, u64::from(hit.adc)))
    } else if hit.channel < bus.max_channel {
        let y = swapped(bus.swap_grids) - bus.max_wire;
        let factor =
            bus.rescaled_grids.iter().find(|(index, _)| *index == y).map_or(1.0, |(_, factor)| *factor);
        Some((Place::Grid { y }, (f64::from(hit.adc) * factor).round() as u64))
    } else {
        None
    }
}

/// 2.4: the event of a trigger.
fn event(hits: &[Hit], settings: &Settings) -> Option<(u64, u32)> {
    let (mut wires, mut grids, mut time) = (Vec::new(), Vec::new(), 0);
    for hit in hits.iter().filter(|hit| !hit.external) {
        match place(hit, &settings.buses) {
            Some((Place::Wire { x, z }, adc)) => wires.push((adc, x, z)),
            Some((Place::Grid { y }, adc)) => grids.push((adc, y, 0)),
            None => continue,
        }
        time = time.max(hit.total_time);
    }
    let find = match settings.strategy {
        Strategy::Maximum => last_largest,
        Strategy::CenterMass => center_of_mass,
        Strategy::Prioritized => center_of_largest,
    };
    let ((x, z), (y, _)) = (find(&wires)?, find(&grids)?);
    let nx: i64 = settings.buses.iter().map(|bus| bus.max_wire / bus.max_z).sum();
    let last = settings.buses.last()?;
    let (ny, nz) = (last.max_channel - last.max_wire, last.max_z);
    (x < nx && y < ny && z < nz).then(|| (time, (z * nx * ny + y * nx + x + 1) as u32))
}

type Weighted = (u64, i64, i64);

fn last_largest(hits: &[Weighted]) -> Option<(i64, i64)> {
    let mut largest: Option<Weighted> = None;
    for &hit in hits {
        if hit.0 >= largest.map_or(0, |hit| hit.0) {
            largest = Some(hit);
        }
    }
    largest.map(|(_, first, second)| (first, second))
}

fn center_of_mass(hits: &[Weighted]) -> Option<(i64, i64)> {
    let mass: i64 = hits.iter().map(|hit| hit.0 as i64).sum();
    let first: i64 = hits.iter().map(|hit| hit.0 as i64 * hit.1).sum();
    let second: i64 = hits.iter().map(|hit| hit.0 as i64 * hit.2).sum();
    (mass > 0).then(|| (first / mass, second / mass))
}

fn center_of_largest(hits: &[Weighted]) -> Option<(i64, i64)> {
    let largest = hits.iter().map(|hit| hit.0).max()?;
    let largest: Vec<Weighted> = hits.iter().copied().filter(|hit| hit.0 == largest).collect();
    center_of_mass(&largest)
}
