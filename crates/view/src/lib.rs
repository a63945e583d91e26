//! The live view: what a detector sees, in a browser, while it sees it.
//!
//! ```text
//! events ──► LiveSink ──┬─► counts per pixel, spectrum ──┬─► looks ──► WebSocket ──► page
//!            (never waits) └─► the newest events ────────────┘  (5 a second)  (window of 3)
//! ```
//!
//! [`LiveView::start`] serves the page in `web/` (embedded in this crate) from a thread of its own.
//! [`LiveView::sink`] gives the [`Output`](evforge_core::output::Output) that a pipeline feeds. The sink
//! only adds to counters and to the memory of the newest events: pictures are made by a thread of their own, and a browser that is slow, stuck or
//! gone costs the pipeline nothing. It gets fewer pictures, never a queue of old ones.
//!
//! With a [`MonitorControl`] in [`ViewOptions::monitor`], the page also shows a detector's monitor data (readouts per
//! channel, amplitudes, cluster sizes, tracks), which it can switch on and off while the run continues.
//!
//! | you look for | it is in |
//! |---|---|
//! | the table `[outputs.view]` of a configuration | [`ViewSettings`] |
//! | starting and stopping, the output | [`LiveView`], [`LiveSink`] |
//! | address, picture rate, time-outs | [`ViewOptions`] |
//! | a detector's monitor data, and their switch | [`MonitorControl`] |
//! | asking and changing the run over HTTP, and the token | `control/`, [`ViewOptions::control`] |
//! | HTTP paths for scripts, and `docs/http-api.md` | [`http_api`] |
//! | what travels between server and page | [`protocol`] |
//! | regions, slices, windows: what is counted of which events | `looks/`, `event_memory/` |
//! | pictures as bytes | [`look_frame`]; all at once for scripts: [`frame`] |
//! | how pixels of any geometry become flat pictures | [`PictureSet`](evforge_picture::PictureSet) |
//! | bins of the time-of-flight spectrum | [`spectrum`] |
//! | the history of everything that is counted | `history/` |
//! | what is looked at for a purpose, under a name | `views/`, [`ViewFile`] |
//! | what must be seen from across the room | [`SignState`] |
//! | values of logs, proton charge, spectra of beam monitors, what a run tells of itself | [`BeamTold`] |

#![forbid(unsafe_code)]

mod accept;
mod accumulator;
mod advice;
mod answers;
mod at_work;
mod beam;
mod client;
mod client_counts;
mod client_looks;
mod connections;
mod control;
mod error;
mod event_memory;
#[cfg(feature = "exercise")]
pub mod exercise;
mod exports;
mod feed_view;
pub mod frame;
mod frames_state;
mod guard;
mod handlers;
mod history;
pub mod http_api;
mod json_object;
mod ledger;
mod live_view;
mod lock;
pub mod look_frame;
mod look_handlers;
mod looks;
mod memory;
mod monitor;
mod options;
mod page;
pub mod protocol;
mod sending;
mod server;
mod settings;
mod shared;
mod shown_run;
mod signs;
mod sink;
pub mod spectrum;
mod views;
mod waiting;

pub use beam::{
    BeamState, BeamTold, MonitorSpectrum, MonitorSpectrumState, PulseState, Seen, ToldByRun, ValueState,
};
pub use client_counts::ClientCounts;
pub use error::ViewError;
pub use evforge_outputs::{HostAdvice, HostFinding, MonitorControl};
pub use live_view::LiveView;
pub use options::ViewOptions;
pub use protocol::{AdviceState, LocatedLoss, ShownContent, SignState};
pub use settings::ViewSettings;
pub use sink::{LiveSink, ViewCounters};
pub use views::{ViewFile, ViewFileError};
