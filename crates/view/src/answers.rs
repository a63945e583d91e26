//! JSON that scripts are answered with, besides that which the page gets as well ([`protocol`](crate::protocol)).

use crate::json_object::json_object;
use crate::protocol::PictureState;
use serde::Serialize;

json_object! {
    /// That the live view is there, and which one it is.
    #[derive(Debug, Serialize)]
    pub(crate) struct Health {
        /// Always "ok".
        pub(crate) status: &'static str,
        /// Version of this interface: 1. It grows when something that is promised here is changed or removed.
        pub(crate) api: u32,
        /// Version of evforge.
        pub(crate) version: &'static str,
        /// Changes with every start of a server.
        pub(crate) instance: String,
    }
}

json_object! {
    /// A picture, and how much is in it.
    #[derive(Debug, Serialize)]
    pub(crate) struct PictureSum {
        /// What the picture is.
        #[serde(flatten)]
        pub(crate) picture: PictureState,
        /// True if it is the first picture of the detector or of a beam monitor. The sums of these are all events that are in pictures.
        pub(crate) first: bool,
        /// Events in it.
        pub(crate) sum: u64,
    }
}

json_object! {
    /// The counts of a picture.
    #[derive(Debug, Serialize)]
    pub(crate) struct ImageCounts {
        /// Events counted so far, modulo 2^32: another number is another picture.
        pub(crate) number: u32,
        /// Name of the picture.
        pub(crate) picture: String,
        /// Columns.
        pub(crate) nx: u32,
        /// Rows.
        pub(crate) ny: u32,
        /// The part of the picture, in pixels: left, bottom, right, top (the first ones beyond).
        pub(crate) part: [u32; 4],
        /// Pixels that are added up in one, to the right and upwards; 1 and 1 unless fewer `points` were asked for.
        pub(crate) block: [u32; 2],
        /// Every event from then on is counted: milliseconds since the Unix epoch.
        pub(crate) since_ms: u64,
        /// Events of the window that are not counted.
        pub(crate) missed: u64,
        /// Length of the window in seconds.
        pub(crate) seconds: f64,
        /// Pulses in the window.
        pub(crate) pulses: u64,
        /// Proton charge in the window in µAh; absent where none was told since the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) charge_uah: Option<f64>,
        /// Events in the slice, in the whole picture.
        pub(crate) events: u64,
        /// Events per pixel, row by row from the bottom: column x of row y is at y * nx + x.
        pub(crate) counts: Vec<u64>,
    }
}

json_object! {
    /// The spectrum of times of flight of a picture.
    #[derive(Debug, Serialize)]
    pub(crate) struct SpectrumCounts {
        /// Name of the picture.
        pub(crate) picture: String,
        /// Where the first bin begins, in nanoseconds after the pulse.
        pub(crate) from_ns: u32,
        /// Width of a bin in nanoseconds.
        pub(crate) bin_ns: u64,
        /// Every event from then on is counted: milliseconds since the Unix epoch.
        pub(crate) since_ms: u64,
        /// Events of the window that are not counted.
        pub(crate) missed: u64,
        /// Length of the window in seconds.
        pub(crate) seconds: f64,
        /// Pulses in the window.
        pub(crate) pulses: u64,
        /// Proton charge in the window in µAh; absent where none was told since the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) charge_uah: Option<f64>,
        /// Events per bin; bin i begins from_ns + i * bin_ns after the pulse.
        pub(crate) counts: Vec<u64>,
        /// The regions that were asked for.
        pub(crate) regions: Vec<RegionCounts>,
    }
}

json_object! {
    /// The spectrum of a region.
    #[derive(Debug, Serialize)]
    pub(crate) struct RegionCounts {
        /// Its name.
        pub(crate) name: String,
        /// Pixels in it.
        pub(crate) pixels: u64,
        /// Events in it, in the slice.
        pub(crate) events: u64,
        /// Events in it, whatever their time of flight.
        pub(crate) all: u64,
        /// Events per bin.
        pub(crate) counts: Vec<u64>,
    }
}
