//! Event files in the NeXus format (HDF5): written while events arrive, followed while they grow, and whole
//! again after a kill.
//!
//! | you want to | use |
//! |---|---|
//! | write the events of a run | [`NexusOutput`], from [`NexusOptions`] |
//! | write a single file, and decide when it is committed | [`NexusWriter`] |
//! | follow the events of a file while it grows | [`EventFollower`] |
//! | know whether a killed writer left a file, and repair it | [`needs_recovery`], [`recover`] |
//! | hold the name of a file before there is one | [`Reservation`] |
//! | read the events of a file, pulse by pulse | [`EventReader`] |
//! | put a fuller report into a finished file | [`replace_report`] |
//!
//! # The layout (version 3)
//! ```text
//! /                                 NXroot      creator, file_name, file_time, HDF5_Version, default
//! └ entry                           NXentry
//!   ├ definition                    text        "evforge_events", attribute version
//!   ├ title  start_time  end_time   text        ISO 8601, UTC: first pulse, last pulse or event
//!   ├ duration                      f64 s
//!   ├ run_number, entry_identifier  i32, text   the number of the run           } what a run is called: absent where
//!   ├ experiment_identifier         text        proposal or experiment          } nobody has said it
//!   ├ experiment_description        text                                        }
//!   ├ user                          NXuser      name                            }
//!   ├ total_pulses                  u64         pulses up to the last commit, where the readout tells them
//!   ├ raw_frames, good_frames       u64         of framelog up to the last commit; good: without a veto that counts
//!   ├ proton_charge                 f64 uAh     of the good frames
//!   ├ proton_charge_raw             f64 uAh     of all frames
//!   ├ framelog                      NXcollection  only where the readout tells frames; see below
//!   │ ├ period_log                  NXlog {value i32 [pulse], time}   the period from 1; 0 where nobody has said it
//!   │ ├ proton_charge               NXlog {value f64 uAh [pulse], time}   NaN where nobody has said it
//!   │ ├ veto_log                    NXlog {value i64 [pulse], time}   vetoes that were present, a bit for each; attributes bits,
//!   │ │                                       names, counts: of the vetoes that have a name
//!   │ ├ is_good                     NXlog {value i32 [pulse], time}   1 if no veto is present that counts, else 0
//!   │ └ frame_state                 NXlog {value i32 [pulse], time}   0, 1, 2, 3: the place in the attribute states (unknown,
//!   │                                         complete, incomplete, late)
//!   ├ sample                        NXsample    name (may be empty); the origin of the coordinates
//!   ├ instrument                    NXinstrument
//!   │ ├ name                        text
//!   │ ├ source                      NXsource    probe
//!   │ │ ├ depends_on                text        with transformations/location, if the distance is known
//!   │ └ <detector>                  NXdetector  <detector>_0, <detector>_1 … where panels are placed each on its own
//!   │   ├ detector_number           i32 [row, column]  pixel ids from 1; [layer, row, column] with depth; with [panel, …]
//!   │   │                                       in front where several panels share the group
//!   │   ├ panel, layer, row, column i32         0, 1, 2 … along each axis of detector_number (attributes axes, …_indices)
//!   │   ├ x_pixel_offset            f64 m [row, column] or [layer, row, column]   with a placement; from the centre of the panel
//!   │   ├ y_pixel_offset            f64 m [row]     with blades or vessels on an arc along the axes on which it depends,
//!   │   ├ z_pixel_offset            f64 m [layer]   with depth or on an arc; the attributes …_indices name the axes
//!   │   ├ description               text        where pitch and place are from, and whether they are real
//!   │   ├ pixel_shape               NXoff_geometry   a rectangle of pitch x by pitch y; not on an arc
//!   │   ├ depends_on                text        the first step to the sample, if the place of the panel is known
//!   │   ├ transformations           NXtransformations  rotation_x … offset, distance, elevation, angle: in this order,
//!   │   │                                       those that do something ([`evforge_core::placement`])
//!   │   └ <detector>_events         NXevent_data
//!   │     ├ event_id                i32 [event]
//!   │     ├ event_time_offset       i32 ns [event]   since the pulse
//!   │     ├ event_veto              u8 [event]       only with vetoes: a bit for each, named in `bits`
//!   │     ├ event_time_zero         u64 ns [pulse]   since 1970 (attribute offset)
//!   │     ├ event_index             i64 [pulse]      first event of the pulse
//!   │     ├ cue_index               i64 [cue]        first event of the newest pulse, one per commit
//!   │     ├ cue_timestamp_zero      i64 ns [cue]     since 1970 (attribute start)
//!   │     ├ total_counts            u64         events up to the last commit
//!   │     └ events_late             NXcollection  those whose pulse is earlier than the newest one before them: arrays as
//!   │                                           above, pulses in the order in which they came; nearly always empty
//!   ├ ledger                        NXcollection
//!   │ ├ time                        i64 ns [row]     since 1970 (attribute start), about one row per second
//!   │ ├ packets_sent, packets_lost, packets_reordered, packets_duplicated, packets_unconfirmed,
//!   │ │ packet_restarts             NXlog {value f64 [row], time}   NaN as long as a source has no numbers in its packets
//!   │ ├ packets_received, unaccounted   NXlog {value i64 [row], time}
//!   │ └ counters                    NXdata      the counters of the detector and of the stage that assigns pulses
//!   │   ├ counts                    i64 [row, counter]   -1 where there is no such counter
//!   │   ├ counter, description      text [counter]   names; what is counted, and its unit
//!   │   └ time                      that of the ledger
//!   ├ outputs                       NXcollection  only with [`NexusOptions::with_outputs`]
//!   │ └ <id>                        NXdata      the counters of an output of the run, as those of the ledger
//!   ├ live_time                     NXcollection  what corrects counts for lost packets; see below
//!   │ ├ source_name                 text [source]    sources whose packets have numbers
//!   │ ├ source                      i32 [row]        which source: an index into source_name
//!   │ ├ time, duration              i64 ns [row]     on the clock of the arrivals (attribute start)
//!   │ ├ packets_received, packets_lost   i64 [row]
//!   │ └ live_fraction               f64 [row]        received / sent, NaN without packets
//!   ├ configuration/toml            text        the configuration of the run
//!   └ recording                     NXcollection
//!     ├ layout_version              text        "3": the version of this layout
//!     ├ state                       text        "writing", "complete", "incomplete: …", "recovered: …", "damaged: …"
//!     ├ continues                   text        the name of the file that this one continues, if it does
//!     ├ event_groups                text        the paths of the groups of events, a line each
//!     ├ committed                   u64 [2 (group + 1)]  events of each group, and pulses, that are there for certain; then
//!     │                                         the same of events_late, which files of versions up to 0.2 do not have
//!     ├ clock, clock_anchor         text, i64 ns     what was added to the detector's times, from which clock
//!     ├ pulses                      text        "the readout" or "configured train": where pulses come from
//!     └ report                      text        JSON, at the end of the run
//! ```
//! A stream of beam monitors has no detector. Each monitor has its groups in the entry:
//! ```text
//!   ├ <monitor>                     NXmonitor   a histogram; attributes signal, axes, events (a path)
//!   │ ├ data                        i64 [bin]   since the start of the run, up to the last observation of the ledger
//!   │ ├ time_of_flight              f64 ns [bin + 1]   edges of the bins
//!   │ ├ kind                        text        "event_0d", "event_2d" or "integrating": then data sums up ADC values
//!   │ ├ monitor_number              i32         from 1
//!   │ ├ detector_id                 i32         first pixel id; less than 0 for a monitor without pixels
//!   │ ├ columns, rows               i32         only of event_2d: id = detector_id + row * columns + column
//!   │ ├ integral                    i64         sum of data
//!   │ ├ depends_on                  text        with transformations/location along the beam, if the place is known
//!   │ ├ below_range, above_range    i64         what lies outside the bins
//!   │ └ readouts, pulses            i64         how many there were
//!   └ <monitor>_events              NXevent_data   of monitors with single events; arrays as above. The pulses are the
//!                                               same for all monitors: event_time_zero is one array with many names
//! ```
//! Text in datasets is UTF-8 of fixed length, padded with zeros. Datasets that are not in this list are absent, and
//! further ones may be added; what is in it keeps its meaning as long as `definition/@version` is "3". Up to version 2
//! every counter had an NXlog of its own. In version 1 what was not known of packets was -1 (`packets_sent`) or 0, and `live_time` was
//! written at the end. Such files are repaired as before.
//!
//! There is no `proton_charge` where the readout does not tell it: a field of zeros would be believed.
//!
//! # Frames
//! `framelog` has a row for each record of a pulse, in the same order, and one array of times (i64 ns since 1970, attribute start) for all of
//! its logs. Names are those of ISIS's files where these have one (`period_log`, `raw_frames`, `good_frames`, `proton_charge`,
//! `proton_charge_raw`, periods from 1). Rows come to the file before the pulses that they belong to. What becomes known of a pulse
//! while it goes on changes its row, also one that is in the file already; [`recover`] sums up the rows that it keeps.
//!
//! # Live time
//! The rows of a source follow one another without gaps and overlaps, and are never changed. They are added while the run goes on, about
//! ten seconds late; what is found out later about packets that are missing is added to the next row, so that sums are exact. A row
//! with loss is a second long (2, 4, … in long runs, as long as the source keeps its seconds), one without up to 64 seconds.
//!
//! # Pulses
//! Batches say which pulse an event belongs to, how long after it, and when that was
//! ([`evforge_core::pulsed`]); the file repeats it. Every pulse has a record, also those without events; one that goes on
//! in the next batch is one record. `event_time_zero` never goes back, so readers can search in it: where the clock of the
//! detector starts over, or events come in the order of arrival, pulses earlier than the newest one go to `events_late` with
//! their events (`events_late`, `pulses_late`; the causes are `pulse_steps_back` and `pulse_clock_restarts` of the ledger).
//! `total_pulses`, `start_time`, `end_time` and `framelog` are of the pulses in order. The offset of an event can be longer
//! than the time to the next pulse.
//!
//! The law: every event taken is in the file or counted, `events_taken = events + events_outside_epoch +
//! events_outside_pulse + events_outside_monitors + events_lost`, and every pulse told is a record or counted in
//! `pulses_outside_epoch`.
//!
//! # What a kill costs
//! Everything taken is committed at the flush interval: events first, then the records that point at them,
//! then, when the disk has confirmed all that, `committed`. After a kill the file opens for followers only (`swmr=True`), and
//! holds at least all events of the last commit; [`recover`] makes it an ordinary file again, cut back to that
//! commit.
//!
//! # What a loss of power costs
//! The same, with [`DiskSync::Commit`]: `committed` never says more than what the disk has confirmed (`fdatasync`), and is confirmed itself
//! by the next commit at the latest. A thread of its own waits for the disk, and events are taken meanwhile; a disk that needs
//! longer than the flush interval makes the intervals longer. HDF5 has no journal: where the power goes while the disk
//! writes a block of an index that it had before, that block can be torn, which its checksum shows, and [`recover`] then
//! says that the file is damaged. With [`DiskSync::None`] the operating system writes when it likes, and a loss of power can
//! cost half a minute.
//!
//! # Compression
//! Chunks of events are shuffled and deflated by a few threads while further events arrive, and written past HDF5's filters
//! (`H5Dwrite_chunk`), so that every HDF5 library reads them. The result does not depend on the number of threads. What becomes of a
//! chunk that is committed before it is full is in `event_column.rs`. The threads are nicer than others (by 5), so that
//! they yield where cores are busy; a core that is to form events and nothing else is given to it by `[threads]`.
//!
//! # What a full disk costs
//! Nothing, as long as the queue before the output can wait. Before anything is given to HDF5, room is reserved for all that
//! it can need ([`DiskSpace`]): as blocks behind the end of the file, which go back to the file system when it is closed.
//! Where there is no room, what has been taken stays in memory, which is bounded, further batches are refused
//! ([`OutputError::Retry`](evforge_core::output::OutputError)), and the file stays as it is, open and whole up to its last
//! commit. It continues as soon as there is room.
//!
//! If the disk refuses a write all the same, nobody knows what HDF5 has written, so the file is let go without another byte,
//! brought back to its last commit as after a kill, and says so (`damaged: …; it goes on in run.part2.nxs`). The batches
//! since then were kept: the next file, `run.part2.nxs`, begins with them. Together the files have every event once. A pulse
//! that goes on has a record in both; histograms of beam monitors count from the start of the run in both.
//!
//! | kept in memory at most | |
//! |---|---|
//! | batches since the last commit | 32 MiB, 2^21 events, 2^17 pulses (or a single batch with more) |
//! | what of them waits for the file, compressed or not | 8 or 9 bytes for each of these events, 16 for each pulse |
//! | chunks that are compressed | five for each thread, four for each array of events |
//! | rows of the live time | 8192, and one for each source at the end |
//! | observations of the ledger | 4096; later ones are counted in `ledger_rows_left_out` |
//!
//! # Following
//! ```python
//! file = h5py.File("run.nxs", "r", swmr=True)
//! events = file["entry/instrument/detector/detector_events"]
//! events["total_counts"].refresh()
//! total = int(events["total_counts"][()])         # first how much there is, then the arrays
//! for name in ("event_id", "event_time_offset", "event_time_zero", "event_index"):
//!     events[name].refresh()
//! ```
//! Take no more than `total` events: what lies behind belongs to a commit that is under way. The writer holds a
//! shared advisory lock (`flock`), which readers do not notice; it makes [`recover`] and overwriting refuse a
//! file that is being written. A file that somebody removes or replaces while it is written is noticed by the writer
//! with its next commit or row of the ledger, and ends the output.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use evforge_core::event::{Event, EventBatch};
//! use evforge_core::geometry::LogicalGeometry;
//! use evforge_core::output::{Output, Taken};
//! use evforge_core::pulse::PulseTrain;
//! use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
//! use evforge_core::run_state::RunState;
//! use evforge_core::time::ManualClock;
//! use evforge_stream::nexus::{NexusOptions, NexusOutput};
//!
//! let folder = tempfile::tempdir()?;
//! let options = NexusOptions::new(folder.path().join("run.nxs"), "demo", LogicalGeometry::flat(64, 32)?);
//! let mut output = NexusOutput::new(options, Arc::new(ManualClock::default()))?;
//! let mut events = EventBatch::new(10);
//! assert!(events.push(Event { time_ns: 1_000, pixel_id: 17 }));
//! let mut stage = PulseStage::new(PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout));
//! stage.hand_on(&events, None, &mut |batch| {
//!     assert_eq!(output.take(&Arc::new(batch)), Ok(Taken::Yes));
//! });
//! output.finish(&Arc::new(RunState::default()))?;
//! assert_eq!(output.progress().committed, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod column;
mod counter_table;
mod counters;
mod detector_groups;
mod error;
mod event_arrays;
mod event_column;
mod event_group;
mod event_reader;
mod follow;
mod frame_arrays;
mod frame_log;
mod groups;
mod kept;
mod layout;
mod live_table;
mod lock;
mod mending;
mod moment;
mod monitor_group;
mod open_file;
mod options;
mod output;
mod parts;
mod place;
mod records;
mod recovered;
mod recovery;
mod report;
mod reservation;
mod run_files;
mod series;
mod settings;
mod transformations;
mod writer;

pub use crate::storage::space::{DiskSpace, FileSystemSpace, Shortage};
pub use counters::NexusCounters;
pub use error::{NexusError, saying};
pub use event_reader::{EventReader, ReadPulse};
pub use follow::{
    DetectorIds, EventFollower, FileContent, FileLog, FileState, FollowCounters, GroupContent, MonitorIds,
    PixelRule, Placed, place_pixels,
};
pub use groups::{EVENTS_LATE, EVENTS_LATE_NOTE};
pub use layout::{EventGroupName, event_group_names, static_bytes_at_most, write_static_part};
pub use lock::{Lock, identity};
pub use moment::iso_8601;
pub use options::{Compression, DiskSync, ExistingFile, NexusOptions, PulseOrigin};
pub use output::NexusOutput;
pub use recovered::Recovered;
pub use recovery::{needs_recovery, recover, replace_report};
pub use reservation::Reservation;
pub use settings::{CompressionSetting, NexusSettings};
pub use writer::NexusWriter;
