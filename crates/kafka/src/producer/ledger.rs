//! The ledger as da00: what of the events of a source is missing, once a second.
//!
//! Our own convention, described in `docs/kafka.md`. Everything counts from the start of the run, so whoever misses a message has
//! missed nothing.

use super::last_ids::LastIds;
use super::maker::LastOfSource;
use evforge_core::ledger::{Loss, SourceLedger};
use evforge_core::output::OutputProgress;
use evforge_core::run_state::{OutputCounters, RunState};
use evforge_messages::da00::Variable;
use evforge_messages::{Da00, Encoder};

/// Numbers with their names, which become variables.
#[derive(Debug, Default)]
pub(super) struct Row {
    integers: Vec<(&'static str, &'static str, [i64; 1])>,
    numbers: Vec<(&'static str, &'static str, [f64; 1])>,
}

impl Row {
    fn integer(&mut self, name: &'static str, unit: &'static str, value: u64) {
        self.integers.push((name, unit, [i64::try_from(value).unwrap_or(i64::MAX)]));
    }

    fn time(&mut self, name: &'static str, ns: i64) {
        self.integers.push((name, "ns", [ns]));
    }

    fn number(&mut self, name: &'static str, unit: &'static str, value: f64) {
        self.numbers.push((name, unit, [value]));
    }

    fn loss(&mut self, loss: Loss) {
        match loss {
            Loss::Exactly(lost) => self.integer("packets_lost", "packets", lost),
            Loss::AtLeast(lost) => self.integer("packets_lost_at_least", "packets", lost),
            // Nobody can know: there is no such variable.
            Loss::Unknown => {}
        }
    }

    /// As a message.
    pub(super) fn encode<'e>(&self, encoder: &'e mut Encoder, source: &str, timestamp: i64) -> &'e [u8] {
        let unit = |unit: &'static str| Some(unit).filter(|unit| !unit.is_empty());
        let integers = self.integers.iter().map(|(name, of, value)| Variable::single(name, unit(of), value));
        let numbers = self.numbers.iter().map(|(name, of, value)| Variable::single(name, unit(of), value));
        Da00 { source_name: source, timestamp, data: integers.chain(numbers).collect() }.encode(encoder)
    }
}

/// What came of the packets of one module.
pub(super) fn of_module(module: &SourceLedger) -> Row {
    let mut row = Row::default();
    let packets = &module.packets;
    row.integer("packets_received", "packets", packets.received);
    if let Some(sent) = packets.sent {
        row.integer("packets_sent", "packets", sent);
    }
    row.loss(packets.loss());
    row.integer("packets_reordered", "packets", packets.reordered);
    row.integer("packets_duplicated", "packets", packets.duplicated);
    if let Some(fraction) = module.live_time.live_fraction() {
        row.number("live_fraction", "", fraction);
    }
    row
}

/// What is known of everything up to the last message of an event source.
///
/// `ended` is what has become of the events of this output at its end, which no state of the run has any more.
pub(super) fn of_run(
    state: &RunState,
    output: &str,
    last: &LastOfSource<'_>,
    before: &LastIds,
    ended: Option<OutputProgress>,
) -> Row {
    let mut row = Row::default();
    row.integers.push(("message_id", "", [last.id]));
    if let Some(time) = last.reference_time {
        row.time("reference_time", time);
    }
    let packets = state.ledger.packets();
    row.integer("packets_received", "packets", packets.received);
    if let Some(sent) = packets.sent {
        row.integer("packets_sent", "packets", sent);
    }
    let loss = state.loss();
    row.loss(loss);
    if let Some(bound) = packets.loss_upper_bound() {
        row.number("loss_upper_bound", "", bound);
    }
    row.integer("events_formed", "events", state.ledger.events());
    row.integer("unaccounted", "", state.ledger.unaccounted());
    for name in [
        "pulses_handed_on",
        "pulses_without_events",
        "gaps_not_filled",
        "empty_pulses_left_out",
        "pulse_steps_back",
    ] {
        if let Some(value) = state.ledger.counters.value(name) {
            row.integer(name, "pulses", value);
        }
    }
    let own = state.outputs.iter().find(|known| known.name == output).map(|known| known.counters);
    let mut counters = own.unwrap_or_default();
    if let Some(progress) = ended {
        counters.set_progress(progress);
        counters.queued = 0;
    }
    put_output(&mut row, &counters);
    let missing = counters.dropped + counters.missed + counters.failed + state.ledger.unaccounted();
    let is_complete = loss.exactly() == Some(0) && missing == 0 && state.detector_failure.is_none();
    row.integer("complete", "", u64::from(is_complete));
    if let Some(earlier) = before.get(last.name) {
        row.integers.push(("continues_after_message_id", "", [earlier.id]));
        if let Some(time) = earlier.reference_time {
            row.time("continues_after_reference_time", time);
        }
    }
    row
}

fn put_output(row: &mut Row, counters: &OutputCounters) {
    row.integer("events_acknowledged", "events", counters.committed);
    row.integer("events_pending", "events", counters.queued + counters.pending);
    row.integer("events_left_out", "events", counters.left_out);
    row.integer("events_dropped", "events", counters.dropped);
    row.integer("events_failed", "events", counters.failed + counters.missed);
}
