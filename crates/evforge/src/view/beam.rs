//! What topics and files have besides events, as the page takes it.

use evforge_kafka::events::{Note, NoteKind, PulseNote, RunNote, SourceNotes, SpectrumNote};
use evforge_stream::nexus::FileLog;
use evforge_view::{
    BeamState, BeamTold, MonitorSpectrum, MonitorSpectrumState, PulseState, Seen, ToldByRun, ValueState,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The spectra as the page has them, by name, each with the counts that it was made of: they are copied when they change.
#[derive(Debug, Default)]
pub(super) struct Spectra {
    made: BTreeMap<String, (Arc<Vec<f64>>, Arc<MonitorSpectrum>)>,
}

impl Spectra {
    fn of(&mut self, name: &str, note: &SpectrumNote) -> Arc<MonitorSpectrum> {
        match self.made.get(name) {
            Some((counts, made)) if Arc::ptr_eq(counts, &note.counts) => Arc::clone(made),
            _ => {
                let made = Arc::new(spectrum(name, note));
                self.made.insert(name.to_owned(), (Arc::clone(&note.counts), Arc::clone(&made)));
                made
            }
        }
    }
}

/// Everything that is noted now, and what values have been since this was last asked. `left_out` is how many messages found no place.
pub(super) fn told(notes: &mut SourceNotes, made: &mut Spectra, left_out: u64) -> BeamTold {
    let names: Vec<String> = notes.values().map(|(name, _)| name.to_owned()).collect();
    let seen = |name: &String| {
        let spread = notes.take_spread(name)?;
        Some(Seen { min: spread.min, max: spread.max, sum: spread.sum, number: spread.number })
    };
    let seen = names.iter().map(seen).collect();
    let notes = &*notes;
    let state = BeamState {
        values: notes.values().map(|(name, note)| value(name, note, notes.stamps(name))).collect(),
        pulses: notes.pulses().map(|(name, note)| pulses(name, note)).collect(),
        spectra: Vec::new(),
        runs: runs(notes),
        left_out,
    };
    let spectra = notes.spectra().map(|(name, note)| made.of(name, note)).collect();
    BeamTold { state, seen, spectra }
}

/// The logs of a file, and how many are left out.
pub(super) fn of_file((logs, left_out): (Vec<FileLog>, usize)) -> BeamTold {
    let seen = |log: &FileLog| log.seen.map(|(min, max, sum, number)| Seen { min, max, sum, number });
    let value = |log: &FileLog| ValueState {
        name: log.name.clone(),
        kind: "value",
        value: Some(log.value),
        unit: log.unit.clone(),
        time_ms: log.time_ns.and_then(milliseconds),
        messages: log.values as u64,
        ..ValueState::default()
    };
    BeamTold {
        seen: logs.iter().map(seen).collect(),
        state: BeamState {
            values: logs.iter().map(value).collect(),
            left_out: left_out as u64,
            ..BeamState::default()
        },
        spectra: Vec::new(),
    }
}

/// What runs tell of themselves.
pub(super) fn runs(notes: &SourceNotes) -> Vec<ToldByRun> {
    notes.runs().map(|(name, note)| run(name, note)).collect()
}

/// What is missing as runs themselves say, in sentences.
pub(super) fn alarms(runs: &[ToldByRun]) -> Vec<String> {
    let mut said = Vec::new();
    for run in runs.iter().filter(|run| !run.is_module) {
        let mut missing = |number: Option<u64>, what: &str| {
            if let Some(number) = number.filter(|&number| number > 0) {
                said.push(format!("the run {} says: {number} {what}", run.source));
            }
        };
        missing(run.packets_lost.or(run.packets_lost_at_least), "packets of the readout are lost");
        missing(run.events_lost, "events are not in the topic");
        missing(run.unaccounted, "are not accounted for");
    }
    said
}

/// Milliseconds since 1970; none where no time was sent.
fn milliseconds(time_ns: i64) -> Option<u64> {
    u64::try_from(time_ns / 1_000_000).ok().filter(|_| time_ns > 0)
}

fn value(name: &str, note: &Note, stamps: &[u64]) -> ValueState {
    ValueState {
        name: name.to_owned(),
        kind: match note.kind {
            NoteKind::Newest => "value",
            NoteKind::Sum => "sum",
            NoteKind::Rate => "rate",
        },
        value: note.value,
        unit: note.unit.clone(),
        time_ms: milliseconds(note.time_ns),
        messages: note.messages,
        stamps_ms: stamps.iter().map(|&stamp| stamp as f64 / 1e6).collect(),
        // The page knows what it calls it.
        series: String::new(),
    }
}

fn pulses(source: &str, note: &PulseNote) -> PulseState {
    let uah = |charge: Option<u128>| charge.map(|charge| charge as f64 / 1e12);
    PulseState {
        source: source.to_owned(),
        pulses: note.pulses,
        pulses_good: note.pulses_good,
        charge_uah: uah(note.charge),
        charge_good_uah: uah(note.charge_good),
        period: note.period,
        vetoes: note.vetoes,
        time_ms: milliseconds(note.time_ns),
    }
}

fn spectrum(name: &str, note: &SpectrumNote) -> MonitorSpectrum {
    MonitorSpectrum {
        state: MonitorSpectrumState {
            name: name.to_owned(),
            from: note.schema,
            kind: if note.is_sum { "sum" } else { "newest" },
            bins: note.counts.len(),
            axis: note.axis.clone(),
            axis_unit: note.axis_unit.clone(),
            unit: note.unit.clone(),
            total: note.counts.iter().sum(),
            block: note.block,
            messages: note.messages,
            time_ms: milliseconds(note.time_ns),
            problem: note.problem.clone(),
        },
        edges: note.edges.to_vec(),
        counts: note.counts.to_vec(),
    }
}

fn run(source: &str, note: &RunNote) -> ToldByRun {
    let row = &note.row;
    ToldByRun {
        source: source.to_owned(),
        is_module: row.is_module,
        time_ms: milliseconds(note.time_ns),
        packets_sent: row.packets_sent,
        packets_received: row.packets_received,
        packets_lost: row.packets_lost,
        packets_lost_at_least: row.packets_lost_at_least,
        events_formed: row.events_formed,
        events_acknowledged: row.events_acknowledged,
        events_lost: row.events_lost,
        unaccounted: row.unaccounted,
        complete: row.complete,
    }
}
