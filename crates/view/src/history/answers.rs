//! JSON of the history.

use crate::json_object::json_object;
use serde::Serialize;
use std::collections::BTreeMap;

json_object! {
    /// All series of the run that is shown.
    #[derive(Debug, Serialize)]
    pub(crate) struct SeriesList {
        /// The end of the newest second that is kept: milliseconds since the Unix epoch, by the server's clock; null before the first.
        pub(crate) now_ms: Option<u64>,
        /// The beginning of the first second that was kept; null before the first.
        pub(crate) since_ms: Option<u64>,
        /// What is kept, the finest steps first.
        pub(crate) kept: Vec<KeptState>,
        /// The series, in the order in which they came.
        pub(crate) series: Vec<SeriesState>,
        /// Series that are not kept because there are too many.
        pub(crate) left_out: usize,
    }
}

json_object! {
    /// How long something is kept.
    #[derive(Debug, Serialize)]
    pub(crate) struct KeptState {
        /// Seconds of a point.
        pub(crate) step_s: u64,
        /// For this many seconds.
        pub(crate) for_s: u64,
    }
}

json_object! {
    /// What a series is.
    #[derive(Debug, Serialize)]
    pub(crate) struct SeriesState {
        /// What it is asked for by: name and labels as in `/metrics`, those of the detector left out, that of the stream only if there are several.
        pub(crate) id: String,
        /// Its name in `/metrics`. Those that begin with `evforge_view_` are only here.
        pub(crate) name: String,
        /// Its labels.
        pub(crate) labels: BTreeMap<&'static str, String>,
        /// What people read.
        pub(crate) title: String,
        /// The unit of its values: "packets/s", "bytes", "s/s" (a core that is busy all the time has 1); empty for numbers.
        pub(crate) unit: String,
        /// "rate" (how fast a counter grows) or "gauge" (what there is).
        pub(crate) kind: &'static str,
        /// What it belongs to: "run", "source", "output", "thread"; "value" for those of logs.
        pub(crate) group: String,
        /// One sentence for people.
        pub(crate) help: String,
    }
}

json_object! {
    /// Series over a time.
    #[derive(Debug, Serialize)]
    pub(crate) struct HistoryAnswer {
        /// Milliseconds of a point: the finest step that fits. Points begin at multiples of it, and the first and the last may reach beyond what was asked for.
        pub(crate) step_ms: u64,
        /// The beginning of the time that was asked for, in milliseconds since the Unix epoch.
        pub(crate) from_ms: u64,
        /// Its end.
        pub(crate) to_ms: u64,
        /// The series, in the order of the question.
        pub(crate) series: Vec<SeriesPoints>,
    }
}

json_object! {
    /// A series over a time.
    #[derive(Debug, Serialize)]
    pub(crate) struct SeriesPoints {
        /// What it is asked for by.
        pub(crate) id: String,
        /// Its points. Where nothing was told there is none.
        pub(crate) points: Vec<SeriesPoint>,
    }
}

json_object! {
    /// What a series was in a step.
    #[derive(Clone, Copy, Debug, Serialize)]
    pub(crate) struct SeriesPoint {
        /// The beginning of the step: milliseconds since the Unix epoch.
        pub(crate) at_ms: u64,
        /// The smallest value.
        pub(crate) min: f32,
        /// The mean of the values.
        pub(crate) mean: f32,
        /// The largest value.
        pub(crate) max: f32,
    }
}
