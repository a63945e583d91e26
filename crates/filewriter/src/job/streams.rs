//! The streams of a file: a module and one of its sources, and what became of their messages.

use super::counters::WriterCounters;
use super::partitions::Partitions;
use super::pulse_order::{KeptLane, MOST_BYTES, MOST_SAID, PulseOrder, Waiting};
use super::routes::Routes;
use super::sources::NumberedSource;
use super::window::{SourceWindow, Verdict, Window, now_ns};
use crate::file::{Columns, GapRow, OpenModule, SourceRow};
use crate::modules::{NotWritten, SkipReason, WindowRule, pulse_times};
use evforge_kafka::message_ids::Arrival;
use evforge_messages::{Message, Schema, decode};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Instant;

/// A message that is held: the newest from before the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) partition: usize,
    pub(super) offset: i64,
    bytes: Vec<u8>,
}

/// What became of the messages of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) read: u64,
    pub(super) written: u64,
    before_start: u64,
    superseded: u64,
    after_stop: u64,
    repeated: u64,
    duplicated: u64,
    not_written: u64,
    unordered: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

/// A module and one of its sources.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) module: usize,
    pub(super) source: String,
    pub(super) topic: usize,
    rule: WindowRule,
    pub(super) window: SourceWindow,
    pub(super) counts: Counts,
    pub(super) held: Option<Held>,
    /// Its numbers, by their place in the list of all, if it is one of those that have some.
    pub(super) numbers: Option<usize>,
}

/// What is kept of a stream for a restart. Nothing of one whose source has not said anything: thousands of them are written with each
/// commit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptStream {
    #[serde(default, skip_serializing_if = "is_default")]
    window: SourceWindow,
    #[serde(default, skip_serializing_if = "is_default")]
    counts: Counts,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A message with what its reader has found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken<'a> {
    pub(super) partition: usize,
    pub(super) offset: i64,
    pub(super) time_ns: i64,
    pub(super) number: Option<i64>,
    pub(super) checksum: u32,
    pub(super) bytes: &'a [u8],
}

/// Where rows go.
#[derive(Debug)]
pub(super) struct To<'a> {
    pub(super) modules: &'a mut [OpenModule],
    pub(super) columns: &'a mut Columns,
}

/// What modules did not write, by module and reason: the first of each in words, and how often.
type NotWrittenBy = BTreeMap<(usize, SkipReason), (String, u64)>;

/// All streams of a file.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) all: Vec<Stream>,
    /// Sources with numbers, and the topics of each.
    pub(super) numbered: Vec<NumberedSource>,
    topics: Vec<usize>,
    /// Of each module of events: the messages that wait until they have their turn.
    orders: Vec<Option<PulseOrder>>,
    pub(super) not_written: NotWrittenBy,
}

impl Streams {
    /// The streams of the modules, with their routes.
    pub(super) fn of(modules: &[OpenModule]) -> (Self, Routes) {
        let mut routes = Routes::default();
        let mut streams = Self::default();
        let mut numbers: HashMap<(usize, String), usize> = HashMap::new();
        for (module, open) in modules.iter().enumerate() {
            let schemas = open.module.schemas();
            let has_numbers = schemas.iter().any(|schema| is_numbered(*schema));
            let has_events = schemas.iter().any(|schema| is_of_events(*schema));
            for source in &open.spec.sources {
                routes.add(&open.spec.topic, source, schemas, streams.all.len());
                let topic = routes.topic(&open.spec.topic).unwrap_or_default();
                let of_source = has_numbers.then(|| {
                    *numbers.entry((topic, source.clone())).or_insert_with(|| {
                        streams.numbered.push(NumberedSource::default());
                        streams.topics.push(topic);
                        streams.numbered.len() - 1
                    })
                });
                streams.all.push(Stream {
                    module,
                    source: source.clone(),
                    topic,
                    rule: open.module.rule(),
                    window: SourceWindow::default(),
                    counts: Counts::default(),
                    held: None,
                    numbers: of_source,
                });
            }
            let topic = routes.topic(&open.spec.topic).unwrap_or_default();
            streams.orders.push(has_events.then(|| PulseOrder::new(topic, open.spec.sources.len())));
        }
        (streams, routes)
    }

    /// Takes a message that some streams read.
    pub(super) fn take(
        &mut self,
        message: &Taken<'_>,
        readers: &[usize],
        window: &Window,
        partitions: &Partitions,
        to: &mut To<'_>,
    ) {
        let is_inside =
            message.time_ns >= window.start_ns && window.stop_ns.is_none_or(|stop| message.time_ns <= stop);
        if let (Some(number), true) = (message.number, is_inside)
            && self.judge_number(number, message, readers) == Arrival::Duplicate
        {
            for stream in readers {
                if let Some(stream) = self.all.get_mut(*stream) {
                    stream.counts.read += 1;
                    stream.counts.duplicated += 1;
                }
            }
            return;
        }
        let decoded = decode(message.bytes);
        for place in readers {
            let Some(stream) = self.all.get_mut(*place) else { continue };
            stream.counts.read += 1;
            let Ok(decoded) = &decoded else {
                // Its reader has decoded it.
                stream.counts.not_written += 1;
                continue;
            };
            if !stream.is_to_be_written(message, window) {
                continue;
            }
            let order = self.orders.get_mut(stream.module).and_then(Option::as_mut);
            match order.filter(|order| !order.is_alone(partitions)) {
                Some(order) if is_in_order(decoded) => {
                    order.take(*place, message.partition, waiting(message, decoded, 0), Instant::now());
                }
                _ => {
                    stream.release(to, &mut self.not_written);
                    stream.write(decoded, to, &mut self.not_written);
                }
            }
        }
    }

    /// Writes the pulses that have their turn, and what there is no more room for. With `holds_all` messages from before are still to come.
    pub(super) fn release_due(&mut self, partitions: &Partitions, holds_all: bool, to: &mut To<'_>) {
        let Self { all, orders, not_written, .. } = self;
        let now = (Instant::now(), now_ns());
        let mut write = |stream: usize, bytes: &[u8], pulses: Range<usize>, is_last: bool| {
            if let Some(stream) = all.get_mut(stream) {
                stream.write_pulses(bytes, pulses, is_last, to, not_written);
            }
        };
        for order in orders.iter_mut().flatten() {
            order.release(now, partitions, holds_all, &mut write);
        }
        while size(orders).0 > MOST_BYTES || size(orders).1 > MOST_SAID {
            let largest = orders.iter_mut().flatten().max_by_key(|order| order.size());
            let Some(largest) = largest else { break };
            largest.release_first(&mut write);
        }
    }

    /// Bytes of messages that wait until their pulses have their turn.
    pub(super) fn waiting_bytes(&self) -> usize {
        size(&self.orders).0
    }

    /// Partitions that they wait for, and that have messages that have not been read.
    pub(super) fn awaited<'a>(&'a self, partitions: &'a Partitions) -> impl Iterator<Item = usize> + 'a {
        self.orders.iter().flatten().flat_map(|order| order.awaited(partitions))
    }

    /// What is kept of messages that wait or are held.
    pub(super) fn keep_lanes(&self) -> impl Iterator<Item = KeptLane> + '_ {
        let held = self.all.iter().enumerate().filter_map(|(place, stream)| {
            stream.held.as_ref().map(|held| (place, held.partition, 0, vec![held.offset]))
        });
        self.orders.iter().flatten().flat_map(PulseOrder::keep).chain(held)
    }

    fn judge_number(&mut self, number: i64, message: &Taken<'_>, readers: &[usize]) -> Arrival {
        let first = readers.first().and_then(|place| self.all.get(*place));
        let source = first.and_then(|stream| stream.numbers).and_then(|place| self.numbered.get_mut(place));
        source.map_or(Arrival::New, |source| {
            source.take(message.partition, number, message.checksum, message.time_ns)
        })
    }

    /// The other sources of the topic of one.
    fn others(&self, place: usize) -> impl Iterator<Item = &NumberedSource> + Clone {
        let topic = self.topics.get(place).copied();
        let all = self.numbered.iter().zip(&self.topics).enumerate();
        all.filter(move |(other, (_, of))| *other != place && Some(**of) == topic)
            .map(|(_, (source, _))| source)
    }

    /// Takes back a message that was held when the writer ended, with the pulses of it that are written.
    pub(super) fn hold_again(&mut self, place: usize, message: &Taken<'_>, written: usize) {
        let Some(stream) = self.all.get_mut(place) else { return };
        match (self.orders.get_mut(stream.module), decode(message.bytes)) {
            (Some(Some(order)), Ok(decoded)) => {
                order.take(place, message.partition, waiting(message, &decoded, written), Instant::now());
            }
            _ => stream.hold(message),
        }
    }

    /// Writes what is held of a partition.
    pub(super) fn release_of(&mut self, partition: usize, to: &mut To<'_>) {
        let holds = |stream: &Stream| stream.held.as_ref().is_some_and(|held| held.partition == partition);
        self.release_if(holds, |order| order.holds(partition), to);
    }

    /// Writes what is held: pulses that have not had their turn, and the values at the start of runs in which nothing came.
    pub(super) fn release_all(&mut self, to: &mut To<'_>) {
        self.release_if(|_| true, |_| true, to);
    }

    fn release_if(
        &mut self,
        of_stream: impl Fn(&Stream) -> bool,
        of_order: impl Fn(&PulseOrder) -> bool,
        to: &mut To<'_>,
    ) {
        let Self { all, orders, not_written, .. } = self;
        for stream in all.iter_mut().filter(|stream| of_stream(stream)) {
            stream.release(to, not_written);
        }
        for order in orders.iter_mut().flatten().filter(|order| of_order(order)) {
            order.release_all(&mut |stream, bytes, pulses, is_last| {
                if let Some(stream) = all.get_mut(stream) {
                    stream.write_pulses(bytes, pulses, is_last, to, not_written);
                }
            });
        }
    }

    /// The first time of data that was written.
    pub(super) fn first_ns(&self) -> Option<i64> {
        self.all.iter().filter_map(|stream| stream.counts.first_ns).min()
    }

    /// The last one.
    pub(super) fn last_ns(&self) -> Option<i64> {
        self.all.iter().filter_map(|stream| stream.counts.last_ns).max()
    }

    /// Adds what became of the messages of all streams.
    pub(super) fn count(&self, counters: &mut WriterCounters) {
        for Stream { counts, held, .. } in &self.all {
            counters.messages_written += counts.written;
            counters.messages_held += u64::from(held.is_some());
            counters.messages_before_start += counts.before_start;
            counters.messages_superseded += counts.superseded;
            counters.messages_after_stop += counts.after_stop;
            counters.messages_repeated += counts.repeated;
            counters.messages_duplicated += counts.duplicated;
            counters.messages_not_written += counts.not_written;
            counters.messages_unordered += counts.unordered;
        }
        let waiting: usize = self.orders.iter().flatten().map(PulseOrder::messages).sum();
        counters.messages_held += waiting as u64;
    }

    /// Sources of which no message has come, with their topics.
    pub(super) fn never_came<'a>(&'a self, routes: &'a Routes) -> Vec<(&'a str, &'a str)> {
        let topic =
            |stream: &Stream| routes.topics().get(stream.topic).map(String::as_str).unwrap_or_default();
        let mut all: Vec<_> = self
            .all
            .iter()
            .filter(|stream| stream.counts.read == 0)
            .map(|stream| (topic(stream), stream.source.as_str()))
            .collect();
        all.sort_unstable();
        all.dedup();
        // Modules that f144 brings with it need not have messages.
        let came = self.all.iter().filter(|stream| stream.counts.read > 0);
        let came: HashSet<_> = came.map(|stream| (topic(stream), stream.source.as_str())).collect();
        all.retain(|source| !came.contains(source));
        all
    }

    /// What is kept for a restart.
    pub(super) fn keep(&self) -> Vec<KeptStream> {
        let kept =
            |stream: &Stream| KeptStream { window: stream.window.clone(), counts: stream.counts.clone() };
        self.all.iter().map(kept).collect()
    }

    /// Takes it back.
    pub(super) fn restore(&mut self, kept: Vec<KeptStream>) {
        for (stream, kept) in self.all.iter_mut().zip(kept) {
            (stream.window, stream.counts) = (kept.window, kept.counts);
        }
    }

    /// What the file says of each stream.
    pub(super) fn rows(&self, modules: &[OpenModule], routes: &Routes) -> Vec<SourceRow> {
        let row = |stream: &Stream| {
            let open = modules.get(stream.module);
            let numbers = stream.numbers.and_then(|place| self.numbered.get(place));
            let ids = numbers.map(|numbers| &numbers.ids).filter(|ids| ids.is_numbered());
            let counts = &stream.counts;
            SourceRow {
                source: stream.source.clone(),
                topic: routes.topics().get(stream.topic).cloned().unwrap_or_default(),
                module: open.map(|open| open.spec.kind.name().to_owned()).unwrap_or_default(),
                path: open.map(|open| open.path.clone()).unwrap_or_default(),
                counts: [
                    counts.read,
                    counts.written,
                    counts.before_start,
                    counts.superseded,
                    counts.after_stop,
                    counts.repeated,
                    counts.duplicated,
                    counts.not_written,
                    counts.unordered,
                    ids.map_or(0, |ids| ids.missing),
                    ids.map_or(0, |ids| ids.late),
                    ids.map_or(0, |ids| ids.restarts),
                    // Of all sources of the module: it does not tell them apart.
                    open.map_or(0, |open| open.module.events()),
                    stream
                        .numbers
                        .zip(numbers)
                        .map_or(0, |(place, numbers)| numbers.missed_at_end(self.others(place))),
                    u64::from(stream.held.is_some()),
                ],
                times: [counts.first_ns, counts.last_ns].map(|time| time.unwrap_or(-1)),
                ids: [ids.and_then(|ids| ids.first), ids.and_then(|ids| ids.newest)]
                    .map(|id| id.unwrap_or(-1)),
            }
        };
        self.all.iter().map(row).collect()
    }

    /// What the file says of gaps: of each source once.
    pub(super) fn gap_rows(&self) -> Vec<GapRow> {
        let mut rows = Vec::new();
        for (place, numbers) in self.numbered.iter().enumerate() {
            let Some(stream) = self.all.iter().position(|stream| stream.numbers == Some(place)) else {
                continue;
            };
            let source = i32::try_from(stream).unwrap_or(i32::MAX);
            rows.extend(numbers.gaps().iter().filter(|_| numbers.ids.is_numbered()).map(|gap| GapRow {
                source,
                times: [gap.from_ns, gap.to_ns],
                ids: [gap.after, gap.before],
                messages: i64::try_from(gap.missing).unwrap_or(i64::MAX),
                pulses: -1,
            }));
            rows.extend(numbers.ids.unsettled().map(|gap| GapRow {
                source,
                times: [gap.from_ns, gap.to_ns],
                ids: [gap.after, gap.before],
                messages: -1,
                pulses: -1,
            }));
            rows.extend(numbers.silences(self.others(place)).iter().map(|silence| GapRow {
                source,
                times: [silence.from_ns, silence.to_ns],
                ids: [-1, -1],
                messages: -1,
                pulses: i64::try_from(silence.pulses).unwrap_or(i64::MAX),
            }));
        }
        rows
    }

    /// What modules did not write, a line each.
    pub(super) fn complaints(&self, modules: &[OpenModule]) -> Vec<String> {
        let line = |((module, _), (what, times)): (&(usize, SkipReason), &(String, u64))| {
            let path = modules.get(*module).map(|open| open.path.as_str()).unwrap_or_default();
            let mut line = format!("{path}: {what}");
            if *times > 1 {
                let _ = write!(line, " (the first of {times} messages)");
            }
            line
        };
        self.not_written.iter().map(line).collect()
    }
}

impl Stream {
    /// Judges a message by the time of its data; one that may be the value at the start is held.
    fn is_to_be_written(&mut self, message: &Taken<'_>, window: &Window) -> bool {
        match self.window.judge(message.time_ns, window, self.rule) {
            Verdict::Write { is_unordered } => {
                let time = message.time_ns;
                self.counts.unordered += u64::from(is_unordered);
                self.counts.first_ns.get_or_insert(time);
                self.counts.last_ns = Some(self.counts.last_ns.map_or(time, |last| last.max(time)));
                return true;
            }
            Verdict::Hold => {
                self.counts.superseded += u64::from(self.held.is_some());
                self.hold(message);
            }
            Verdict::BeforeStart => self.counts.before_start += 1,
            Verdict::Superseded => self.counts.superseded += 1,
            Verdict::Repeated => self.counts.repeated += 1,
            Verdict::AfterStop => self.counts.after_stop += 1,
        }
        false
    }

    fn hold(&mut self, message: &Taken<'_>) {
        let &Taken { partition, offset, bytes, .. } = message;
        self.held = Some(Held { partition, offset, bytes: bytes.to_vec() });
    }

    /// Writes what is held, if anything is.
    fn release(&mut self, to: &mut To<'_>, not_written: &mut NotWrittenBy) {
        let Some(held) = self.held.take() else { return };
        self.window.release();
        match decode(&held.bytes) {
            Ok(message) => self.write(&message, to, not_written),
            Err(_) => self.counts.not_written += 1,
        }
    }

    /// Writes a message.
    fn write(&mut self, message: &Message<'_>, to: &mut To<'_>, not_written: &mut NotWrittenBy) {
        let Some(open) = to.modules.get_mut(self.module) else { return };
        let done = open.module.write(message, to.columns);
        self.note(done, true, not_written);
    }

    /// Writes some pulses of a message that has waited.
    fn write_pulses(
        &mut self,
        bytes: &[u8],
        pulses: Range<usize>,
        is_last: bool,
        to: &mut To<'_>,
        not_written: &mut NotWrittenBy,
    ) {
        let (Some(open), Ok(message)) = (to.modules.get_mut(self.module), decode(bytes)) else { return };
        let done = open.module.write_pulses(&message, pulses, to.columns);
        self.note(done, is_last, not_written);
    }

    /// Counts what has become of a message.
    fn note(&mut self, done: Result<(), NotWritten>, is_last: bool, not_written: &mut NotWrittenBy) {
        match done {
            Ok(()) => self.counts.written += u64::from(is_last),
            Err(refused) => {
                self.counts.not_written += 1;
                let entry = not_written
                    .entry((self.module, refused.reason))
                    .or_insert_with(|| (format!("{}: {}", self.source, refused.what), 0));
                entry.1 += 1;
            }
        }
    }
}

/// A message that is to wait, with the pulses of it that are written already.
fn waiting(message: &Taken<'_>, decoded: &Message<'_>, written: usize) -> Waiting {
    let pulses = pulse_times(decoded).unwrap_or_default();
    Waiting {
        offset: message.offset,
        bytes: message.bytes.to_vec(),
        written: written.min(pulses.len()),
        pulses,
    }
}

/// Bytes of messages that wait, and of what a commit says of them.
fn size(orders: &[Option<PulseOrder>]) -> (usize, usize) {
    orders.iter().flatten().map(PulseOrder::size).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// True for events that a module writes, and for what is said of them in a message of its own.
fn is_in_order(message: &Message<'_>) -> bool {
    !is_of_events(message.schema()) || pulse_times(message).is_some()
}

fn is_of_events(schema: Schema) -> bool {
    matches!(schema, Schema::Ev44 | Schema::Ev42)
}

/// True for schemas that number the messages of a source.
fn is_numbered(schema: Schema) -> bool {
    matches!(schema, Schema::Ev44 | Schema::Ev42 | Schema::Pu00)
}
