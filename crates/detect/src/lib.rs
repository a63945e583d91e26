//! Readouts to events.
//!
//! What detectors share lives at the top of this crate; a detector's own folder holds only what is its own.
//!
//! | step | module |
//! |---|---|
//! | all that is the same for every detector: the loop over packets, their numbers, the ledger | [`pipeline`] |
//! | count packets, turn away the unusable ones | [`packet_gate`] |
//! | correct amplitudes and times of single channels | [`calibration`] |
//! | leave out masked channels, and count them | [`channel_mask`] |
//! | thresholds that change with time | [`threshold_steps`] |
//! | judge the times of each source | [`source_clock`] |
//! | join the sources' times, close time step by step | [`source_clocks`], [`watermark`] |
//! | put what is nearly in order into order | [`time_order`], [`time_sort`] |
//! | whole events of several sources into order, and out | [`event_order`], [`outlet`] |
//! | the hits of each module into windows, their events into order | [`module_windows`] |
//! | cut the hits of a plane into time groups | [`plane_sorter`] |
//! | split groups into clusters | [`strip_clusterer`], [`cluster`] |
//! | do that in regions of a panel, on several threads | [`partition`] |
//! | match the clusters of two planes | [`plane_matching`] |
//! | all of that for two planes of strips | [`strip_former`] |
//! | planes that are clustered without being matched: a single one | [`plane_set`] |
//! | clusters of pads | [`pad_clusters`] |
//! | the clusters of three planes to neutrons | [`third_plane`] |
//! | panels that have no two planes of strips | [`panel_kind`], [`other_panel`] |
//! | the same for several panels, in order over all of them | [`panel_former`] |
//! | windows of modules in which several neutrons are told apart | [`paired_windows`], [`neutron_groups`] |
//! | monitor data of clusters and tracks | [`track_monitor`] |
//! | ticks to nanoseconds | [`tick`] |
//! | what all settings share | [`settings`] |
//!
//! | detector | module | readout |
//! |---|---|---|
//! | Gd-GEM | [`gdgem`] | SRS with VMM2, VMM3, VMM3a; the ESS readout (NMX) |
//! | Multi-Blade | [`multiblade`] | CAEN V1740D: records of 2018, jadaq; the ESS readout (FREIA, ESTIA, AMOR, TBLMB) |
//! | Multi-Grid | [`multigrid`] | Mesytec VMMR behind an SIS3153; CNCS 2016; the ESS readout |
//! | SoNDe | [`sonde`] | IDEAS ROSMAP |
//! | helium-3 tubes | [`helium3`] | R5560 digitisers in the ESS readout (LOKI, BIFROST, MIRACLES, CSPEC, TBL3HE) |
//! | beam monitors | [`beam_monitors`] | the ESS readout |
//! | fibres, tubes, discriminators of ISIS | [`isis`] | the streaming readout of ISIS, versions 1 and 2 |
//! | beam monitors | [`adc_readout`] | sampled channels of 2018 |
//!
//! What the detectors of the ESS readout share (common header, pulses, VMM3a records) is in [`ess`].
//!
//! Everything here is a pure function of the packets it is given: no clocks, threads or I/O (regions of a panel run
//! on threads that the caller brings). Times are
//! integers in the exact unit of the electronics and are rounded only when an event leaves. A result never
//! depends on how the input was cut into batches: hits are released by a watermark in data time, and ties
//! do not matter because everything computed from hits of equal time is a sum, a minimum or a maximum.

#![forbid(unsafe_code)]

// The tests in here use helpers of the tests in `tests/`.
#[cfg(test)]
extern crate self as evforge_detect;

pub mod adc_readout;
pub mod beam_monitors;
pub mod calibration;
pub mod channel_mask;
pub mod cluster;
pub mod dealt_hits;
pub mod dumped_readouts;
pub mod earliest;
pub mod ess;
pub mod event_order;
pub mod event_sort;
pub mod first_cases;
pub mod gdgem;
pub mod helium3;
pub mod hit;
pub mod isis;
#[cfg(test)]
mod ledger_tests;
pub mod linked_clusters;
pub mod matched_clusters;
pub mod measured_windows;
pub mod memory;
pub mod module_windows;
pub mod multiblade;
pub mod multigrid;
pub mod neutron_groups;
pub mod other_panel;
pub mod outlet;
pub mod packet_gate;
pub mod pad_clusters;
pub mod paired_windows;
pub mod pairing;
pub mod panel_former;
pub mod panel_kind;
pub mod partition;
pub mod pipeline;
pub mod plane_matching;
pub mod plane_pairs;
pub mod plane_set;
pub mod plane_sorter;
pub mod settings;
pub mod sonde;
pub mod source_clock;
pub mod source_clocks;
pub mod strip_clusterer;
pub mod strip_former;
mod strip_rules;
pub mod third_plane;
pub mod threshold_steps;
pub mod tick;
pub mod time_order;
pub mod time_sort;
pub mod track_monitor;
pub mod vmm_files;
pub mod watermark;
pub mod workers;
