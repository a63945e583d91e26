//! A job with its file open: messages in, rows out, commits.

use super::block::{Block, Content, Head};
use super::budget::Share;
use super::counters::WriterCounters;
use super::partitions::{KeptPartition, Key, Partitions, Turn};
use super::plan::JobPlan;
use super::pulse_order::{KeptLane, MOST_BYTES, MOST_SAID};
use super::reader::Readers;
use super::routes::Routes;
use super::sources::NumberedSource;
use super::streams::{KeptStream, Streams, Taken, To};
use crate::file::{FileError, WriterFile};
use evforge_kafka::topic::{Change, What};
use evforge_messages::RefusedReason;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is kept of a job with each commit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    partitions: Vec<KeptPartition>,
    /// Messages that are held, as versions up to 0.2 have written them: partition, number, stream.
    #[serde(default, skip_serializing)]
    held: Vec<(usize, i64, usize)>,
    /// Messages that are held or wait.
    #[serde(default)]
    lanes: Vec<KeptLane>,
    streams: Vec<KeptStream>,
    numbered: Vec<NumberedSource>,
    counts: KeptCounts,
    /// True once what the file has at its end is in it.
    is_closed: bool,
}

/// Counts that belong to no stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct KeptCounts {
    read: u64,
    shared: u64,
    other_sources: u64,
    without_time: u64,
    removed: u64,
    bytes: u64,
    restarts: u64,
    refused: BTreeMap<String, (u64, String)>,
    /// What has happened to topics meanwhile: the first of it, and how much.
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    losses: u64,
}

/// Bytes of what a commit keeps: of the job itself with changes of its topics, of each stream, of each source with numbers, of each partition.
const ROOM: usize = (64 << 10) + MOST_SAID;
const ROOM_OF_STREAM: usize = 512;
const ROOM_OF_NUMBERED: usize = 64 << 10;
pub(super) const ROOM_OF_PARTITION: usize = 400;
/// Changes of topics that are remembered one by one.
const CHANGES: usize = 64;

/// A job with its file.
pub(super) struct Running {
    pub(super) file: WriterFile,
    pub(super) streams: Streams,
    pub(super) partitions: Partitions,
    pub(super) routes: Arc<Routes>,
    counts: KeptCounts,
    pub(super) commits: u64,
    pub(super) disk_waits: u64,
    /// Messages that were held or waited when the writer ended, which are read once more: by partition and number their streams, with the
    /// pulses that are written.
    awaited: HashMap<(usize, i64), Vec<(usize, usize)>>,
    pub(super) newest_ns: Option<i64>,
    /// The newest time of data that was written, at the last commit.
    pub(super) committed_ns: Option<i64>,
    /// True once what the file has at its end was appended.
    pub(super) is_closed: bool,
    /// Kafka time stamps from here on are long after the run, milliseconds since 1970.
    pub(super) past_ms: Option<i64>,
    _share: Share,
}

/// Bytes that a commit of a job may take, besides those of the file and [of each partition](ROOM_OF_PARTITION).
pub(super) fn record_room(streams: usize, numbered: usize) -> usize {
    ROOM + streams * ROOM_OF_STREAM + numbered * ROOM_OF_NUMBERED
}

impl Running {
    /// With a file that has just been made.
    pub(super) fn new(
        file: WriterFile,
        partitions: Partitions,
        streams: Streams,
        routes: Arc<Routes>,
        share: Share,
    ) -> Self {
        Self {
            file,
            streams,
            partitions,
            routes,
            counts: KeptCounts::default(),
            commits: 0,
            disk_waits: 0,
            awaited: HashMap::new(),
            newest_ns: None,
            committed_ns: None,
            is_closed: false,
            past_ms: None,
            _share: share,
        }
    }

    /// Takes back what its last commit kept.
    pub(super) fn restore(&mut self, kept: serde_json::Value) -> Result<(), String> {
        let kept: Kept = serde_json::from_value(kept).map_err(|error| error.to_string())?;
        self.partitions.restore(&kept.partitions, &self.routes);
        self.streams.restore(kept.streams);
        self.streams.numbered = kept.numbered;
        (self.counts, self.is_closed) = (kept.counts, kept.is_closed);
        self.counts.restarts += 1;
        self.committed_ns = self.streams.last_ns();
        for (partition, offset, stream) in kept.held {
            self.awaited.entry((partition, offset)).or_default().push((stream, 0));
        }
        for (stream, partition, mut written, steps) in kept.lanes {
            let mut offset = 0_i64;
            for step in steps {
                offset = offset.saturating_add(step);
                // Of the messages behind it nothing is written.
                let entry = self.awaited.entry((partition, offset)).or_default();
                entry.push((stream, std::mem::take(&mut written)));
            }
        }
        Ok(())
    }

    /// Messages that are read once more.
    pub(super) fn awaited(&self) -> Vec<(usize, i64)> {
        self.awaited.keys().copied().collect()
    }

    /// Bytes of all messages that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.counts.bytes
    }

    /// True if a writer has ended, or was cut back, since the job began.
    pub(super) fn is_restarted(&self) -> bool {
        self.counts.restarts > 0
    }

    fn keep(&self) -> Kept {
        Kept {
            partitions: self.partitions.keep(),
            held: Vec::new(),
            lanes: self.keep_lanes(),
            streams: self.streams.keep(),
            numbered: self.streams.numbered.clone(),
            counts: self.counts.clone(),
            is_closed: self.is_closed,
        }
    }

    /// What is kept of messages that are held or wait, and of those that have not been read once more.
    fn keep_lanes(&self) -> Vec<KeptLane> {
        let mut awaited: BTreeMap<(usize, usize), Vec<(i64, usize)>> = BTreeMap::new();
        for ((partition, offset), streams) in &self.awaited {
            for (stream, written) in streams {
                awaited.entry((*stream, *partition)).or_default().push((*offset, *written));
            }
        }
        let mut lanes = Vec::new();
        // Those that have been read once more come behind them.
        for (stream, partition, written, steps) in self.streams.keep_lanes() {
            let Some(before) = awaited.get_mut(&(stream, partition)) else {
                lanes.push((stream, partition, written, steps));
                continue;
            };
            let mut offset = 0;
            for step in steps {
                offset += step;
                before.push((offset, 0));
            }
        }
        lanes.extend(awaited.into_iter().map(|((stream, partition), mut messages)| {
            messages.sort_unstable();
            let written = messages.first().map_or(0, |(_, written)| *written);
            let mut before = 0;
            let step = |(offset, _)| offset - std::mem::replace(&mut before, offset);
            (stream, partition, written, messages.into_iter().map(step).collect())
        }));
        lanes
    }

    /// Takes a change of a partition. True if it is not known any more where it ends.
    fn change(&mut self, change: &Change) -> bool {
        let routes = Arc::clone(&self.routes);
        let Some((place, removed)) = self.partitions.change(change, &routes) else { return false };
        self.counts.removed += removed;
        self.counts.losses += u64::from(change.what.is_loss());
        if self.counts.changes.len() < CHANGES {
            self.counts.changes.push(change.clone());
        }
        match change.what {
            What::Anew { .. } | What::Cut { .. } => {
                // What was held cannot be read once more.
                self.awaited.retain(|(partition, _), _| *partition != place);
                let WriterFile { modules, columns, .. } = &mut self.file;
                self.streams.release_of(place, &mut To { modules, columns });
            }
            What::Removed { first, .. } => {
                self.awaited.retain(|(partition, offset), _| *partition != place || *offset >= first);
            }
            What::Added { .. } | What::Gone { .. } => {}
        }
        !matches!(change.what, What::Removed { .. })
    }

    /// True if much waits for partitions that other readers have not read.
    pub(super) fn is_ahead(&self, reader: usize, readers: &Readers) -> bool {
        if self.streams.waiting_bytes() < MOST_BYTES / 2 {
            return false;
        }
        let keys = self.streams.awaited(&self.partitions).filter_map(|place| self.partitions.all.get(place));
        let mut awaited = keys.map(|partition| readers.of((partition.topic, partition.number))).peekable();
        awaited.peek().is_some() && awaited.all(|other| other != reader)
    }

    /// What has happened to topics, and how much of it may have cost messages.
    pub(super) fn changes(&self) -> (&[Change], u64) {
        (&self.counts.changes, self.counts.losses)
    }

    /// Takes all messages of a block. True if it is not known any more where partitions end.
    pub(super) fn take(&mut self, block: &Block, plan: &JobPlan) -> bool {
        let mut are_ends_lost = false;
        for change in &block.changes {
            are_ends_lost |= self.change(change);
        }
        for (reason, what) in &block.refusals {
            let entry = self.counts.refused.entry(reason.name().to_owned()).or_default();
            if entry.1.is_empty() {
                entry.1.clone_from(what);
            }
        }
        let mut last: Option<(Key, usize)> = None;
        for head in &block.heads {
            let place = last.filter(|(key, _)| *key == head.partition).map(|(_, place)| place);
            if let Some(place) = place.or_else(|| self.partitions.place(head.partition)) {
                last = Some((head.partition, place));
                self.take_message((head, place), &block.bytes, plan);
            }
        }
        self.release_due();
        are_ends_lost
    }

    /// Writes what has waited and has its turn.
    pub(super) fn release_due(&mut self) {
        let WriterFile { modules, columns, .. } = &mut self.file;
        let holds_all = !self.awaited.is_empty();
        self.streams.release_due(&self.partitions, holds_all, &mut To { modules, columns });
    }

    fn take_message(&mut self, (head, place): (&Head, usize), bytes: &[u8], plan: &JobPlan) {
        let bytes = bytes.get(head.bytes.clone()).unwrap_or_default();
        match self.partitions.take(place, head.offset) {
            Turn::Behind => return,
            Turn::Before => return self.take_again((head, place), bytes),
            Turn::Due => {}
        }
        if let (Some(past), Some(time)) = (self.past_ms, head.kafka_ms)
            && time > past
            && let Some(partition) = self.partitions.all.get_mut(place)
        {
            partition.is_past = true;
        }
        self.counts.read += 1;
        self.counts.bytes += head.length as u64;
        match &head.content {
            Content::Routed { route, time_ns, number, checksum } => {
                let message = Taken {
                    partition: place,
                    offset: head.offset,
                    time_ns: *time_ns,
                    number: *number,
                    checksum: *checksum,
                    bytes,
                };
                let readers = self.routes.streams(*route);
                self.counts.shared += readers.len().saturating_sub(1) as u64;
                self.newest_ns = Some(self.newest_ns.map_or(*time_ns, |newest| newest.max(*time_ns)));
                let WriterFile { modules, columns, .. } = &mut self.file;
                let mut to = To { modules, columns };
                self.streams.take(&message, readers, &plan.window, &self.partitions, &mut to);
            }
            Content::OtherSource => self.counts.other_sources += 1,
            Content::WithoutTime => self.counts.without_time += 1,
            Content::Refused(reason) => {
                self.counts.refused.entry(reason.name().to_owned()).or_default().0 += 1;
            }
        }
    }

    /// A message from before the last commit: one that was held then is held again.
    fn take_again(&mut self, (head, place): (&Head, usize), bytes: &[u8]) {
        let Some(streams) = self.awaited.remove(&(place, head.offset)) else { return };
        let message =
            Taken { partition: place, offset: head.offset, time_ns: 0, number: None, checksum: 0, bytes };
        for (stream, written) in streams {
            self.streams.hold_again(stream, &message, written);
        }
    }

    /// Begins a commit.
    pub(super) fn begin_commit(&mut self) -> Result<(), FileError> {
        let kept = self.keep();
        self.file.begin_commit(&kept, false)?;
        self.committed_ns = self.streams.last_ns();
        self.commits += 1;
        Ok(())
    }

    /// Appends what the file is to have at its end, and gives what the last commit keeps.
    pub(super) fn close(&mut self) -> Kept {
        if self.is_closed {
            return self.keep();
        }
        let WriterFile { modules, columns, completeness, .. } = &mut self.file;
        self.streams.release_all(&mut To { modules, columns });
        for open in modules.iter_mut() {
            open.module.close(columns);
        }
        for row in self.streams.rows(modules, &self.routes) {
            completeness.push_source(&row, columns);
        }
        for row in self.streams.gap_rows() {
            completeness.push_gap(&row, columns);
        }
        for change in &self.counts.changes {
            completeness.push_change(&change.to_string(), columns);
        }
        self.commits += 1;
        // With the commit of these rows it is known that they are there: a kill behind it does not append them once more.
        self.is_closed = true;
        self.keep()
    }

    /// What was counted.
    pub(super) fn counters(&self) -> WriterCounters {
        let mut counters = WriterCounters {
            messages_read: self.counts.read,
            messages_shared: self.counts.shared,
            messages_of_other_sources: self.counts.other_sources,
            messages_without_time: self.counts.without_time,
            messages_refused: self.counts.refused.values().map(|(times, _)| times).sum(),
            messages_removed: self.counts.removed,
            bytes_read: self.counts.bytes,
            restarts: self.counts.restarts,
            commits: self.commits,
            disk_waits: self.disk_waits,
            events_written: self.file.modules.iter().map(|open| open.module.events()).sum(),
            events_late: self.file.modules.iter().map(|open| open.module.events_late()).sum(),
            ..WriterCounters::default()
        };
        self.streams.count(&mut counters);
        // They are held, and will be here as soon as they have been read once more.
        counters.messages_held += self.awaited.values().map(|streams| streams.len() as u64).sum::<u64>();
        counters
    }

    /// Why messages were refused: the counter, how often, and the first in words.
    pub(super) fn refusals(&self) -> Vec<(RefusedReason, u64, String)> {
        let of = |reason: &RefusedReason| {
            let (times, what) = self.counts.refused.get(reason.name())?;
            Some((*reason, *times, what.clone()))
        };
        RefusedReason::ALL.iter().filter_map(of).collect()
    }
}
