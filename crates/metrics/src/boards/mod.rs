//! Boards for Grafana and alert rules for Prometheus, made of the declarations: no name of a metric is written by hand.
//!
//! `contrib/grafana` and `contrib/prometheus` have them; `make metrics` makes them again, and a test fails while they differ.
//!
//! | you look for | it is in |
//! |---|---|
//! | the four boards | [`boards`] |
//! | what a board is made of | `grafana.rs` |
//! | the alerts | [`ALERTS`], [`rules`] |

mod alerts;
mod content;
mod grafana;

pub use alerts::{ALERTS, Alert, rules};
pub use content::boards;

use evforge_core::counter::CounterInfo;

/// The counters of a stage, for boards and documents.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What it does: "Receiving from the network".
    pub title: &'static str,
    /// Its name in the code and in `docs/counters.md`.
    pub name: &'static str,
    /// What its metrics belong to: "receive", "detector", "output"; none for stages of commands that have no metrics.
    pub group: Option<&'static str>,
    /// Its counters.
    pub counters: &'static [CounterInfo],
}
