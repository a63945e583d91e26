//! The file that a run goes on from after whatever has ended it.

use super::figures::{ProvokedJump, Segment};
use super::settings::{MOST, SoakSettings};
use evforge_core::whole_file;
use evforge_net::staged_file::StagedFile;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the file in the folder of a result.
pub const CHECKPOINT: &str = "soak-checkpoint.json";
const FORMAT: &str = "evforge soak checkpoint";
const SCHEMA: u32 = 1;
/// Bytes that a file can have at most.
const MOST_BYTES: u64 = 128 << 20;

/// What a run has found so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    format: String,
    schema: u32,
    /// What the run is to do.
    pub settings: SoakSettings,
    /// The jump that was provoked before the first segment; none before that.
    pub jump_at_start: Option<ProvokedJump>,
    /// The segments that have ended in order.
    pub segments: Vec<Segment>,
    /// The jump that was provoked behind the last segment; none before that.
    pub jump_at_end: Option<ProvokedJump>,
    /// A segment is under way: if nobody writes this file any more, it was interrupted.
    pub is_under_way: bool,
    /// Segments that were interrupted; what was sent and received in them is not known, and not counted.
    pub interrupted: u64,
}

/// Why a checkpoint cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct CheckpointError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and what helps.
    pub problem: String,
}

impl Checkpoint {
    /// Of a run that has not begun.
    pub fn new(settings: SoakSettings) -> Self {
        Self {
            format: FORMAT.to_owned(),
            schema: SCHEMA,
            settings,
            jump_at_start: None,
            segments: Vec::new(),
            jump_at_end: None,
            is_under_way: false,
            interrupted: 0,
        }
    }

    /// Seconds that finished segments were to take.
    pub fn done_seconds(&self) -> f64 {
        self.segments.iter().map(|segment| segment.asked_seconds).fold(0.0, |sum, seconds| sum + seconds)
    }

    /// Seconds of the next segment; none if all has been sent.
    pub fn next_seconds(&self) -> Option<f64> {
        let left = self.settings.seconds - self.done_seconds();
        // What is left behind the last whole millisecond is rounding.
        (left > 1e-3).then(|| left.min(self.settings.segment_seconds))
    }

    /// The identifier that the next segment begins with: identifiers go on from segment to segment.
    pub fn next_identifier(&self) -> u64 {
        let sent = self.segments.iter().filter_map(|segment| segment.streams.first());
        sent.map(|stream| stream.sent).fold(0, u64::saturating_add)
    }

    /// Notes that the segment which was under way has been interrupted.
    pub fn note_interruption(&mut self) {
        if std::mem::take(&mut self.is_under_way) {
            self.interrupted = self.interrupted.saturating_add(1);
        }
    }

    /// Writes it: the file has its name when it is whole and on the disk; the one before is there until then.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), CheckpointError> {
        let text = serde_json::to_vec(self).map_err(|error| CheckpointError::new(path, error))?;
        let write = || {
            let mut file = StagedFile::create(path)?;
            file.write_all(&text)?;
            file.finish()
        };
        write().map_err(|error: std::io::Error| CheckpointError::new(path, error))
    }

    /// Reads it. The file may come from anywhere: its size is bounded, and all that is in it is checked.
    ///
    /// # Errors
    /// If there is none, or it is damaged.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        const EXPECTED: &str = "expected the folder of an `evforge measure soak` that was interrupted";
        let wrong = |problem: String| CheckpointError::new(path, problem);
        let bytes =
            whole_file::bytes(path, MOST_BYTES).map_err(|error| wrong(format!("{error}; {EXPECTED}")))?;
        Self::of_json(&bytes).map_err(|problem| wrong(format!("{problem}; {EXPECTED}")))
    }

    /// What is in a file.
    ///
    /// # Errors
    /// If it is no checkpoint, or cannot be one that was written by a run.
    pub fn of_json(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > MOST_BYTES {
            return Err(format!("it has more than {MOST_BYTES} bytes"));
        }
        let read: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("it is no checkpoint: {error}"))?;
        if (read.format.as_str(), read.schema) != (FORMAT, SCHEMA) {
            return Err(format!("it is of another format than `{FORMAT}`, schema {SCHEMA}"));
        }
        read.settings.check()?;
        if read.segments.len() as u64 * u64::from(read.settings.streams) > MOST {
            return Err(format!("it has {} segments", read.segments.len()));
        }
        for (number, segment) in read.segments.iter().enumerate() {
            segment.check(&read.settings).map_err(|problem| format!("segment {number}: {problem}"))?;
        }
        for jump in read.jump_at_start.iter().chain(&read.jump_at_end) {
            if jump.streams.len() != usize::from(read.settings.streams) {
                return Err(format!("a jump has {} streams", jump.streams.len()));
            }
        }
        Ok(read)
    }
}

impl CheckpointError {
    fn new(path: &Path, problem: impl ToString) -> Self {
        Self { path: path.to_owned(), problem: problem.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::{JumpSeen, SegmentStream, SoakTotal, WordArea};
    use proptest::prelude::*;

    fn settings() -> SoakSettings {
        SoakSettings {
            streams: 1,
            rate: "10Mbit/s".to_owned(),
            burst_seconds: 0.0,
            packet_bytes: 2000,
            seconds: 10.0,
            segment_seconds: 4.0,
            buffer: 1_000_000,
            faults: Vec::new(),
            is_loopback: true,
            mtu: 9000,
        }
    }

    /// A whole segment of so many turns.
    fn segment(turns: u64) -> Segment {
        let words = 65_536 * turns;
        let stream = SegmentStream {
            sent: 66 * turns,
            received: 66 * turns,
            bytes: 2 * words,
            words,
            bits_per_second: 1e7,
            area_count: 1,
            areas: vec![WordArea { first: 0, last: u16::MAX, count: turns }],
            ..SegmentStream::default()
        };
        Segment { asked_seconds: 4.0, seconds: 4.0, streams: vec![stream] }
    }

    fn checkpoint(turns: &[u64]) -> Checkpoint {
        let jump = JumpSeen { sent: 9, received: 9, left_out: 7, forward: 1, others: 0, reported: 7 };
        let segments = turns.iter().map(|turns| segment(*turns)).collect();
        let jump_at_start = Some(ProvokedJump { streams: vec![jump] });
        Checkpoint { segments, jump_at_start, ..Checkpoint::new(settings()) }
    }

    #[test]
    fn a_run_goes_on_where_its_last_whole_segment_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CHECKPOINT);
        let mut written = checkpoint(&[8, 16]);
        written.is_under_way = true;
        written.write(&path).unwrap();
        let mut read = Checkpoint::read(&path).unwrap();
        assert_eq!(read, written);
        assert_eq!((read.next_seconds(), read.next_identifier()), (Some(2.0), 66 * 24));
        read.note_interruption();
        read.note_interruption();
        assert_eq!(read.interrupted, 1);
        let said = Checkpoint::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(said.contains("No such file") && said.contains("measure soak"), "{said}");
    }

    #[test]
    fn what_no_run_has_written_is_refused() {
        for (problem, damage) in [
            ("expected 1", (|c| c.segments[0].streams.clear()) as fn(&mut Checkpoint)),
            ("larger than", |c| c.segments[0].streams[0].sent = u64::MAX),
            ("the areas have", |c| c.segments[0].streams[0].areas[0].count += 1),
            ("begins at word 5", |c| c.segments[0].streams[0].areas[0].first = 5),
            ("a jump has 0", |c| c.jump_at_start.as_mut().unwrap().streams.clear()),
            ("another format", |c| c.schema = 2),
            ("make segments longer", |c| c.settings.seconds = 3e7),
            ("the rate", |c| c.settings.rate = "fast".to_owned()),
            ("a burst of", |c| c.settings.burst_seconds = 1.0),
        ] {
            let mut damaged = checkpoint(&[8]);
            damage(&mut damaged);
            let said = Checkpoint::of_json(&serde_json::to_vec(&damaged).unwrap()).unwrap_err();
            assert!(said.contains(problem), "{problem}: {said}");
        }
    }

    proptest! {
        /// A damaged file is read or refused in words, and what is read can be summed up.
        #[test]
        fn damage_is_refused_or_harmless(
            turns in prop::collection::vec(0_u64..1 << 28, 0..5),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            end in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
        ) {
            let mut bytes = serde_json::to_vec(&checkpoint(&turns)).unwrap();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if is_cut {
                bytes.truncate(end.index(bytes.len()));
            }
            match Checkpoint::of_json(&bytes) {
                Ok(read) => {
                    let total = SoakTotal::of(&read);
                    prop_assert_eq!(total.streams.len(), usize::from(read.settings.streams));
                }
                Err(problem) => prop_assert!(!problem.is_empty()),
            }
        }

        #[test]
        fn arbitrary_bytes_are_no_checkpoint(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Checkpoint::of_json(&bytes).is_err());
        }
    }

    #[test]
    fn segments_add_up_and_whatever_is_missing_is_seen() {
        let total = SoakTotal::of(&checkpoint(&[8, 16]));
        let stream = &total.streams[0];
        assert_eq!((stream.sent, stream.words, total.lost), (66 * 24, 65_536 * 24, 0));
        assert!(stream.is_good() && stream.verification.smallest == 24);
        // A word is missing from one segment, and reported by nobody.
        let mut damaged = checkpoint(&[8, 16]);
        let segment = &mut damaged.segments[1].streams[0];
        segment.areas = vec![
            WordArea { first: 0, last: 9, count: 16 },
            WordArea { first: 10, last: 10, count: 15 },
            WordArea { first: 11, last: u16::MAX, count: 16 },
        ];
        (segment.area_count, segment.words) = (3, segment.words - 1);
        let total = SoakTotal::of(&damaged);
        let failed: Vec<_> = total.streams[0].failed().collect();
        assert_eq!(failed.iter().map(|check| check.name).collect::<Vec<_>>(), ["areas", "sum"]);
    }
}
