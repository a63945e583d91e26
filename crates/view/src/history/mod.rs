//! What was when: the rates of the last ten minutes, which every browser is greeted with, and the history of everything that is
//! counted, which it asks for.
//!
//! ```text
//! RunState, once a second ─► run_metrics ─┐
//! /proc ───────────────────► Host ────────┼─► Recorder: rates ─► Store: 1 s for an hour, 1 min for 48 h ─► /api/history.json
//! events, five times a second ────────────┘
//! ```
//!
//! Every point is the smallest, the mean and the largest value of its time: a spike of one second is as high in a point that
//! stands for an hour. Where nothing was told there is no point, and not 0.
//!
//! | you look for | it is in |
//! |---|---|
//! | the rates that travel over the WebSocket | `rate.rs` |
//! | a value and its spread; values in the order of time, in little memory | `point.rs`, `column.rs` |
//! | one series; all of them, and their bound | `series.rs`, `store.rs` |
//! | which step fits a question | `selection.rs` |
//! | what a reading is called as a series, and which are kept | `naming.rs` |
//! | what is kept of a run | `kept.rs` |
//! | values of logs | `values.rs` |
//! | from counters to rates | `recorder.rs`; once a second, in a thread of its own: `task.rs` |
//! | questions over HTTP | `asked.rs`, `answers.rs`, `handlers.rs` |

mod answers;
mod asked;
mod column;
pub(crate) mod handlers;
mod kept;
mod naming;
mod rate;
mod recorder;
mod selection;
mod series;
mod store;
pub(crate) mod task;
mod values;

pub(crate) use answers::{HistoryAnswer, KeptState, SeriesList, SeriesPoint, SeriesPoints, SeriesState};
pub(crate) use kept::SeriesHistory;
pub use rate::RatePoint;
pub(crate) use rate::{History, Totals};
pub(crate) use store::MOST_BYTES;
pub(crate) use values::{ValuePoint, value_id};
