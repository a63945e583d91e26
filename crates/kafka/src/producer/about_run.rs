//! Messages about the run: its ledger, monitors, state and values, and raw packets.
//!
//! They never hold up events: they are sent when there is room for them, and the next one has everything that one before
//! would have had.

use super::about_settings::MonitorSchemas;
use super::counters::KafkaCounters;
use super::last_ids::LastIds;
use super::ledger;
use super::maker::MessageMaker;
use super::monitors::{self, MonitorsSent};
use super::sender::Sender;
use super::values::Rates;
use super::veto_names::VetoNames;
use crate::packets::PacketMessages;
use crate::sending::record::{About, Record};
use evforge_core::frame::FrameLedger;
use evforge_core::output::OutputProgress;
use evforge_core::run_state::RunState;
use evforge_messages::{Encoder, X5f2};
use serde_json::json;
use std::time::Duration;

/// How often the state of the program is sent.
pub(super) const STATUS_INTERVAL: Duration = Duration::from_secs(2);

/// Raw packets sent at a time, so that events are not held up.
const MOST_SAMPLES: usize = 10_000;

/// Topics of messages about the run; none if they are not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AboutTopics {
    pub(super) ledger: Option<String>,
    pub(super) monitors: Option<String>,
    /// That of the vetoes of frames and their names.
    pub(super) vetoes: Option<String>,
    pub(super) status: Option<String>,
    pub(super) values: Option<String>,
    pub(super) samples: Option<String>,
}

/// What does not change in a run.
#[derive(Clone, Debug)]
pub(super) struct AboutRules {
    pub(super) monitors: MonitorSchemas,
    pub(super) topics: AboutTopics,
    /// What the output calls itself.
    pub(super) output: String,
    pub(super) instrument: String,
    /// What names of sources begin with.
    pub(super) source: String,
    pub(super) run: Option<String>,
    pub(super) host: String,
    /// The last messages before this run.
    pub(super) before: LastIds,
    /// When the run began, in nanoseconds since 1970.
    pub(super) start_ns: i64,
}

/// Sends messages about the run; see the [module](self).
pub(crate) struct AboutRun {
    rules: AboutRules,
    encoder: Encoder,
    monitors: MonitorsSent,
    rates: Rates,
    /// The vetoes that were sent last.
    vetoes: Option<VetoNames>,
    status_sent: Option<Duration>,
    samples: Option<PacketMessages>,
}

/// Where messages about the run go at this moment.
struct To<'a> {
    sender: &'a mut Sender,
    counters: &'a mut KafkaCounters,
    now: Duration,
    unix_ns: u64,
}

impl To<'_> {
    /// Sends a message if there is room.
    fn send(&mut self, topic: &str, source: &str, payload: &[u8]) -> bool {
        let record = Record {
            topic,
            partition: None,
            key: Some(source.as_bytes()),
            timestamp_ms: (self.unix_ns / 1_000_000) as i64,
            payload,
            headers: &[],
            about: About { source, ..About::default() },
        };
        let is_sent = self.sender.offer(&record, self.now, self.counters);
        self.counters.side_messages_left_out += u64::from(!is_sent);
        is_sent
    }
}

impl AboutRun {
    pub(super) fn new(rules: AboutRules, samples: Option<PacketMessages>) -> Self {
        Self {
            rules,
            encoder: Encoder::new(),
            monitors: MonitorsSent::default(),
            rates: Rates::default(),
            vetoes: None,
            status_sent: None,
            samples,
        }
    }

    /// The run begins: what the bits of its frames mean is said before the first of them.
    pub(super) fn begin(
        &mut self,
        frames: Option<&FrameLedger>,
        sender: &mut Sender,
        now: Duration,
        unix_ns: u64,
        counters: &mut KafkaCounters,
    ) {
        self.send_vetoes(frames, false, &mut To { sender, counters, now, unix_ns });
    }

    /// Takes note of the state of the run, about once a second.
    pub(super) fn observe(
        &mut self,
        state: &RunState,
        maker: &MessageMaker,
        sender: &mut Sender,
        now: Duration,
        unix_ns: u64,
        counters: &mut KafkaCounters,
    ) {
        let mut to = To { sender, counters, now, unix_ns };
        self.send_totals(state, maker, None, &mut to);
        self.send_vetoes(state.ledger.frames.as_ref(), false, &mut to);
        if self.status_sent.is_none_or(|sent| now.saturating_sub(sent) >= STATUS_INTERVAL) {
            self.status_sent = Some(now);
            self.send_status(state, "running", &mut to);
        }
    }

    /// The run has ended, and all events are where they belong: this is the last that is said of it, as far as there is room.
    #[expect(clippy::too_many_arguments, reason = "as for `observe`, and the outcome")]
    pub(super) fn end(
        &mut self,
        state: &RunState,
        outcome: OutputProgress,
        maker: &MessageMaker,
        sender: &mut Sender,
        now: Duration,
        unix_ns: u64,
        counters: &mut KafkaCounters,
    ) {
        let mut to = To { sender, counters, now, unix_ns };
        self.send_totals(state, maker, Some(outcome), &mut to);
        self.send_vetoes(state.ledger.frames.as_ref(), true, &mut to);
        self.send_status(state, "ended", &mut to);
    }

    /// Everything that counts from the start of the run.
    fn send_totals(
        &mut self,
        state: &RunState,
        maker: &MessageMaker,
        ended: Option<OutputProgress>,
        to: &mut To<'_>,
    ) {
        self.send_ledger(state, maker, ended, to);
        self.send_monitors(state, to);
        self.send_values(state, maker, to);
    }

    fn send_ledger(
        &mut self,
        state: &RunState,
        maker: &MessageMaker,
        ended: Option<OutputProgress>,
        to: &mut To<'_>,
    ) {
        let AboutRules { topics, source, output, before, .. } = &self.rules;
        let Some(topic) = &topics.ledger else { return };
        let timestamp = to.unix_ns as i64;
        for module in &state.ledger.sources {
            let name = format!("{source}/{}", module.name);
            let payload = ledger::of_module(module).encode(&mut self.encoder, &name, timestamp);
            to.counters.ledger_messages += u64::from(to.send(topic, &name, payload));
        }
        for last in maker.last() {
            let row = ledger::of_run(state, output, &last, before, ended);
            let payload = row.encode(&mut self.encoder, last.name, timestamp);
            to.counters.ledger_messages += u64::from(to.send(topic, last.name, payload));
        }
    }

    fn send_monitors(&mut self, state: &RunState, to: &mut To<'_>) {
        let AboutRules { topics, monitors: schemas, start_ns, .. } = &self.rules;
        let Some(topic) = &topics.monitors else { return };
        let timestamp = to.unix_ns as i64;
        for (index, monitor) in state.ledger.beam_monitors.iter().enumerate() {
            let name = &monitor.plan().name;
            if schemas.has_da00()
                && let Some(difference) = self.monitors.difference(index, monitor)
            {
                let payload = monitors::as_da00(&mut self.encoder, monitor, &difference, timestamp);
                if to.send(topic, name, payload) {
                    // What finds no room is in the next difference.
                    self.monitors.sent(index, difference);
                    to.counters.monitor_messages += 1;
                }
            }
            if schemas.has_hs01() {
                let payload = monitors::as_hs01(&mut self.encoder, monitor, timestamp, *start_ns);
                to.counters.monitor_messages += u64::from(to.send(topic, name, payload));
            }
        }
    }

    /// What the bits of frames mean, if that has changed, or in any case.
    fn send_vetoes(&mut self, frames: Option<&FrameLedger>, in_any_case: bool, to: &mut To<'_>) {
        let (Some(topic), Some(frames)) = (&self.rules.topics.vetoes, frames) else { return };
        let vetoes = VetoNames::of(frames);
        if in_any_case || self.vetoes.as_ref() != Some(&vetoes) {
            let payload = vetoes.encode(&mut self.encoder, to.unix_ns as i64);
            // What finds no room is sent the next time.
            if to.send(topic, &self.rules.source, payload) {
                to.counters.veto_name_messages += 1;
                self.vetoes = Some(vetoes);
            }
        }
    }

    fn send_values(&mut self, state: &RunState, maker: &MessageMaker, to: &mut To<'_>) {
        let AboutRules { topics, source, start_ns, .. } = &self.rules;
        let Some(topic) = &topics.values else { return };
        let mut totals: Vec<(String, f64)> = Vec::new();
        totals.push((format!("{source}/events"), state.ledger.events() as f64));
        if maker.last().count() > 1 {
            totals.extend(maker.last().map(|last| (last.name.to_owned(), last.events as f64)));
        }
        for monitor in &state.ledger.beam_monitors {
            totals.push((format!("{source}/{}", monitor.plan().name), monitor.value(monitor.total())));
        }
        for value in self.rates.with_rates(&totals, to.now) {
            let payload = value.encode(&mut self.encoder, *start_ns, to.unix_ns as i64);
            to.counters.value_messages += u64::from(to.send(topic, &value.name, payload));
        }
    }

    fn send_status(&mut self, state: &RunState, what: &str, to: &mut To<'_>) {
        let AboutRules { topics, source, instrument, run, host, .. } = &self.rules;
        let Some(topic) = &topics.status else { return };
        let json = json!({
            "state": what,
            "instrument": instrument,
            "run": run,
            "feed": state.feed.name(),
            "packets_received": state.ledger.packets().received,
            "packets_lost": state.loss().exactly(),
            "events": state.ledger.events(),
            "alarms": state.alarms().into_iter().map(|alarm| alarm.text).collect::<Vec<_>>(),
        })
        .to_string();
        let payload = X5f2 {
            software_name: Some("evforge"),
            software_version: Some(env!("CARGO_PKG_VERSION")),
            service_id: Some(source),
            host_name: Some(host),
            process_id: std::process::id(),
            update_interval: STATUS_INTERVAL.as_millis() as u32,
            status_json: Some(&json),
        }
        .encode(&mut self.encoder);
        to.counters.status_messages += u64::from(to.send(topic, source, payload));
    }

    /// True as long as there are raw packets to be sent, or may be.
    pub(super) fn has_samples(&self) -> bool {
        self.samples.as_ref().is_some_and(|samples| !samples.has_ended())
    }

    /// Sends raw packets that were sampled, as long as there is room.
    pub(super) fn send_samples(
        &mut self,
        sender: &mut Sender,
        now: Duration,
        unix_ns: u64,
        counters: &mut KafkaCounters,
    ) {
        let (Some(samples), Some(topic)) = (&mut self.samples, &self.rules.topics.samples) else { return };
        samples.hand_on(MOST_SAMPLES, |message| {
            let record = Record {
                topic,
                partition: None,
                key: Some(message.key.as_bytes()),
                timestamp_ms: (unix_ns / 1_000_000) as i64,
                payload: message.payload,
                headers: message.headers,
                about: About { source: message.key, id: message.message_id, ..About::default() },
            };
            let is_sent = sender.offer(&record, now, counters);
            counters.sample_messages += u64::from(is_sent);
            is_sent
        });
    }
}
