//! What runs tell of themselves in their ledgers: `docs/kafka.md` describes them, `producer/ledger.rs` writes them.

use super::outcome::NotNoted;
use evforge_messages::Da00;
use std::collections::BTreeMap;

/// Sources and modules that are kept at most.
const MOST: usize = 256;

/// What a source or a module of a run has told, since the start of the run. What it does not tell is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRow {
    /// True for a module: it has no numbers of messages.
    pub is_module: bool,
    /// Packets that the readout sent.
    pub packets_sent: Option<u64>,
    /// Packets that the run received.
    pub packets_received: Option<u64>,
    /// Packets that are missing.
    pub packets_lost: Option<u64>,
    /// Packets that are missing at least.
    pub packets_lost_at_least: Option<u64>,
    /// Events that the run formed.
    pub events_formed: Option<u64>,
    /// Events that the brokers have.
    pub events_acknowledged: Option<u64>,
    /// Events that are not in the topic: dropped, failed or missed.
    pub events_lost: Option<u64>,
    /// What the run cannot account for.
    pub unaccounted: Option<u64>,
    /// Whether nothing is missing so far, as the run says.
    pub complete: Option<bool>,
}

/// The newest row of a source or a module, with its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunNote {
    /// What it told.
    pub row: RunRow,
    /// Nanoseconds since 1970; 0 where it has no time.
    pub time_ns: i64,
    /// How many messages there were.
    pub messages: u64,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    rows: BTreeMap<String, RunNote>,
}

impl Runs {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &RunNote)> {
        self.rows.iter().map(|(name, note)| (name.as_str(), note))
    }

    pub(super) fn take(&mut self, data: &Da00<'_>, time_ns: i64) -> Result<(), NotNoted> {
        let row = RunRow::of(data).ok_or(NotNoted::NoNumber)?;
        if !self.rows.contains_key(data.source_name) {
            if self.rows.len() >= MOST {
                return Err(NotNoted::TooManyNames);
            }
            self.rows.insert(data.source_name.to_owned(), RunNote::default());
        }
        let note = self.rows.get_mut(data.source_name).ok_or(NotNoted::TooManyNames)?;
        note.messages += 1;
        if time_ns >= note.time_ns {
            (note.row, note.time_ns) = (row, time_ns);
        }
        Ok(())
    }
}

impl RunRow {
    /// None if it is no row of a ledger: it tells nothing of packets.
    fn of(data: &Da00<'_>) -> Option<Self> {
        let get = |name: &str| {
            let numbers = data.variable(name)?.numbers().filter(|numbers| numbers.len() == 1)?;
            let value = numbers.to_f64().first().copied()?;
            // Counts of a run are below 2^53, and exact.
            (value.is_finite() && value >= 0.0).then_some(value as u64)
        };
        let events_lost = [get("events_dropped"), get("events_failed")];
        let row = Self {
            is_module: data.variable("message_id").is_none(),
            packets_sent: get("packets_sent"),
            packets_received: get("packets_received"),
            packets_lost: get("packets_lost"),
            packets_lost_at_least: get("packets_lost_at_least"),
            events_formed: get("events_formed"),
            events_acknowledged: get("events_acknowledged"),
            events_lost: events_lost.into_iter().flatten().reduce(u64::saturating_add),
            unaccounted: get("unaccounted"),
            complete: get("complete").map(|complete| complete > 0),
        };
        row.packets_received.is_some().then_some(row)
    }
}
