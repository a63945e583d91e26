//! A plain model of Multi-Blade event formation (EFU formats of 2018, section 3): lists of hits, sorted where
//! the document says so. It shares no code with production, its decoder included.

use std::collections::BTreeMap;

/// Digitisers of the prototype, in order of their cassettes.
pub(crate) const DIGITIZERS: [u8; 6] = [137, 143, 142, 31, 34, 33];

/// A record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readout {
    pub(crate) digitizer: u8,
    pub(crate) channel: u8,
    pub(crate) adc: u16,
    pub(crate) time: u32,
}

/// The rules that differ between the reference and us, and the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Quirk: a cluster on one plane only gets the position -1 on the other and is looked up all the same.
    pub(crate) one_plane_is_enough: bool,
    /// Quirk: neighbours are judged by the number of hits, so that two hits of one channel hide a hole.
    pub(crate) duplicates_hide_holes: bool,
    /// Quirk: a plane without amplitude has the position -1.
    pub(crate) no_amplitude_is_minus_one: bool,
    /// Whether what is open at the end of the input is formed (not in the reference's lists).
    pub(crate) flush_at_end: bool,
    /// Hits in order of time instead of arrival.
    pub(crate) in_order_of_time: bool,
    /// Ticks of a window.
    pub(crate) window: u32,
    /// Whether a window's length counts from the latest hit instead of the first one.
    pub(crate) gap: bool,
    /// Largest number of wires and of strips.
    pub(crate) max_size: [usize; 2],
    /// Largest ratio of the amplitudes of both planes.
    pub(crate) max_ratio: Option<f64>,
    /// Whether two neutrons in a window are told apart.
    pub(crate) separate: bool,
    /// The channel of the largest amplitude instead of the centre of gravity.
    pub(crate) maximum: bool,
    /// Positions are rounded to the nearest pixel instead of down.
    pub(crate) nearest: bool,
}

impl Rules {
    /// All quirks of the reference.
    pub(crate) fn reference() -> Self {
        Self {
            one_plane_is_enough: true,
            duplicates_hide_holes: true,
            no_amplitude_is_minus_one: true,
            flush_at_end: false,
            in_order_of_time: false,
            window: 185,
            gap: false,
            max_size: [64; 2],
            max_ratio: None,
            separate: false,
            maximum: false,
            nearest: false,
        }
    }

    /// Our rules with the reference's settings: `configs/reference-2018/multiblade.toml`.
    pub(crate) fn ours() -> Self {
        Self {
            one_plane_is_enough: false,
            duplicates_hide_holes: false,
            no_amplitude_is_minus_one: false,
            flush_at_end: true,
            ..Self::reference()
        }
    }

    /// `configs/multiblade.toml`.
    pub(crate) fn production() -> Self {
        Self {
            in_order_of_time: true,
            max_size: [3, 5],
            max_ratio: Some(15.0),
            nearest: true,
            ..Self::ours()
        }
    }
}

/// What became of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// An event, with its unrounded position.
    Event { time: u64, pixel: u32, wire: f64, strip: f64, planes: usize },
    /// A position that is no pixel.
    GeometryError { time: u64, wire: f64, strip: f64, cassette: usize },
    /// Discarded, with the reason and the number of hits.
    Discarded(&'static str, usize),
}

/// (coordinate, amplitude) of one plane.
type Hits = Vec<(i64, u64)>;

/// The hits of an open window: wires and strips.
#[derive(Clone, Debug, Default)]
struct Window {
    start: u64,
    latest: u64,
    planes: [Hits; 2],
}

/// All readouts of the packets.
pub(crate) fn decode(payloads: &[Vec<u8>]) -> Vec<Readout> {
    let record = |bytes: &[u8]| Readout {
        digitizer: bytes[0],
        channel: bytes[1],
        adc: u16::from(bytes[2]) + 256 * u16::from(bytes[3]),
        time: bytes[4..8].iter().rev().fold(0, |time, &byte| time * 256 + u32::from(byte)),
    };
    payloads.iter().flat_map(|payload| payload.chunks(8).map(record)).collect()
}

/// Forms clusters of readouts and says what became of each, in the order in which their windows close.
pub(crate) fn form(readouts: &[Readout], rules: &Rules) -> Vec<Outcome> {
    let mut readouts = readouts.to_vec();
    if rules.in_order_of_time {
        readouts.sort_by_key(|readout| readout.time);
    }
    let mut windows: BTreeMap<usize, Window> = BTreeMap::new();
    let mut outcomes = Vec::new();
    for readout in readouts {
        let cassette = DIGITIZERS
            .iter()
            .position(|&digitizer| digitizer == readout.digitizer)
            .expect("known digitisers");
        let time = u64::from(readout.time);
        if let Some(window) = windows.get(&cassette) {
            let begin = if rules.gap { window.latest } else { window.start };
            if readout.time.wrapping_sub(begin as u32) >= rules.window {
                resolve(cassette, window, rules, &mut outcomes);
                windows.remove(&cassette);
            }
        }
        let window = windows.entry(cassette).or_insert(Window { start: time, ..Window::default() });
        window.latest = time;
        let plane = usize::from(readout.channel >= 32);
        window.planes[plane].push((i64::from(readout.channel % 32), u64::from(readout.adc)));
    }
    if rules.flush_at_end {
        for (cassette, window) in &windows {
            resolve(*cassette, window, rules, &mut outcomes);
        }
    }
    outcomes
}

/// Neighbouring groups of a plane, the lowest first.
fn groups(hits: &Hits) -> Vec<Hits> {
    let mut sorted = hits.clone();
    sorted.sort_unstable();
    let mut groups: Vec<Hits> = Vec::new();
    for hit in sorted {
        match groups.last_mut() {
            Some(group) if hit.0 - group[group.len() - 1].0 <= 1 => group.push(hit),
            _ => groups.push(vec![hit]),
        }
    }
    groups
}

fn amplitude(hits: &Hits) -> u64 {
    hits.iter().map(|hit| hit.1).sum()
}

fn is_adjacent(hits: &Hits, rules: &Rules) -> bool {
    if !rules.duplicates_hide_holes {
        return groups(hits).len() <= 1;
    }
    let coordinates = || hits.iter().map(|hit| hit.0);
    hits.len() < 2 || coordinates().max().unwrap_or(0) - coordinates().min().unwrap_or(0) < hits.len() as i64
}

/// The position of a plane, -1 if it has none.
fn position(hits: &Hits, rules: &Rules) -> f64 {
    let sum = amplitude(hits);
    if sum == 0 {
        return -1.0;
    }
    if rules.maximum {
        let largest = hits.iter().map(|hit| hit.1).max().unwrap_or(0);
        let strongest = hits.iter().filter(|hit| hit.1 == largest).map(|hit| hit.0).min();
        return strongest.unwrap_or(-1) as f64;
    }
    hits.iter().map(|hit| hit.0 as u64 * hit.1).sum::<u64>() as f64 / sum as f64
}

fn resolve(cassette: usize, window: &Window, rules: &Rules, outcomes: &mut Vec<Outcome>) {
    let hits = window.planes[0].len() + window.planes[1].len();
    let mut discard = |reason| outcomes.push(Outcome::Discarded(reason, hits));
    if !rules.one_plane_is_enough {
        for (plane, reason) in [(1, "only_wires"), (0, "only_strips")] {
            if window.planes[plane].is_empty() {
                return discard(reason);
            }
        }
    }
    if !window.planes.iter().all(|hits| is_adjacent(hits, rules)) {
        let [mut wires, mut strips] = [0, 1].map(|plane| groups(&window.planes[plane]));
        if !rules.separate || wires.len() != 2 || strips.len() != 2 {
            return discard("not_adjacent");
        }
        wires.sort_by_key(|group| std::cmp::Reverse(amplitude(group)));
        strips.sort_by_key(|group| std::cmp::Reverse(amplitude(group)));
        let equal = |groups: &[Hits]| amplitude(&groups[0]) == amplitude(&groups[1]);
        let agree = (0..2).all(|place| amplitudes_agree([&wires[place], &strips[place]], rules));
        if equal(&wires) || equal(&strips) || !agree {
            return discard("ambiguous");
        }
        for place in 0..2 {
            emit(cassette, window.start, [&wires[place], &strips[place]], rules, outcomes);
        }
        return;
    }
    emit(cassette, window.start, [&window.planes[0], &window.planes[1]], rules, outcomes);
}

fn amplitudes_agree(planes: [&Hits; 2], rules: &Rules) -> bool {
    let [wires, strips] = planes.map(|hits| amplitude(hits) as f64);
    rules.max_ratio.is_none_or(|ratio| wires.max(strips) <= ratio * wires.min(strips))
}

fn emit(cassette: usize, time: u64, planes: [&Hits; 2], rules: &Rules, outcomes: &mut Vec<Outcome>) {
    let hits = planes[0].len() + planes[1].len();
    let [wire, strip] = planes.map(|hits| position(hits, rules));
    if wire < 0.0 && strip < 0.0 {
        return outcomes.push(Outcome::Discarded("no_amplitude", hits));
    }
    if !rules.no_amplitude_is_minus_one && planes.iter().any(|hits| !hits.is_empty() && amplitude(hits) == 0)
    {
        return outcomes.push(Outcome::Discarded("no_amplitude", hits));
    }
    let size = |plane: usize| {
        let mut coordinates: Vec<i64> = planes[plane].iter().map(|hit| hit.0).collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        coordinates.len()
    };
    if size(0) > rules.max_size[0] || size(1) > rules.max_size[1] {
        return outcomes.push(Outcome::Discarded("cluster_too_wide", hits));
    }
    if !amplitudes_agree(planes, rules) {
        return outcomes.push(Outcome::Discarded("amplitude_mismatch", hits));
    }
    // The reference's strip position counts from 32, and is -1 where there is none: 33 below the first strip.
    let strip = if strip < 0.0 { -33.0 } else { strip };
    let whole = |position: f64| if rules.nearest { position.round() } else { position.trunc() };
    let (x, y) = (whole(strip), whole(cassette as f64 * 32.0 + wire));
    if !(0.0..32.0).contains(&x) || !(0.0..192.0).contains(&y) {
        return outcomes.push(Outcome::GeometryError { time, wire, strip, cassette });
    }
    let pixel = y as u32 * 32 + x as u32 + 1;
    let planes = planes.iter().filter(|hits| !hits.is_empty()).count();
    outcomes.push(Outcome::Event { time, pixel, wire, strip, planes });
}

/// (time, pixel) of the events.
pub(crate) fn events(outcomes: &[Outcome]) -> Vec<(u64, u32)> {
    let event = |outcome: &Outcome| match outcome {
        Outcome::Event { time, pixel, .. } => Some((*time, *pixel)),
        _ => None,
    };
    outcomes.iter().filter_map(event).collect()
}
