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
        /// Events per pixel, row by row from the bottom: column x of row y is at y * nx + x.
        pub(crate) counts: Vec<u64>,
    }
}

json_object! {
    /// The spectrum of times of flight, from pulse to pulse.
    #[derive(Debug, Serialize)]
    pub(crate) struct SpectrumCounts {
        /// Width of a bin in nanoseconds.
        pub(crate) bin_ns: u64,
        /// Events per bin; bin i begins i * bin_ns after the pulse.
        pub(crate) counts: Vec<u64>,
    }
}
