//! The list `vmm_geometry` of vmm-sdat (SRS) and of vmm-essdat (ESS readout): which strip, or pad, each channel of a VMM is.

use super::content::{FileContent, Unused, some_of};
use super::json::{Table, Value};
use super::lines::CHANNELS;
use crate::ess::settings::{FENS, RINGS};
use std::collections::BTreeMap;

/// Which front ends a geometry is to be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnds {
    /// FECs of the SRS: the key `fec`.
    Srs,
    /// FENs of the ESS readout: the keys `ring` and `fen`.
    Ess,
}

/// What reads a VMM out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrontEnd {
    /// A FEC of the SRS.
    Fec(u16),
    /// A FEN on a ring of the ESS readout.
    Fen {
        /// The ring.
        ring: u8,
        /// The FEN on it.
        fen: u8,
    },
}

impl std::fmt::Display for FrontEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fec(fec) => write!(f, "FEC {fec}"),
            Self::Fen { ring, fen } => write!(f, "ring {ring}, FEN {fen}"),
        }
    }
}

/// A VMM with its strips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmmStrips {
    /// Where in the file it stands.
    pub place: String,
    /// What reads it out.
    pub front_end: FrontEnd,
    /// The VMM on its front end.
    pub vmm: u8,
    /// The detector, by its place among the numbers in the file.
    pub detector: u16,
    /// 0 for x, 1 for y, [`THIRD_PLANE`]; without meaning for pads.
    pub plane: u8,
    /// The strips of its channels, or the columns of its pads; none where nothing is connected.
    pub strips: [Option<u16>; CHANNELS],
    /// The rows, if its channels are pads.
    pub rows: Option<[Option<u16>; CHANNELS]>,
}

/// Keys of an entry that are understood.
const KEYS: [&str; 10] = ["detector", "plane", "fec", "ring", "fen", "vmm", "id", "id0", "id1", "angle"];
/// VMMs of a front end.
const LAST_VMM: i64 = 15;
/// The plane that vmm-sdat has beyond x and y.
pub const THIRD_PLANE: u8 = 2;

/// Reads the list. VMMs of which no channel is connected (all strips negative) are left out. With the ESS readout, so is a
/// third plane.
///
/// # Errors
/// The first entry that is wrong or not supported: a VMM with strips in two entries, planes that are no x and y; with the
/// ESS readout, pads.
pub fn geometry(file: &Table<'_>, front_ends: FrontEnds) -> Result<FileContent<Vec<VmmStrips>>, String> {
    let list = file.required("vmm_geometry")?;
    let mut unused = Unused::default();
    unused.look(file, "", &["vmm_geometry"]);
    let mut entries: Vec<(i64, VmmStrips)> = Vec::new();
    let mut seen = BTreeMap::new();
    let (mut idle, mut gaps, mut third) = (Vec::new(), Vec::new(), Vec::new());
    for value in list.list()? {
        let table = value.table()?;
        unused.look(&table, "vmm_geometry[].", &KEYS);
        let (number, entry) = entry(&table, front_ends)?;
        let name = format!("{}, VMM {}", entry.front_end, entry.vmm);
        let connected = entry.connected(&table)?;
        if connected == 0 {
            idle.push(format!("{} ({name})", table.path()));
            continue;
        }
        if let Some(first) = seen.insert((entry.front_end, entry.vmm), table.path().to_owned()) {
            return Err(format!(
                "{}: found strips as in {first} already, expected each VMM once",
                entry.place
            ));
        }
        if entry.kind() == Kind::Third {
            third.push(name);
        } else if connected < CHANNELS {
            gaps.push(format!("{} of {name}", CHANNELS - connected));
        }
        entries.push((number, entry));
    }
    if front_ends == FrontEnds::Ess {
        entries.retain(|(_, entry)| entry.kind() != Kind::Third);
    }
    let mut notes = Vec::new();
    if !idle.is_empty() {
        notes.push(format!("no channel is connected (all -1): {}", some_of(&idle)));
    }
    if !gaps.is_empty() {
        notes.push(format!("channels that are not connected (-1): {}", some_of(&gaps)));
    }
    if !third.is_empty() && front_ends == FrontEnds::Ess {
        let what = "a third plane (plane 2) takes no part in events, its readouts count as unmapped";
        notes.push(format!("{what}: {}", some_of(&third)));
    }
    notes.extend(number_detectors(&mut entries, &list, front_ends)?);
    notes.extend(unused.note());
    Ok(FileContent { content: entries.into_iter().map(|(_, entry)| entry).collect(), notes })
}

/// What the channels of a VMM are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    X,
    Y,
    Third,
    Pads,
}

impl VmmStrips {
    fn kind(&self) -> Kind {
        match (self.rows, self.plane) {
            (Some(_), _) => Kind::Pads,
            (None, 0) => Kind::X,
            (None, THIRD_PLANE) => Kind::Third,
            (None, _) => Kind::Y,
        }
    }

    /// Channels that are connected.
    fn connected(&self, table: &Table<'_>) -> Result<usize, String> {
        if let Some(rows) = &self.rows {
            let is_half =
                self.strips.iter().zip(rows).position(|(column, row)| column.is_some() != row.is_some());
            if let Some(channel) = is_half {
                return Err(format!(
                    "{}: found -1 in one of id0[{channel}] and id1[{channel}], expected it in both or in none",
                    table.path()
                ));
            }
        }
        Ok(self.strips.iter().flatten().count())
    }
}

/// What a detector has: strips of x, y and u, pads.
type Has = [bool; 4];

/// Gives detectors their places in the order of their numbers; says what becomes of those with one plane. Those that only
/// have a third plane are left out.
fn number_detectors(
    entries: &mut Vec<(i64, VmmStrips)>,
    list: &Value<'_>,
    front_ends: FrontEnds,
) -> Result<Vec<String>, String> {
    let mut planes: BTreeMap<i64, Has> = BTreeMap::new();
    for (number, entry) in entries.iter() {
        planes.entry(*number).or_default()[entry.kind() as usize] = true;
    }
    let only_third: Vec<String> = numbers(&planes, |has| *has == [false, false, true, false]);
    planes.retain(|_, has| *has != [false, false, true, false]);
    entries.retain(|(number, _)| planes.contains_key(number));
    // Numbers of detectors are 16 bits wide, so their places are.
    let places: BTreeMap<i64, u16> = planes.keys().copied().zip(0..=u16::MAX).collect();
    for (number, entry) in entries.iter_mut() {
        entry.detector = places.get(number).copied().unwrap_or(u16::MAX);
    }
    let is_lone = |has: &Has| is_one_plane(has);
    let has_events = |has: &Has| front_ends == FrontEnds::Srs || !is_lone(has);
    if !planes.values().any(has_events) {
        let found = match planes.values().next() {
            None if !only_third.is_empty() => "strips of a third plane (plane 2) only",
            None => "no connected channel of x or y",
            Some([true, ..]) => "strips of x (plane 0) only",
            Some(_) => "strips of y (plane 1) only",
        };
        return Err(format!(
            "{}: found {found}, expected a detector with strips of both, of which events are made",
            list.path()
        ));
    }
    let lone = numbers(&planes, is_lone);
    let what = match front_ends {
        FrontEnds::Srs => {
            "detectors with strips of one plane only, of which each cluster is an event, on row or column 0"
        }
        FrontEnds::Ess => "detectors with strips of one plane only, which have no events",
    };
    let third = "detectors with strips of a third plane (plane 2) only, which have no events";
    let notes = [(what, lone), (third, only_third)];
    let notes = notes.into_iter().filter(|(_, numbers)| !numbers.is_empty());
    Ok(notes.map(|(what, numbers)| format!("{what}: {}", some_of(&numbers))).collect())
}

/// Strips of x or of y, and nothing else.
fn is_one_plane(has: &Has) -> bool {
    matches!(has, [true, false, false, false] | [false, true, false, false])
}

fn numbers(planes: &BTreeMap<i64, Has>, wanted: impl Fn(&Has) -> bool) -> Vec<String> {
    planes.iter().filter(|(_, has)| wanted(has)).map(|(number, _)| number.to_string()).collect()
}

/// The places of the detectors with strips of one plane only.
pub fn detectors_of_one_plane(entries: &[VmmStrips]) -> Vec<u16> {
    let mut planes: BTreeMap<u16, Has> = BTreeMap::new();
    for entry in entries {
        planes.entry(entry.detector).or_default()[entry.kind() as usize] = true;
    }
    planes.iter().filter(|(_, has)| is_one_plane(has)).map(|(place, _)| *place).collect()
}

/// An entry, and the number of its detector.
fn entry(table: &Table<'_>, front_ends: FrontEnds) -> Result<(i64, VmmStrips), String> {
    let front_end = front_end(table, front_ends)?;
    let vmm = table.required("vmm")?.whole(0..=LAST_VMM)? as u8;
    let detector = table.required("detector")?.whole(0..=i64::from(u16::MAX))?;
    let plane = table.required("plane")?;
    let plane = match plane.whole(0..=i64::from(THIRD_PLANE)) {
        Ok(number) => number as u8,
        Err(_) => return plane.refuse("0 (x) or 1 (y)"),
    };
    let place = format!("{} ({front_end}, VMM {vmm})", table.path());
    let pads = table.optional("id1").map(|list| list.list()).transpose()?;
    let pads = pads.filter(|pads| !pads.is_empty());
    let has_pads = pads.is_some();
    if let Some(angle) = table.optional("angle").filter(|_| !has_pads) {
        let right = [0.0, 90.0];
        if right.get(usize::from(plane)).is_some_and(|&right| angle.number() != Ok(right)) {
            return angle.refuse("0 for x (plane 0) and 90 for y (plane 1)");
        }
    }
    if has_pads && front_ends == FrontEnds::Ess {
        return Err(format!(
            "{place}: id1: the detector has pads, which evforge reads with the SRS only ([gdgem]): expected strips, in \
             id0 alone"
        ));
    }
    let strips = strips(table, &place)?;
    let rows = pads.map(|list| numbers_of_channels("id1", &list, &place)).transpose()?;
    Ok((detector, VmmStrips { place, front_end, vmm, detector: 0, plane, strips, rows }))
}

fn front_end(table: &Table<'_>, front_ends: FrontEnds) -> Result<FrontEnd, String> {
    let below =
        |key: &str, limit: u8| table.required(key)?.whole(0..=i64::from(limit) - 1).map(|value| value as u8);
    let has = |key: &str| table.optional(key).is_some();
    match front_ends {
        FrontEnds::Srs if has("ring") && !has("fec") => Err(format!(
            "{}: found ring and fen, expected fec: a geometry of the ESS readout is for [ess_gdgem]",
            table.path()
        )),
        FrontEnds::Srs => Ok(FrontEnd::Fec(table.required("fec")?.whole(0..=i64::from(u16::MAX))? as u16)),
        FrontEnds::Ess if has("fec") && !(has("ring") && has("fen")) => Err(format!(
            "{}: found fec {}, expected ring and fen: what fec says of the two differs between programs; a geometry \
             of the SRS is for [gdgem]",
            table.path(),
            table.required("fec")?.shown()
        )),
        FrontEnds::Ess => Ok(FrontEnd::Fen { ring: below("ring", RINGS)?, fen: below("fen", FENS)? }),
    }
}

/// The strips: `id` (vmm-essdat) or `id0` (vmm-sdat); an empty list is none.
fn strips(table: &Table<'_>, place: &str) -> Result<[Option<u16>; CHANNELS], String> {
    let lists = ["id", "id0"].into_iter().filter_map(|key| {
        let list = table.optional(key)?.list();
        Some(list.map(|list| (key, list)))
    });
    let mut lists = lists.collect::<Result<Vec<_>, _>>()?;
    if lists.len() == 2 {
        lists.retain(|(_, list)| !list.is_empty());
    }
    let (key, list) = match &lists[..] {
        [(key, list)] => (*key, list),
        [] => return Err(format!("{place}: the strips are missing: found neither id nor id0")),
        _ => return Err(format!("{place}: found both id and id0, expected one list of strips")),
    };
    numbers_of_channels(key, list, place)
}

/// A strip, a column or a row for each channel.
fn numbers_of_channels(
    key: &str,
    list: &[Value<'_>],
    place: &str,
) -> Result<[Option<u16>; CHANNELS], String> {
    if list.len() != CHANNELS {
        let found = list.len();
        return Err(format!(
            "{place}: {key}: found {found} strips, expected {CHANNELS}, one for each channel"
        ));
    }
    let mut strips = [None; CHANNELS];
    for (strip, value) in strips.iter_mut().zip(list) {
        let number = value.whole(i64::MIN..=i64::from(u16::MAX) - 1);
        let number =
            number.or_else(|_| value.refuse("a strip below 65535, or -1 if nothing is connected"))?;
        *strip = u16::try_from(number).ok();
    }
    Ok(strips)
}
