//! The JSON objects that answers are made of.

use crate::answers::{Health, ImageCounts, PictureSum, RegionCounts, SpectrumCounts};
use crate::beam::{BeamState, MonitorSpectrum, MonitorSpectrumState, PulseState, ToldByRun, ValueState};
use crate::client_counts::ClientCounts;
use crate::control::answers::{
    ChangeOutcome, ChangeState, ChangesAnswer, ConfigurationAnswer, ConfiguredState, CounterState,
    DoneAnswer, EarliestTime, FactsAnswer, LogGroupState, OutputSummary, ParameterState, RunAnswer, RunEnd,
    RunState, RunsAnswer, SwitchAnswer, VersionAnswer,
};
use crate::control::refused::{ErrorAnswer, ErrorState};
use crate::control::wanted::{ChangeWanted, ChangesWanted, LevelWanted, RunWanted, SwitchWanted};
use crate::frames_state::{FramesState, PeriodState, VetoState};
use crate::history::{
    HistoryAnswer, KeptState, RatePoint, SeriesList, SeriesPoint, SeriesPoints, SeriesState,
};
use crate::json_object::{Field, JsonObject};
use crate::look_frame::{HeadRegion, LookHead};
use crate::looks::wanted::{LookWanted, RegionWanted, WindowWanted};
use crate::protocol::{
    AdviceState, BalanceState, BeamMonitorState, DiscardState, FeedState, GeometryState, Hello, LedgerState,
    Limits, LocatedLoss, LookState, LooksRefused, Now, OutputView, PacketState, PictureState, ShownContent,
    SignState, SourceState, SpectrumState, State, Status, StreamState,
};
use crate::spectrum::TimeBins;
use crate::views::ViewState;

/// An object, with its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) fields: &'static [Field],
}

const fn of<T: JsonObject>() -> Object {
    Object { name: T::NAME, help: T::HELP, fields: T::FIELDS }
}

const fn field(name: &'static str, of: &'static str, help: &'static str) -> Field {
    Field { name, of, serde: "", help }
}

const fn absent(name: &'static str, of: &'static str, help: &'static str) -> Field {
    Field { name, of, serde: "skip_serializing_if", help }
}

/// All of them, in the order in which answers name them.
pub(super) const OBJECTS: &[Object] = &[
    of::<Health>(),
    of::<State>(),
    of::<Now>(),
    of::<FeedState>(),
    of::<SignState>(),
    of::<AdviceState>(),
    of::<StreamState>(),
    of::<LedgerState>(),
    of::<PacketState>(),
    of::<SourceState>(),
    of::<DiscardState>(),
    of::<LocatedLoss>(),
    of::<BalanceState>(),
    of::<BeamMonitorState>(),
    of::<FramesState>(),
    of::<PeriodState>(),
    of::<VetoState>(),
    of::<OutputView>(),
    of::<ClientCounts>(),
    of::<BeamState>(),
    of::<ValueState>(),
    of::<PulseState>(),
    of::<MonitorSpectrumState>(),
    of::<MonitorSpectrum>(),
    of::<ToldByRun>(),
    of::<PictureSum>(),
    of::<PictureState>(),
    of::<ViewState>(),
    AXIS,
    of::<ImageCounts>(),
    of::<SpectrumCounts>(),
    of::<RegionCounts>(),
    of::<SeriesList>(),
    of::<KeptState>(),
    of::<SeriesState>(),
    of::<HistoryAnswer>(),
    of::<SeriesPoints>(),
    of::<SeriesPoint>(),
    MONITOR_ANSWER,
    MONITOR_DATA,
    MONITOR_CHANNEL,
    NOTICED_CHANNEL,
    MONITOR_PLANE,
    MONITOR_TRACK,
    MONITOR_HIT,
    of::<VersionAnswer>(),
    of::<FactsAnswer>(),
    of::<ConfigurationAnswer>(),
    of::<ConfiguredState>(),
    of::<RunState>(),
    of::<OutputSummary>(),
    of::<CounterState>(),
    of::<ParameterState>(),
    of::<EarliestTime>(),
    of::<ChangesWanted>(),
    of::<ChangeWanted>(),
    of::<ChangesAnswer>(),
    of::<ChangeState>(),
    of::<SwitchWanted>(),
    of::<SwitchAnswer>(),
    of::<DoneAnswer>(),
    of::<RunsAnswer>(),
    of::<RunAnswer>(),
    of::<RunEnd>(),
    of::<RunWanted>(),
    of::<LogGroupState>(),
    of::<LevelWanted>(),
    of::<ErrorAnswer>(),
    of::<ErrorState>(),
    of::<ChangeOutcome>(),
    of::<LookWanted>(),
    of::<WindowWanted>(),
    of::<TimeBins>(),
    of::<RegionWanted>(),
    of::<LookHead>(),
    of::<HeadRegion>(),
    of::<Hello>(),
    of::<Limits>(),
    of::<GeometryState>(),
    of::<SpectrumState>(),
    of::<ShownContent>(),
    of::<Status<'_>>(),
    of::<LookState>(),
    of::<LooksRefused>(),
    of::<RatePoint>(),
];

/// `evforge_picture::Axis`.
const AXIS: Object = Object {
    name: "Axis",
    help: " An axis of a picture.",
    fields: &[
        field("label", "String", " What people read: \"x (column)\", \"y (mm)\"."),
        field("unit", "String", " What its numbers are: \"column\", \"row\", \"layer\", \"mm\" or \"bin\"."),
        field("pixels", "u32", " Pixels along it, those of all panels."),
        field("first", "f64", " The value in the middle of pixel 0."),
        field("step", "f64", " From the middle of a pixel to that of the next."),
        absent("pitch_m", "f64", " The same in metres, if it is known."),
    ],
};

/// What `monitor.rs` writes.
const MONITOR_ANSWER: Object = Object {
    name: "MonitorAnswer",
    help: " Whether monitor data are collected, and the newest copy of them. Asking also asks for a newer one, which is there with the next packets.",
    fields: &[
        field("on", "bool", " True while they are collected."),
        absent(
            "data",
            "Option<MonitorData>",
            " What has been collected; null before the first copy, absent while it is off.",
        ),
    ],
};

/// What a run makes of its monitor data (`evforge_pipeline::monitor_tap`).
const MONITOR_DATA: Object = Object {
    name: "MonitorData",
    help: " What a run has collected of its detector. Not promised: it follows what detectors can show. The same is in the file of `--monitor`.",
    fields: &[
        field("channel_count", "usize", " Channels of the detector."),
        field("spectrum_bins", "usize", " Bins of every spectrum of amplitudes."),
        field("amplitude_bits", "u32", " Bits of an amplitude: the last bin ends at 2 to the power of it."),
        field("cluster_amplitude_bits", "u32", " The same for sums over a cluster."),
        field("channels", "Vec<MonitorChannel>", " The channels that have readouts."),
        field(
            "noticed",
            "Vec<NoticedChannel>",
            " Channels that stand out among their neighbours, by the rule of `evforge masks`.",
        ),
        absent("mask", "String", " A mask of them as a configuration has it; absent in the file."),
        field("planes", "Vec<MonitorPlane>", " The planes."),
        field(
            "correlation",
            "Vec<u64>",
            " Matched clusters by their amplitudes on both planes, as a square: the first plane to the right, the second one upwards.",
        ),
        field("tracks", "Vec<MonitorTrack>", " Sampled tracks, the latest last."),
    ],
};

const MONITOR_CHANNEL: Object = Object {
    name: "MonitorChannel",
    help: " A channel.",
    fields: &[
        field("index", "usize", " Its place among all channels."),
        field("name", "String", " As people call it."),
        field("readouts", "u64", " Its readouts."),
        field("spectrum", "Vec<u64>", " Their amplitudes."),
        absent(
            "threshold",
            "u16",
            " The least amplitude of a readout that counts, as it was when collecting began; absent where there is none.",
        ),
        absent("below", "u64", " Readouts with a smaller one; absent without a threshold."),
        absent("plane", "usize", " Its plane: its place in `planes`; absent if it is on none."),
    ],
};

const NOTICED_CHANNEL: Object = Object {
    name: "NoticedChannel",
    help: " A channel that stands out.",
    fields: &[
        field("index", "usize", " Its place among all channels."),
        field("name", "String", " As people call it."),
        field("fault", "String", " \"hot\" or \"dead\"."),
        field("readouts", "u64", " Its readouts."),
        field("expected", "u64", " What its neighbours let expect."),
    ],
};

const MONITOR_PLANE: Object = Object {
    name: "MonitorPlane",
    help: " A plane of strips, wires or grids.",
    fields: &[
        field("name", "String", " As people call it."),
        field("multiplicity", "Vec<u64>", " Clusters with a partner, by the number of their hits."),
        field("lone_multiplicity", "Vec<u64>", " Clusters without a partner, by the number of their hits."),
        field("lone_spectrum", "Vec<u64>", " Amplitudes of clusters without a partner."),
    ],
};

const MONITOR_TRACK: Object = Object {
    name: "MonitorTrack",
    help: " The hits of an event.",
    fields: &[
        field("time_ns", "u64", " Time of the event."),
        field("pixel_id", "u32", " Its pixel."),
        field("hits", "Vec<MonitorHit>", " Its hits."),
    ],
};

const MONITOR_HIT: Object = Object {
    name: "MonitorHit",
    help: " A hit of a track.",
    fields: &[
        field("plane", "u64", " Its plane: its place in `planes`."),
        field("strip", "u64", " Its strip."),
        field("amplitude", "u64", " Its amplitude."),
        field("time_ns", "u32", " Nanoseconds since the first hit of the track."),
    ],
};
