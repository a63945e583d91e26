//! The hybrids of an instrument of the event formation unit: the list `Config`, whose entries have `Ring`, `FEN`,
//! `Hybrid`, mostly a `HybridId`, and what the detector adds.

use super::HybridId;
use crate::ess::settings::{FENS, HYBRIDS, RINGS};
use crate::vmm_files::json::Table;
use std::collections::BTreeMap;
use std::fmt;

/// Where a hybrid is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HybridAddress {
    /// The ring: half the fibre number.
    pub ring: u8,
    /// The FEN on it.
    pub fen: u8,
    /// The hybrid on its FEN.
    pub hybrid: u8,
}

impl fmt::Display for HybridAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ring {}, FEN {}, hybrid {}", self.ring, self.fen, self.hybrid)
    }
}

/// A hybrid with its entry, for what the detector adds.
#[derive(Clone, Debug)]
pub struct EfuHybrid<'a> {
    /// Where it is.
    pub address: HybridAddress,
    /// Its identity, if it has one.
    pub id: Option<HybridId>,
    /// The entry.
    pub entry: Table<'a>,
}

/// Keys of entries that are understood here.
pub const HYBRID_KEYS: [&str; 4] = ["Ring", "FEN", "Hybrid", "HybridId"];

/// The hybrids of an instrument whose key `Detector` is `detector`.
///
/// # Errors
/// If it is another detector, or an entry is wrong; if a hybrid or an identity is there twice.
pub fn hybrids<'a>(file: &Table<'a>, detector: &str) -> Result<Vec<EfuHybrid<'a>>, String> {
    check_detector(file, detector)?;
    let list = file.required("Config")?;
    let entries = list.list()?;
    if entries.is_empty() {
        return list.refuse("an entry for each hybrid");
    }
    let mut places: BTreeMap<HybridAddress, String> = BTreeMap::new();
    let mut ids: BTreeMap<HybridId, String> = BTreeMap::new();
    let hybrid = |value: &crate::vmm_files::json::Value<'a>| {
        let entry = value.table()?;
        let number = |key: &str, limit: u8| {
            entry.required(key)?.whole(0..=i64::from(limit) - 1).map(|number| number as u8)
        };
        let address = HybridAddress {
            ring: number("Ring", RINGS)?,
            fen: number("FEN", FENS)?,
            hybrid: number("Hybrid", HYBRIDS)?,
        };
        if let Some(first) = places.insert(address, entry.path().to_owned()) {
            return Err(format!("{}: found {address}, which is {first} already", entry.path()));
        }
        let mut id = None;
        if let Some(value) = entry.optional("HybridId") {
            let text = HybridId::new(value.text()?);
            let found = text.map_or_else(|| value.refuse(HybridId::EXPECTED), Ok)?;
            if let Some(first) = ids.insert(found.clone(), entry.path().to_owned()) {
                return value.refuse(&format!("another identity than that of {first}"));
            }
            id = Some(found);
        }
        Ok(EfuHybrid { address, id, entry })
    };
    entries.iter().map(hybrid).collect()
}

/// Refuses a file of another detector.
pub(super) fn check_detector(file: &Table<'_>, detector: &str) -> Result<(), String> {
    let name = file.required("Detector")?;
    match name.text()?.eq_ignore_ascii_case(detector) {
        true => Ok(()),
        false => name.refuse(&format!("{detector:?}, for which this section is")),
    }
}

/// Keys of an instrument's file that are no wiring: said to be without effect unless they agree with what holds.
#[derive(Debug)]
pub struct EfuSettings<'f, 'a> {
    file: &'f Table<'a>,
    /// The notes.
    pub notes: Vec<String>,
    known: Vec<&'static str>,
}

impl<'f, 'a> EfuSettings<'f, 'a> {
    /// Those of a file.
    pub fn new(file: &'f Table<'a>) -> Self {
        let known = vec!["Config", "Detector", "InstrumentGeometry", "Version"];
        Self { file, notes: Vec::new(), known }
    }

    /// A number that `setting` of the configuration says as `ours`.
    ///
    /// # Errors
    /// If it is no number.
    pub fn number(&mut self, key: &'static str, setting: &str, ours: f64) -> Result<(), String> {
        self.known.push(key);
        let Some(value) = self.file.optional(key) else { return Ok(()) };
        if value.number()? != ours {
            let shown = value.shown();
            self.notes.push(format!("{key} = {shown} is not taken over: {setting} is {ours}"));
        }
        Ok(())
    }

    /// A switch that `setting` of the configuration says as `ours`.
    ///
    /// # Errors
    /// If it is none.
    pub fn flag(&mut self, key: &'static str, setting: &str, ours: bool) -> Result<(), String> {
        self.known.push(key);
        let Some(value) = self.file.optional(key) else { return Ok(()) };
        if value.flag()? != ours {
            let shown = value.shown();
            self.notes.push(format!("{key} = {shown} is not taken over: {setting} is {ours}"));
        }
        Ok(())
    }

    /// A key that the configuration has nothing like; `instead` says what there is.
    pub fn other(&mut self, key: &'static str, instead: &str) {
        self.known.push(key);
        if let Some(value) = self.file.optional(key) {
            self.notes.push(format!("{key} = {} is not taken over: {instead}", value.shown()));
        }
    }

    /// A key that says what holds anyway.
    pub fn agrees(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// The keys that somebody has looked at.
    pub fn known(&self) -> &[&'static str] {
        &self.known
    }
}
