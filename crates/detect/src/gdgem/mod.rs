//! Gd-GEM: a gadolinium GEM detector with two planes of strips, read out by VMM chips over SRS; also one with a single
//! plane, with a third one, or with pads.
//!
//! A neutron leaves a track that drifts onto the strips over some hundred nanoseconds; on each plane it shows
//! as a cluster of hits in strip and time (a micro-TPC). The track began where its *latest* hits are, so
//! those give the position (EFU formats of 2018, section 4).
//!
//! ```text
//! packet ─ wire::srs_vmm ─► readouts ─ time, digital geometry, threshold ─► hits
//!        ─ source clocks ─► hits in time ─ sorters ─► time groups ─ strips ─► clusters
//!        ─ matching by end ─► pairs of planes ─ latest hits ─► events (time, pixel)
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | [`settings`] | everything that can be configured, and its checks |
//! | `electronics` | the format of the packets and the clocks, as configured |
//! | [`hit_time`] | ticks: the exact time unit and the two time conventions |
//! | [`digital_geometry`] | (FEC, chip, channel) to (plane, strip) |
//! | [`counters`] | what is counted, with the laws |
//! | [`readout_stage`] | packets of one FEC to hits |
//! | [`vmm_files`] | wirings and calibrations in JSON files |
//! | `trigger_markers` | base times of the triggered mode |
//! | `chip_mapping` | where the channels of a chip are, as configured |
//! | `third_plane_settings` | where a third plane of strips lies |
//! | `panels` | what the panels are: two planes of strips, one, three, or pads |
//! | [`track_settings`] | what of the settings does not depend on the electronics |
//! | [`ess`] | the same detector in the ESS readout |
//! | [`tracks`] | hits to events, whatever the electronics |
//! | [`position`] | matched clusters to an event, or the reason why not |
//! | `monitor_channels` | readouts and amplitudes of every channel, while somebody looks |
//! | [`pipeline`] | [`GdGem`]: all of it as a [`Detector`](evforge_core::detector::Detector) |

mod chip_mapping;
pub mod counters;
pub mod digital_geometry;
mod electronics;
pub mod ess;
pub mod hit_time;
mod monitor_channels;
mod panels;
pub mod pipeline;
pub mod position;
pub mod readout_stage;
pub mod settings;
mod third_plane_settings;
pub mod track_settings;
pub mod tracks;
mod trigger_markers;
pub mod vmm_files;

pub use counters::{GdGemCounters, TrackCounters};
pub use pipeline::GdGem;
pub use settings::GdGemSettings;
