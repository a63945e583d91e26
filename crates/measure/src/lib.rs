//! Measurements that somebody repeats years later, on another host: results that keep what they were measured on, reports that a person
//! reads from the top, and comparisons that know noise.
//!
//! ```text
//!  Session::begin ──► Fingerprint, load of the host ──┐
//!                                                     ▼
//!  what is measured: tables, plots, findings ──► Measurement ──► ResultFolder ──► result.json
//!                                                     ▲                           one CSV per table
//!  result.json, years later ──► result_file::read ────┤                           one SVG per plot
//!                                                     ▼                           report.html
//!                                                Comparison                 evforge measure compare
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | a result: verdict, findings, tables, plots, what it cannot show | [`Measurement`] |
//! | tables: columns with units, cells with intervals | [`table`] |
//! | what a plot shows, and drawing it | [`plot`], [`drawing`] |
//! | plots that are no lines: matrices, stacked bars | [`figure`] |
//! | what the result depends on: processor, kernel, card, settings, program | [`fingerprint`] |
//! | what else the host was doing | [`load`] |
//! | beginning and ending a measurement | [`Session`] |
//! | `result.json`, written and read | [`result_file`] |
//! | the folder of a result, its files | [`ResultFolder`], [`csv`], [`report`] |
//! | tables for a terminal | [`text`] |
//! | two results of the same measurement | [`compare`] |
//! | what a link can carry at most: Table 1 of the UDP paper | [`link`] |
//! | speed, error ratio and processor time by size: Table 3 and Figure 3 | [`sweep`] |
//! | speed, processor time and loss by buffer, MTU and direction, over UDP and TCP | [`buffers`] |
//! | the highest rate without loss | [`rate`] |
//! | the highest peak of pulses that a receive buffer keeps | [`pulses`] |
//! | rates from UDP to events, by detector: Table 4 of the EFU paper | [`formation`] |
//! | from a packet to its event, into outputs and onto the page, against load | [`latency`] |
//! | what looking at a run costs it | [`observer`] |
//! | which thread on which core: rules from measured assignments | [`placement`] |
//! | hours to days without a lost packet, and the proofs of it | [`soak`] |
//! | packets that arrive at most of 1 to N streams: Figure 6 of the XDP paper | [`streams`] |
//! | which pair of sender and receiver loses packets of trains, and when: the slides of the European XFEL | [`trains`] |
//!
//! # To add a measurement
//! A measurement is a module like [`link`]: it takes settings, and gives a [`Measurement`]. It does not print, and writes no file.
//!
//! 1. [`Session::begin`] with its name, which is that of its command, the interfaces it uses and the command line. It takes the fingerprint, and
//!    the load of the host *before* anything is measured. Check with [`ResultFolder::to_be_made`] that the result can be written first.
//! 2. Measure. Put figures into [`Table`](table::Table)s: key columns say what a row is about (size, rate, core); measured columns have
//!    an interval in each cell ([`Cell::measured`](table::Cell::measured)), calculated and counted ones are
//!    [`exact`](table::Column::exact). Rows of two results are joined by their keys, so keys are what was asked for, never what came out.
//!    Of nothing lost in N packets the cell is 0 with an upper bound ([`Cell::counted_share`](table::Cell::counted_share)).
//! 3. Describe plots: [`Line::of_columns`](plot::Line::of_columns) takes points with their intervals from a table. On a logarithmic axis, 0
//!    with an upper bound becomes a bar with an arrow. What theory says is a [`Look::Theory`](plot::Look::Theory),
//!    what a paper printed a [`Look::Published`](plot::Look::Published).
//! 4. [`Session::end`] with the verdict. Add findings as sentences, and in [`limits`](Measurement::limits) what this setting cannot show: a
//!    loopback is no wire.
//! 5. The command (`crates/evforge/src/measure`) writes the result with [`ResultFolder::write`] and prints [`text::of`].
//!
//! [`kind`](Measurement::kind) is what `measure compare` compares by. A change of tables or columns that makes an old result incomparable is a new
//! kind, or a new [`SCHEMA`](result_file::SCHEMA) if it is in the format itself.

#![forbid(unsafe_code)]

pub mod buffers;
pub mod compare;
mod counted;
pub mod csv;
pub mod drawing;
mod drawing_figure;
mod error;
pub mod figure;
pub mod fingerprint;
mod folder;
pub mod formation;
pub mod latency;
pub mod link;
pub mod load;
mod losses;
mod measurement;
pub mod observer;
pub mod placement;
pub mod plot;
pub mod pulses;
pub mod rate;
pub mod report;
pub mod result_file;
mod session;
pub mod soak;
pub mod streams;
pub mod sweep;
pub mod table;
pub mod text;
pub mod trains;

pub use error::MeasureError;
pub use folder::ResultFolder;
pub use measurement::{Measurement, Setting, Verdict};
pub use session::Session;
