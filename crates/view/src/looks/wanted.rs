//! A look as it is asked for.

use crate::json_object::json_object;
use crate::spectrum::TimeBins;
use serde::{Deserialize, Serialize};

json_object! {
    /// A picture with its spectra, as somebody wants to see it. Only `picture` must be there.
    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct LookWanted {
        /// Name of the picture.
        pub(crate) picture: String,
        /// The part of it that is wanted, in pixels: left, bottom, right, top; right and top are the first ones beyond. Default: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) part: Option<[u32; 4]>,
        /// The most columns and rows that are wanted, 16 to 4096: where there are more, the counts of neighbours are added up.
        /// Default: 1024 and 1024.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) points: Option<[u32; 2]>,
        /// Only events whose time of flight in nanoseconds is at least the first and below the second number are in the picture.
        /// Default: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) slice_ns: Option<[u32; 2]>,
        /// Only pixels from the first to below the second number along the axis that the picture does not show: layers of xy, rows of
        /// xz, columns of yz. Default: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) layers: Option<[u32; 2]>,
        /// Which time. Default: since the start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) window: Option<WindowWanted>,
        /// Bins of the spectra. Default: those of the greeting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) bins: Option<TimeBins>,
        /// "all", "accepted" (no veto applies) or "vetoed" (at least one does). Default: "all".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) vetoed: Option<String>,
        /// Only events of frames of this period, counted from 1. Default: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) period: Option<u32>,
        /// Only events of frames that are "good" (no veto that counts is present) or "vetoed". Default: "all".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) frames: Option<String>,
        /// True for events of frames that are known to be complete only. Default: false.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) complete: Option<bool>,
        /// Regions of the picture, at most 16, with different names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) regions: Vec<RegionWanted>,
    }
}

json_object! {
    /// Which time.
    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct WindowWanted {
        /// "all" (since the start), "since" (a moment) or "last" (the last seconds).
        pub(crate) kind: String,
        /// Of "since": milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) ms: Option<u64>,
        /// Of "last": 1 to 3600.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) seconds: Option<u32>,
    }
}

json_object! {
    /// A region of a picture.
    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct RegionWanted {
        /// What it is called: 1 to 40 characters.
        pub(crate) name: String,
        /// "rectangle" or "polygon".
        pub(crate) shape: String,
        /// In pixels of the picture, from its lower left corner: of a rectangle two corners that lie opposite each other, of a
        /// polygon 3 to 64 corners. A pixel is inside if its middle is.
        pub(crate) points: Vec<[f64; 2]>,
    }
}
