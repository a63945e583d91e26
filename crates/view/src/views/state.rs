//! A view as the page gets it.

use crate::json_object::json_object;
use crate::looks::wanted::LookWanted;
use serde::Serialize;

json_object! {
    /// What somebody looks at for a purpose, under a name.
    #[derive(Clone, Debug, Serialize)]
    pub(crate) struct ViewState {
        /// What it is called.
        pub(crate) name: String,
        /// What is seen, and what to look for.
        pub(crate) hint: String,
        /// Names of 1 to 4 pictures: the first one is large, the others are smaller.
        pub(crate) pictures: Vec<String>,
        /// What is asked of the server for the first of them, `bins` left out.
        pub(crate) look: LookWanted,
        /// Bins of the spectra over the period; absent for those of the greeting.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) bins: Option<u32>,
        /// What counts are divided by: "counts" (nothing), "second", "pulse" or "monitor:NAME".
        pub(crate) per: String,
        /// True if counts are divided by the share of the packets that has come.
        pub(crate) corrected: bool,
        /// True for a logarithmic scale, false for a linear one; absent for what suits the content.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) log: Option<bool>,
        /// Colours: "evforge", "viridis" or "cividis".
        pub(crate) map: String,
        /// Top of the scale: "maximum", "quantile" or "fixed".
        pub(crate) top: &'static str,
        /// Of "fixed": the value.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) top_value: Option<f64>,
        /// Axis of the spectrum: "tof", "wavelength", "energy" or "d".
        pub(crate) unit: String,
        /// From the moderator to the detector in metres; absent for that of the greeting.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) flight_path_m: Option<f64>,
        /// Angle of scattering in degrees; absent for that of the greeting.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) two_theta_deg: Option<f64>,
        /// True for a logarithmic scale of the spectrum.
        pub(crate) spectrum_log: bool,
        /// Part of the spectrum that is shown, in nanoseconds; absent for all of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) zoom_ns: Option<[u64; 2]>,
        /// Panels that are shown: "image", "regions", "rate", "spectrum", "ledger", "monitor" (opened); absent for all of them, with
        /// the monitor closed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) panels: Option<Vec<String>>,
    }
}
