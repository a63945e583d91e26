//! A run from end to end: threads, outputs and the joined ledger.
//!
//! | you look for | it is in |
//! |---|---|
//! | forming the events of a capture file | [`capture_run`] |
//! | forming the events of packets as they come in | [`live_run`] |
//! | what a run reports at its end | [`report`] |
//! | which alarms begin and end, in the log | [`alarm_log`] |
//! | what a run was worth | [`verdict`] |
//! | what of a capture did not become packets | [`skipped_frames`] |
//! | recording packets into files, and what that reports | [`record_run`], [`record_report`] |
//! | looking at a detector's monitor data while it runs | [`monitor_tap`] |
//! | asking a run while it goes on, and changing its parameters | [`run_control`] |
//! | what a configuration asks of the host | [`host_needs`] |
//! | what the pattern of losses suggests | [`loss_hints`] |
//! | how long events take from the arrival of their packets | [`latency`] |
//! | which channels should be masked | [`mask_report`] |
//! | packets and events over time | [`series`] |
//! | writing the averaged waveforms of sampled channels | [`samples`] |
//!
//! A run reads packets into slabs, hands them to the configured
//! [`Detector`](evforge_core::detector::Detector), and hands full event batches on to the outputs (`evforge_outputs`), with their pulses. With two
//! threads, one reads while the other forms; slabs travel between them through bounded queues and come back
//! to be filled again. Nothing is allocated per packet, and since the input is a file every queue waits:
//! nothing is dropped.

#![forbid(unsafe_code)]

pub mod alarm_log;
pub mod capture_run;
mod figures;
mod forming;
mod frames;
pub mod host_needs;
mod in_turn;
pub mod latency;
pub mod live_run;
mod live_watch;
pub mod loss_hints;
pub mod mask_report;
mod misfit;
pub mod monitor_tap;
mod packet_queue;
mod receiving;
pub mod record_report;
pub mod record_run;
pub mod report;
mod report_lines;
pub mod run_control;
mod run_state;
pub mod samples;
pub mod series;
pub mod skipped_frames;
mod time_source;
pub mod trace;
pub mod verdict;

pub use packet_queue::{file_packets_bound, live_packets_bound};
pub use run_state::ledger_at_start;
