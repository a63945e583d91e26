//! What travels between the server and the page, and what scripts can ask for.
//!
//! # WebSocket, `/api/live`
//! 1. The server sends a [`Hello`] (JSON text): who it is, the geometry, the bins, the rate so far.
//! 2. The page says what it wants to see: `{"type":"looks","number":1,"looks":[…]}`, at most 8 looks (`LookWanted`), whenever that changes; updates
//!    say by this number which looks they are of. Until
//!    then it has one look, the first picture of everything. What cannot be is answered with a [`LooksRefused`] (JSON text), and
//!    the looks before stay.
//! 3. Then updates, one per picture interval, and one more when somebody wants to see something else. An update is a [`Status`]
//!    (JSON text); the frames of the looks that have changed follow as binary messages
//!    (see [`look_frame`](crate::look_frame)).
//! 4. The page acknowledges an update once it has drawn it: the text `ack 17` for number 17, which covers
//!    all before it.
//!
//! Looks that select the same events are counted once, and equal ones encoded once, whoever has them. A browser gets at most
//! 4.5 MB of frames a second: larger pictures come less often.
//!
//! Flow control: at most [`ViewOptions::window`](crate::ViewOptions::window) updates are unacknowledged at
//! a time. While the window is full, updates are **skipped**, not queued; `skipped` says how many. A page
//! that acknowledges nothing for [`ViewOptions::client_timeout`](crate::ViewOptions::client_timeout) is
//! dropped. A page whose new [`Hello`] has another `instance` than before talks to a server that has been
//! restarted, and must forget what it has.
//!
//! # HTTP
//! The paths, parameters and answers are declared in [`http_api`](crate::http_api), and described in `docs/http-api.md`, which is made of
//! the declarations: comments of fields here are read there.

use crate::beam::BeamState;
use crate::frames_state::FramesState;
use crate::json_object::json_object;
use crate::looks::limits::{MOST_CORNERS, MOST_LOOKS, MOST_POINTS, MOST_REGIONS};
use crate::spectrum::MOST_BINS;
use crate::views::ViewState;
use evforge_picture::{Axis, PanelLayout, PicturePlan};
use serde::Serialize;
use std::collections::BTreeMap;

pub use crate::history::RatePoint;

/// Version of what `docs/http-api.md` promises of paths, parameters and answers.
pub const API_VERSION: u32 = 1;
/// Version of what is said over the WebSocket.
pub const PROTOCOL_VERSION: u32 = 3;

json_object! {
    /// The first message to a browser.
    #[derive(Clone, Debug, Serialize)]
    pub struct Hello {
        /// Always "hello".
        pub r#type: &'static str,
        /// Version of what is said over the WebSocket: 3.
        pub protocol: u32,
        /// Changes with every start of a server.
        pub instance: String,
        /// Version of evforge.
        pub version: &'static str,
        /// The instrument or run.
        pub title: String,
        /// Start of the server: milliseconds since the Unix epoch.
        pub started_ms: u64,
        /// Pixels per panel and panels.
        pub geometry: GeometryState,
        /// The pictures: frames refer to them by their number in this list.
        pub pictures: Vec<PictureState>,
        /// What the page offers to look at: the views of the configuration, or those shipped for the detector.
        pub(crate) views: Vec<ViewState>,
        /// Bins of the time-of-flight spectrum.
        pub spectrum: SpectrumState,
        /// What pictures and spectrum show instead, if that is not counts of events; absent if it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub content: Option<ShownContent>,
        /// True if regions, slices of time of flight and windows can be asked for: where pictures are counted of events.
        pub selections: bool,
        /// What can be asked for at most.
        pub limits: Limits,
        /// Names of the vetoes of the run.
        pub vetoes: Vec<String>,
        /// Way of the neutrons from the moderator to the middle of the detector in metres; absent if it is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub flight_path_m: Option<f64>,
        /// Angle between the beam and the way to the middle of the detector in degrees; absent if it is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub two_theta_deg: Option<f64>,
        /// Milliseconds between pictures.
        pub interval_ms: u64,
        /// Updates that may be unacknowledged.
        pub window: usize,
        /// True if there are monitor data to switch on.
        pub monitor: bool,
        /// The rate of the last ten minutes.
        pub points: Vec<RatePoint>,
    }
}

json_object! {
    /// What a browser can ask for at most.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct Limits {
        /// Looks at a time.
        pub looks: usize,
        /// Regions of a look.
        pub regions: usize,
        /// Corners of a polygon.
        pub corners: usize,
        /// Bins of a spectrum.
        pub bins: u64,
        /// Columns and rows of an image.
        pub points: u32,
    }
}

impl Limits {
    pub(crate) const OF_LOOKS: Self = Self {
        looks: MOST_LOOKS,
        regions: MOST_REGIONS,
        corners: MOST_CORNERS,
        bins: MOST_BINS,
        points: MOST_POINTS,
    };
}

json_object! {
    /// The logical geometry.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct GeometryState {
        /// Columns per panel.
        pub nx: u32,
        /// Rows per panel.
        pub ny: u32,
        /// Layers per panel.
        pub nz: u32,
        /// Panels.
        pub panels: u32,
    }
}

json_object! {
    /// A picture.
    #[derive(Clone, Debug, Serialize)]
    pub struct PictureState {
        /// What programs call it: "xy", "xz", "yz", "blades", "blade", the name of a beam monitor, or "x-tof" and the like.
        pub name: String,
        /// What people read.
        pub title: String,
        /// "xy", "xz" or "yz": which axes of the pixels point to the right and upwards.
        pub plane: &'static str,
        /// True for pictures of a beam monitor.
        pub is_monitor: bool,
        /// Pixels along the axis that it does not show, whose counts are added up: 1 where there is nothing to add.
        pub depth: u32,
        /// What a step along that axis is called: "layer", "row", "column", "wire" or "blade".
        pub beyond: &'static str,
        /// True for a map: time of flight to the right (as many pixels as the look has bins), an axis of the detector upwards.
        pub is_map: bool,
        /// How many panels it has.
        pub panels: u32,
        /// Columns and rows of a panel.
        pub panel: [u32; 2],
        /// Panels in a row of the picture, panel 0 at the lower left; absent where they are as they stand.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub panel_columns: Option<u32>,
        /// Column and row of the lower left pixel of each panel, where panels are as they stand; else absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub corners: Option<Vec<[u32; 2]>>,
        /// The axis to the right: label, unit, number of pixels, the value in the middle of pixel 0, and the step to the next.
        pub across: Axis,
        /// The axis upwards.
        pub up: Axis,
    }
}

impl PictureState {
    pub(crate) fn of(plan: &PicturePlan) -> Self {
        let (panel_columns, corners) = match &plan.layout {
            PanelLayout::Rows { columns } => (Some(*columns), None),
            PanelLayout::Standing { corners, .. } => (None, Some(corners.to_vec())),
        };
        Self {
            name: plan.name.clone(),
            title: plan.title.clone(),
            plane: plan.plane.name(),
            is_monitor: plan.is_monitor,
            depth: plan.depth,
            is_map: plan.is_map,
            beyond: plan.beyond,
            panels: plan.panels,
            panel: plan.panel,
            panel_columns,
            corners,
            across: plan.across.clone(),
            up: plan.up.clone(),
        }
    }
}

json_object! {
    /// The bins of the time-of-flight spectrum.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct SpectrumState {
        /// Width of a bin in nanoseconds.
        pub bin_ns: u64,
        /// Number of bins.
        pub bins: usize,
        /// Pulse period in nanoseconds.
        pub period_ns: u64,
    }
}

json_object! {
    /// What pictures and spectrum show where that is not counts of events: each picture takes the place of the one before, and is
    /// not added to it.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct ShownContent {
        /// What the `events` of the state are here: "trains".
        pub things: String,
        /// What the number of a pixel is: "mean of the newest train".
        pub pixel: String,
        /// What a panel of the picture is: "module".
        pub panel: String,
        /// Number of the first panel.
        pub first_panel: u32,
        /// Heading of what takes the place of the spectrum: "Pulses of the newest trains".
        pub chart: String,
        /// What its bins are, one each, from 0: "pulse".
        pub across: String,
        /// What its values are: "sum of the pixels".
        pub up: String,
    }
}

json_object! {
    /// An update for one browser.
    #[derive(Clone, Debug, Serialize)]
    pub struct Status<'a> {
        /// Always "status".
        pub r#type: &'static str,
        /// Number of the update; numbers that are missing were skipped.
        pub number: u64,
        /// Which looks of this browser have changed, by their places: their frames follow, in this order.
        pub frames: Vec<usize>,
        /// The number that this browser gave the looks that this update is of; 0 before it said any. What it wanted later comes later.
        pub wanted: u64,
        /// The looks of this browser.
        pub looks: Vec<LookState>,
        /// Updates that this browser has missed because it was slow.
        pub skipped: u64,
        /// Points of the rate that are new to this browser.
        pub points: Vec<RatePoint>,
        /// What is the same for all browsers.
        #[serde(flatten)]
        pub now: &'a Now,
    }
}

json_object! {
    /// A look of a browser.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub struct LookState {
        /// Number of its newest frame that was sent; 0 before the first.
        pub number: u32,
    }
}

json_object! {
    /// What a browser wanted is refused; what it had before stays.
    #[derive(Clone, Debug, Serialize)]
    pub struct LooksRefused {
        /// Always "refused".
        pub r#type: &'static str,
        /// What is wrong, and where.
        pub message: String,
    }
}

json_object! {
    /// The state of things at one moment.
    #[derive(Clone, Debug, Serialize)]
    pub struct Now {
        /// Milliseconds since the Unix epoch, by the server's clock.
        pub time_ms: u64,
        /// "waiting" (nothing has come yet), "running", "ended" or "failed". Until release 0.3; `feed` says more.
        pub input: &'static str,
        /// What comes in.
        pub feed: FeedState,
        /// Events counted in the picture and outside it.
        pub events: u64,
        /// Events whose pixel is neither of the geometry nor of a beam monitor: in no picture.
        pub outside_geometry: u64,
        /// Events before the first pulse, or before the pulse that the readout gave them: in the image, not in the
        /// spectrum.
        pub before_first_pulse: u64,
        /// Events so long after the pulse that the readout gave them that they lie beyond the spectrum, which is one
        /// period long: in the image, not in the spectrum.
        pub beyond_spectrum: u64,
        /// Milliseconds since the newest event came; absent before the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub last_event_ms: Option<u64>,
        /// The ledger; absent before the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ledger: Option<LedgerState>,
        /// Where the events go, and how far that is.
        pub outputs: Vec<OutputView>,
        /// What needs attention, in words; then what the pattern of losses suggests.
        pub alarms: Vec<String>,
        /// When the oldest event came that a new selection can still count, in milliseconds since the Unix epoch; absent before the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory_ms: Option<u64>,
        /// What must be seen from across the room: alarms first, then warnings.
        pub signs: Vec<SignState>,
        /// What `evforge doctor` finds at the host, while no packets come: what matters most comes first.
        pub advice: Vec<AdviceState>,
        /// True if there is something in `known` of the state, which the page asks `/api/beam.json` for then.
        pub beam: bool,
        /// Browsers watching now.
        pub clients: u64,
    }
}

json_object! {
    /// What needs a person, in a few words.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct SignState {
        /// The kind of the alarm: "no_data", "loss", "disk_full" and so on (docs/operating.md has all of them).
        pub sign: &'static str,
        /// "alarm" (data at risk), "warning" (check the host) or "note".
        pub level: &'static str,
        /// In a few words: "12 packets of FEC 1 lost".
        pub text: String,
        /// In a sentence, with what to do.
        pub sentence: String,
    }
}

json_object! {
    /// A finding of `evforge doctor`.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct AdviceState {
        /// What it is about: "receive buffer".
        pub subject: String,
        /// What was found.
        pub found: String,
        /// What would be right.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub wanted: Option<String>,
        /// The command or the setting that repairs it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub fix: Option<String>,
    }
}

json_object! {
    /// What comes in at this moment, in the words of page, status line and report.
    #[derive(Clone, Debug, Default, Serialize)]
    pub struct FeedState {
        /// "waiting" (no packet has come yet), "live", "stalled" (none for a while), "rejecting" (packets come, none is used) or
        /// "ended".
        pub state: &'static str,
        /// True if it has ended because it failed.
        pub failed: bool,
        /// The state in a few words: "No data for 23 s".
        pub text: String,
        /// More about it: why packets are rejected, and what they look like.
        pub reason: Option<String>,
        /// Milliseconds since the newest packet; null before the first.
        pub packet_ms: Option<u64>,
        /// Milliseconds since the newest events; null before the first.
        pub event_ms: Option<u64>,
        /// After how many milliseconds without a packet the feed is stalled.
        pub stalled_after_ms: u64,
    }
}

json_object! {
    /// The state of the run at this moment, its ledger and its browsers.
    #[derive(Clone, Debug, Serialize)]
    pub struct State {
        /// The `api` of `/api/health`.
        pub api: u32,
        /// Version of evforge.
        pub version: &'static str,
        /// Changes with every start of a server.
        pub instance: String,
        /// The instrument or run.
        pub title: String,
        /// Start of the server: milliseconds since the Unix epoch.
        pub started_ms: u64,
        /// All streams together.
        #[serde(flatten)]
        pub now: Now,
        /// What is known besides the events: values of logs, pulses and their charge, spectra of beam monitors, what runs tell of themselves.
        pub known: BeamState,
        /// Each stream.
        pub streams: Vec<StreamState>,
        /// The browsers: watching, dropped, turned away, updates sent and skipped.
        pub browsers: crate::ClientCounts,
    }
}

json_object! {
    /// One stream.
    #[derive(Clone, Debug, Serialize)]
    pub struct StreamState {
        /// Its name; empty if there is only one.
        pub name: String,
        /// As `input` of all streams together. Until release 0.3.
        pub input: &'static str,
        /// What comes in of it.
        pub feed: FeedState,
        /// Events counted.
        pub events: u64,
        /// All counters of detector and pulse assignment, by name.
        pub counters: BTreeMap<&'static str, u64>,
        /// Its ledger; absent before the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ledger: Option<LedgerState>,
    }
}

json_object! {
    /// An output of a run.
    #[derive(Clone, Debug, Serialize)]
    pub struct OutputView {
        /// Its name in the configuration.
        pub id: String,
        /// What it is, for people.
        pub name: String,
        /// What happened to the events that it was offered: the counters of any output.
        pub events: BTreeMap<&'static str, u64>,
        /// What it counts itself.
        pub counters: BTreeMap<&'static str, u64>,
        /// Why it waits at this moment; absent if it does not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub waiting: Option<String>,
        /// Why it has failed; absent if it has not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub failure: Option<String>,
        /// True if it only needs to be up to date, so that what it drops is no fault.
        pub may_drop: bool,
    }
}

json_object! {
    /// A ledger, as in the report at the end of a run.
    #[derive(Clone, Debug, Default, Serialize)]
    pub struct LedgerState {
        /// Milliseconds since it was taken note of (the oldest one, for several streams).
        pub age_ms: u64,
        /// Packets of all sources.
        pub packets: PacketState,
        /// Packets handed to the pipelines, those of no known source included.
        pub handed_over: u64,
        /// Each source.
        pub sources: Vec<SourceState>,
        /// Sources whose packets have no numbers: what they have lost is not in `packets.lost`.
        pub unnumbered_sources: usize,
        /// Where packets were lost, as far as it is known.
        pub locations: Vec<LocatedLoss>,
        /// Lost packets whose location is not known.
        pub unlocated: u64,
        /// Readouts in the packets used; null if a detector does not count them.
        pub readouts: Option<u64>,
        /// Hits made of readouts; null if a detector does not count them.
        pub hits: Option<u64>,
        /// Events formed.
        pub events: u64,
        /// Hits held back at this moment.
        pub held: u64,
        /// What was thrown away, by reason; reasons that did not occur are left out.
        pub discarded: Vec<DiscardState>,
        /// Further balances, of trains and images; absent without any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub balances: Vec<BalanceState>,
        /// What the laws leave over: 0 unless something vanished.
        pub unaccounted: u64,
        /// Beam monitors; absent without any.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub beam_monitors: Vec<BeamMonitorState>,
        /// Frames; absent where the readout tells none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub frames: Option<FramesState>,
    }
}

json_object! {
    /// What happened to all things of a kind: entered = left + discarded + held.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub struct BalanceState {
        /// "trains" or "images".
        pub of: &'static str,
        /// Those that came.
        pub entered: u64,
        /// Those that were handed on.
        pub left: u64,
        /// Those that were thrown away; `discarded` has the reasons.
        pub discarded: u64,
        /// Those that wait at this moment.
        pub held: u64,
    }
}

json_object! {
    /// The sums of a beam monitor.
    #[derive(Clone, Debug, Serialize)]
    pub struct BeamMonitorState {
        /// Its name; with its stream in front if there are several.
        pub name: String,
        /// "event_0d", "event_2d" or "integrating".
        pub kind: &'static str,
        /// Events, or the sum of the values of an integrating monitor, since the start.
        pub total: f64,
        /// The part of it that lies outside the histogram.
        pub outside: f64,
        /// Pulses since the start.
        pub pulses: u64,
    }
}

json_object! {
    /// Packets of one source or all.
    #[derive(Clone, Debug, Default, Serialize)]
    pub struct PacketState {
        /// Packets sent; null where the format has no sequence.
        pub sent: Option<u64>,
        /// Packets received.
        pub received: u64,
        /// Packets missing; null where nobody can know all of them.
        pub lost: Option<u64>,
        /// Packets missing at least; absent where `lost` says it, and where nothing is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub lost_at_least: Option<u64>,
        /// Packets that came after a later one.
        pub reordered: u64,
        /// Packets that came again.
        pub duplicated: u64,
        /// Packets whose number is far from all others, and which no next number has followed.
        pub unconfirmed: u64,
        /// How often the numbering started over.
        pub restarts: u64,
        /// Upper bound (95 %) of the true share lost; absent where the format has no sequence.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub loss_upper_bound: Option<f64>,
    }
}

json_object! {
    /// One source of packets.
    #[derive(Clone, Debug, Serialize)]
    pub struct SourceState {
        /// As people call it; with its stream in front if there are several.
        pub name: String,
        /// Its packets.
        pub packets: PacketState,
        /// The first few gaps in its numbers that are still open: first number missing, and how many.
        pub gaps: Vec<(u64, u64)>,
        /// How many more gaps there are.
        pub gaps_not_listed: u64,
    }
}

json_object! {
    /// A reason for which something was thrown away.
    #[derive(Clone, Debug, Serialize)]
    pub struct DiscardState {
        /// The counter's name.
        pub name: &'static str,
        /// "packets", "readouts", "hits", "events", "trains" or "images".
        pub of: &'static str,
        /// How many.
        pub count: u64,
        /// One sentence for people.
        pub help: &'static str,
    }
}

json_object! {
    /// Packets whose location of loss is known.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct LocatedLoss {
        /// The location: "input", "socket buffer", "NIC ring", …
        pub location: String,
        /// Packets lost there.
        pub packets: u64,
        /// True if the place was concluded from other counters and not counted there.
        pub inferred: bool,
    }
}
