//! Metrics: everything that is counted, for those who watch many runs and hosts from one place.
//!
//! ```text
//! RunState (core) ──► run_metrics ──┐
//! /proc, /sys, net ─► host, process ┴─► Section: readings with labels ─┬─► text: Prometheus, OpenMetrics ─► /metrics of the page
//!                                                                     └─► graphite: lines, buffer, connection ─► carbon
//! declarations ─────► boards: Grafana, alert rules; document: the tables of docs/metrics.md
//! ```
//!
//! A [`Reading`] is a value with the name, the unit and the sentence of its declaration. Counters of the stages of a run are
//! declared with [`evforge_core::counters!`]; what else a run, the program and the host tell is a [`Metric`] that is declared
//! here. No name is written twice: text, lines, boards and documents are all made of readings and declarations.
//!
//! | you look for | it is in |
//! |---|---|
//! | what a value is called, for Prometheus and for Graphite | [`Reading`] |
//! | the readings of a run | [`run_metrics`] |
//! | those of the host and of this process | [`Host`] |
//! | the text of `/metrics` | [`text`] |
//! | the output `[outputs.graphite]` | [`graphite`] |
//! | the names of the reference for what means the same | [`graphite::REFERENCE`] |
//! | boards for Grafana and alert rules for Prometheus | [`boards`] |
//! | the tables of `docs/metrics.md` | [`document`] |
//!
//! ```
//! use evforge_core::run_state::RunState;
//! use evforge_metrics::{Format, Section, run_metrics, text};
//!
//! let run = Section::of_run("NMX", "ess_nmx", run_metrics(&RunState::default()));
//! let text = text(&[run], Format::Prometheus);
//! assert!(text.contains("evforge_run_events_total{stream=\"NMX\",detector=\"ess_nmx\"} 0\n"));
//! ```

#![forbid(unsafe_code)]

pub mod boards;
mod document;
mod exposition;
pub mod graphite;
mod host;
mod metric;
mod reading;
mod run;
mod run_declared;

pub use document::document;
pub use exposition::{Format, MOST_READINGS, text};
pub use host::{Host, parse};
pub use metric::{Kind, Metric};
pub use reading::{Reading, Section, Value, counter_family};
pub use run::run_metrics;

/// Everything that is declared here: of runs, of the process and of the host.
pub fn declared() -> Vec<&'static Metric> {
    run_declared::ALL.iter().chain(host::declared::ALL).copied().collect()
}
