//! Readouts to events.
//!
//! What detectors share lives at the top of this crate; a detector's own folder holds only what is its own.
//!
//! | step | module | used by |
//! |---|---|---|
//! | judge the times of each source | [`source_clock`] | Gd-GEM |
//! | sort the hits of a plane, cut them into time groups | [`plane_sorter`] | Gd-GEM |
//! | sort times that are spread | [`time_sort`] | Gd-GEM |
//! | split groups into clusters | [`cluster`] | Gd-GEM |
//! | match the clusters of two planes | [`plane_matching`] | Gd-GEM |
//! | all of that for one detector of two strip planes | [`strip_former`] | Gd-GEM |
//!
//! | detector | module | readout |
//! |---|---|---|
//! | Gd-GEM | [`gdgem`] | SRS with VMM2, VMM3, VMM3a |
//!
//! Everything here is a pure function of the packets it is given: no clocks, threads or I/O. Times are
//! integers in the exact unit of the electronics and are rounded only when an event leaves. A result never
//! depends on how the input was cut into batches: hits are released by a watermark in data time, and ties
//! do not matter because everything computed from hits of equal time is a sum, a minimum or a maximum.

#![forbid(unsafe_code)]

pub mod cluster;
pub mod gdgem;
pub mod hit;
mod memory;
pub mod plane_matching;
pub mod plane_sorter;
pub mod source_clock;
pub mod strip_former;
pub mod time_sort;
