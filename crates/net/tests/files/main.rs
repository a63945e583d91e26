//! Captures: read in every format, written, recorded while they arrive, and finished when that was cut short.

mod capture;
mod capture_formats;
mod finish_recording;
mod pipe;
mod record;
#[path = "../shared/mod.rs"]
mod shared;
