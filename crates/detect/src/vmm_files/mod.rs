//! JSON files that describe VMM chips and come from elsewhere: wirings and calibrations of the event formation unit
//! (EFU), of vmm-sdat and of vmm-essdat.
//!
//! | file | question |
//! |---|---|
//! | `json` | a value in such a file, and where it stands |
//! | `content` | what was read, and what of it has no effect |
//! | `geometry` | the list `vmm_geometry` of vmm-sdat and vmm-essdat |
//! | `lines` | offsets and slopes of the 64 channels of a VMM |
//!
//! What only one detector has is in its own folder. Nothing in a file is left out in silence: what would make wrong
//! events is an error, anything else a note.

pub mod content;
pub mod geometry;
pub mod json;
pub mod lines;

pub use content::FileContent;
