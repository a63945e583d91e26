//! The files of a run, one after the other: another one continues where the disk has refused a write.

use std::path::{Path, PathBuf};

use super::error::{NexusError, is_lack_of_space};
use super::layout::STATE_ROOM;
use super::open_file::Committed;
use super::options::ExistingFile;
use super::recovered::Wish;
use super::recovery::recover_to;
use super::reservation::Reservation;
use crate::storage::space::{DiskSpace, try_out};

/// Files at most: a disk that damages as many is not written to any more.
pub(super) const MOST_PARTS: usize = 100;

/// Bytes that must be there before a run goes on after damage.
const ROOM_TO_GO_ON: u64 = 4 << 20;

/// A file that a failed write has damaged, and that is to be brought back to its last commit.
#[derive(Debug)]
pub(super) struct DamagedFile {
    path: PathBuf,
    /// What the last commit said.
    committed: Committed,
    /// Its state afterwards.
    note: String,
    /// The name of the file that goes on, held from now on.
    next: Reservation,
}

impl DamagedFile {
    /// Takes note of the damage and finds a name for the file that goes on.
    ///
    /// # Errors
    /// If no name is free.
    pub(super) fn new(
        path: &Path,
        first: &Path,
        committed: Committed,
        cause: &str,
        existing: ExistingFile,
    ) -> Result<Self, NexusError> {
        let next = next_name(first, existing)?;
        let note = note(cause, next.path());
        Ok(Self { path: path.to_owned(), committed, note, next })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that goes on.
    pub(super) fn next_path(&self) -> &Path {
        self.next.path()
    }

    /// Events that are safe in it.
    pub(super) fn events(&self) -> u64 {
        self.committed.events
    }

    /// Brings it back to its last commit. How many events it has then.
    ///
    /// # Errors
    /// If there is no room for that now, or it is not possible.
    pub(super) fn bring_back(&self, space: &dyn DiskSpace) -> Result<u64, NexusError> {
        let wish = Wish { keep: Some(&self.committed.counts), note: Some(&self.note) };
        // The disk has been promised to have room before.
        let tried = try_out(&self.path, ROOM_TO_GO_ON)
            .map_err(|cause| NexusError::io("make room for", &self.path, cause));
        match tried.and_then(|()| recover_to(&self.path, &wish, space)) {
            Ok(recovered) => Ok(recovered.events),
            Err(error) if is_lack_of_space(&error) => Err(match error {
                NexusError::NoSpace { .. } => error,
                // The same in words that explain what to do.
                error => NexusError::WaitsForRoom { path: self.path.clone(), cause: error.to_string() },
            }),
            Err(error) => Err(error),
        }
    }

    /// The name of the file that goes on.
    pub(super) fn into_next(self) -> Reservation {
        self.next
    }
}

/// What the state of a damaged file says, cut to the room for it. The name of the next file is never cut.
fn note(cause: &str, next: &Path) -> String {
    let name = next.file_name().unwrap_or_default().to_string_lossy();
    let end = format!("; it goes on in {name}");
    let begin = "damaged: ";
    let mut room = STATE_ROOM.saturating_sub(begin.len() + end.len()).min(cause.len());
    while !cause.is_char_boundary(room) {
        room -= 1;
    }
    let mut note = format!("{begin}{}{end}", &cause[..room]);
    // A name of 255 bytes.
    while note.len() > STATE_ROOM {
        note.pop();
    }
    note
}

/// A free name for the next file: `run.part2.nxs`, or a higher number.
fn next_name(first: &Path, existing: ExistingFile) -> Result<Reservation, NexusError> {
    for number in 2..=MOST_PARTS {
        match Reservation::take(&part(first, number), existing) {
            Err(NexusError::Exists { .. } | NexusError::InUse(_)) => {}
            taken => return taken,
        }
    }
    Err(NexusError::Option(format!(
        "{} cannot go on: all of its parts up to {} exist",
        first.display(),
        part(first, MOST_PARTS).display()
    )))
}

/// `run.nxs` with the number of a part: `run.part2.nxs`.
fn part(first: &Path, number: usize) -> PathBuf {
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    let name = match first.extension() {
        Some(extension) => format!("{stem}.part{number}.{}", extension.to_string_lossy()),
        None => format!("{stem}.part{number}"),
    };
    first.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evforge_core::event::{Event, EventBatch};
    use evforge_core::geometry::LogicalGeometry;
    use evforge_core::pulse::PulseTrain;
    use evforge_core::pulsed::{Calendar, CalendarRule, PulseStage, PulseStageSettings};
    use evforge_core::time::ManualClock;

    use super::super::options::NexusOptions;
    use super::super::writer::NexusWriter;
    use super::*;
    use crate::storage::space::FileSystemSpace;

    #[test]
    fn names_and_notes_fit() {
        assert_eq!(part(Path::new("a/run.nxs"), 2), Path::new("a/run.part2.nxs"));
        assert_eq!(part(Path::new("run"), 3), Path::new("run.part3"));
        let long = "ö".repeat(300);
        let cut = note(&long, Path::new("a/run.part2.nxs"));
        assert!(cut.len() <= STATE_ROOM && cut.len() > STATE_ROOM - 2, "{cut}");
        assert!(cut.starts_with("damaged: ö") && cut.ends_with("it goes on in run.part2.nxs"), "{cut}");
        assert_eq!(note("no room", Path::new("b.part2")), "damaged: no room; it goes on in b.part2");
        assert!(note(&long, Path::new(&"n".repeat(255))).len() <= STATE_ROOM);
    }

    #[test]
    fn names_of_parts_that_exist_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("run.nxs");
        std::fs::write(part(&first, 2), "another run's").unwrap();
        let next = next_name(&first, ExistingFile::Refuse).unwrap();
        assert_eq!(next.path(), part(&first, 3));
        let over = next_name(&first, ExistingFile::Overwrite).unwrap();
        assert_eq!(over.path(), part(&first, 2));
    }

    /// A commit can fail when the file already says that it has succeeded.
    #[test]
    fn a_file_is_brought_back_to_what_the_writer_knows_and_not_to_what_it_says_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
        let geometry = LogicalGeometry::flat(8, 6).unwrap();
        let options = NexusOptions::new(&path, "demo", geometry);
        let clock = Arc::new(ManualClock::default());
        let mut writer = NexusWriter::create(&options, Calendar::default(), clock).unwrap();
        let rule = CalendarRule::Readout;
        let mut stage = PulseStage::new(PulseStageSettings::new(PulseTrain::ess(), rule));
        let mut take = |events: std::ops::Range<u64>| {
            let mut batch = EventBatch::new(100);
            events.for_each(|time_ns| assert!(batch.push(Event { time_ns, pixel_id: 1 })));
            stage.hand_on(&batch, None, &mut |batch| writer.take_events(&batch).unwrap());
            writer.commit().unwrap();
            writer.committed().0.clone()
        };
        let known = take(0..30);
        assert_eq!((known.events, &known.counts[..]), (30, &[30, 1, 0, 0][..]));
        assert_eq!(take(30..100).events, 100);
        std::fs::copy(&path, &copy).unwrap();
        let damaged = DamagedFile::new(&copy, &copy, known, "a test", ExistingFile::Refuse).unwrap();
        assert_eq!(damaged.bring_back(&FileSystemSpace).unwrap(), 30);
        let file = hdf5_metno::File::open(&copy).unwrap();
        let events = file.group("/entry/instrument/detector/detector_events").unwrap();
        assert_eq!(events.dataset("event_id").unwrap().size(), 30);
        assert_eq!(events.dataset("total_counts").unwrap().read_scalar::<u64>().unwrap(), 30);
    }
}
