//! How a live view is set up.

use crate::error::ViewError;
use crate::guard::origin;
use crate::protocol::ShownContent;
use crate::spectrum::MOST_BINS;
use crate::views::ViewFile;
use axum::http::uri::Authority;
use evforge_control::ControlAccess;
use evforge_core::beam_monitor::BeamMonitorPlan;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pixel_ids::PixelIds;
use evforge_core::placement::Placement;
use evforge_core::pulse::PulseTrain;
use evforge_core::run_state::RunState;
use evforge_outputs::{HostAdvice, MonitorControl};
use evforge_picture::PictureSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// The most pixels that are pictured: beyond that, each stream would take more than 256 MB for its counts.
const MOST_PIXELS: u32 = 1 << 25;

/// Bytes of the newest events that are kept if nothing else is said.
pub(crate) const EVENT_MEMORY: usize = 128 << 20;

/// Browsers that may watch at once if nothing else is said.
pub(crate) const MOST_CLIENTS: usize = 32;
/// Those of one address.
pub(crate) const MOST_CLIENTS_OF_ONE_ADDRESS: usize = 16;
/// Connections that may be open if nothing else is said.
pub(crate) const MOST_CONNECTIONS: usize = 256;
/// Those of one address.
pub(crate) const MOST_CONNECTIONS_OF_ONE_ADDRESS: usize = 64;

/// The options of a live view. Start from [`ViewOptions::new`] and change what differs.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Where to listen; port 0 takes any free port. Default: 127.0.0.1:8080, which only browsers on this
    /// host can reach.
    pub address: SocketAddr,
    /// What the page is headed: the instrument or the run.
    pub title: String,
    /// The pixels: up to 2^25 (33 million).
    pub geometry: LogicalGeometry,
    /// Which of these pixels the ids of events are, where they are given by the facility. Default: they are the same.
    pub pixel_ids: Option<Arc<PixelIds>>,
    /// The beam monitors of the stream: their pixels have pictures of their own. Default: none.
    pub beam_monitors: Vec<BeamMonitorPlan>,
    /// Where the pixels are: axes are then in millimetres. Default: not known.
    pub placement: Option<Placement>,
    /// The train of pulses: its period is the range of the spectrum.
    pub pulses: PulseTrain,
    /// Width of a bin of the time-of-flight spectrum in nanoseconds, at least 1. None (the default) takes
    /// the widest round width that gives 500 bins or more; for the ESS that is 100 µs and 715 bins. A width
    /// that would give more than 10 000 bins is doubled until it does not.
    pub time_of_flight_bin_ns: Option<u64>,
    /// What pictures and spectrum show where that is not counts of events, with the number of bins of the spectrum (1 to 10 000), which
    /// then are no times. Default: none, and events are counted.
    pub content: Option<(ShownContent, usize)>,
    /// Bytes that the newest events of a stream may take, for regions, slices and windows that are asked for later: 1 MiB to 64 GiB.
    /// Default: 128 MiB, some 16 million events.
    pub event_memory: usize,
    /// Names of the vetoes of the run, in the order of their bits. Default: none.
    pub vetoes: Vec<String>,
    /// Way of the neutrons from the moderator to the middle of the detector in metres, above 0 and up to 10 000. Default: not known.
    pub flight_path_m: Option<f64>,
    /// Angle between the beam and the way to the middle of the detector in degrees, above 0 and up to 180. Default: not known.
    pub scattering_angle_deg: Option<f64>,
    /// True where pictures are counted of events that the sink takes: else nobody can ask for regions, slices and windows. Default: true.
    pub counts_events: bool,
    /// Time between pictures, 50 ms to 10 s. Default: 200 ms.
    pub picture_interval: Duration,
    /// How many updates a browser may leave unacknowledged before it gets no more: 1 to 16. Default: 3.
    pub window: usize,
    /// A browser that leaves an update unacknowledged for so long is dropped: at least 100 ms. Default: 20 s.
    pub client_timeout: Duration,
    /// How many browsers may watch at once: 1 to 1000. Default: 32.
    pub most_clients: usize,
    /// How many of them may come from one address (with IPv6: from one network of 64 bits): 1 to 1000. Default: 16.
    pub most_clients_of_one_address: usize,
    /// How many connections may be open at once, of whatever kind: 1 to 10 000. Default: 256. Of the descriptors that the
    /// process may have, 64 are left free in any case.
    pub most_connections: usize,
    /// How many of them may come from one address (with IPv6: from one network of 64 bits), at least 1. Default: 64.
    pub most_connections_of_one_address: usize,
    /// A connection that has not sent the whole header of a request for so long, at the beginning or after an answer, is cut:
    /// at least 100 ms. Default: 10 s. A browser opens another when it needs one; a WebSocket is not concerned.
    pub request_timeout: Duration,
    /// A connection that takes nothing of an answer for so long is cut: at least 100 ms. Default: 30 s.
    pub write_timeout: Duration,
    /// Names, besides its addresses, its own host name and `localhost`, by which browsers may call this
    /// server. A request by any other name is refused, so that a page from elsewhere cannot reach the server
    /// under a name of its own (DNS rebinding).
    pub host_names: Vec<String>,
    /// Origins of pages that may use this server besides its own page, as `https://view.example.org`: where a web server passes it on
    /// under another scheme, name or port. Default: none.
    pub origins: Vec<String>,
    /// Name of the detector's section in the configuration, a label in `/metrics`. Default: empty.
    pub detector: String,
    /// What the page offers to look at. Default: what is shipped for `detector`.
    pub views: Option<ViewFile>,
    /// The state of the run before its first packet, which `/metrics` has until another one comes. Default: none.
    pub at_start: Option<Arc<RunState>>,
    /// The monitor data of the detector, which the page can then show and switch. Default: none.
    pub monitor: Option<Arc<dyn MonitorControl>>,
    /// What to look at while no packets come, which the page then shows. Default: none.
    pub advice: Option<Arc<dyn HostAdvice>>,
    /// Where requests go that ask the run or change it, and the token of the latter. Default: none, and nothing can be changed,
    /// the monitor data neither.
    pub control: Option<ControlAccess>,
}

impl ViewOptions {
    /// The defaults for an instrument.
    pub fn new(title: impl Into<String>, geometry: LogicalGeometry, pulses: PulseTrain) -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            title: title.into(),
            geometry,
            pixel_ids: None,
            beam_monitors: Vec::new(),
            placement: None,
            pulses,
            time_of_flight_bin_ns: None,
            content: None,
            event_memory: EVENT_MEMORY,
            vetoes: Vec::new(),
            flight_path_m: None,
            scattering_angle_deg: None,
            counts_events: true,
            picture_interval: Duration::from_millis(200),
            window: 3,
            client_timeout: Duration::from_secs(20),
            most_clients: MOST_CLIENTS,
            most_clients_of_one_address: MOST_CLIENTS_OF_ONE_ADDRESS,
            most_connections: MOST_CONNECTIONS,
            most_connections_of_one_address: MOST_CONNECTIONS_OF_ONE_ADDRESS,
            request_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            host_names: Vec::new(),
            origins: Vec::new(),
            detector: String::new(),
            views: None,
            at_start: None,
            monitor: None,
            advice: None,
            control: None,
        }
    }

    /// The pictures of its pixels.
    pub(crate) fn pictures(&self) -> PictureSet {
        PictureSet::new(&self.geometry, &self.beam_monitors, self.placement.as_ref())
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// With the first option that is outside its range.
    pub(crate) fn check(&self) -> Result<(), ViewError> {
        let refuse = |option, found: String, expected: String| {
            Err(ViewError::Option { option, found, expected: expected.replace("..=", " to ") })
        };
        let pixels = self.geometry.pixel_count();
        if pixels > MOST_PIXELS {
            let found = format!("a grid of {pixels} pixels");
            return refuse("geometry", found, format!("one of at most {MOST_PIXELS} pixels"));
        }
        if self.time_of_flight_bin_ns == Some(0) {
            return refuse("time-of-flight bin", "0 ns".into(), "at least 1 ns".into());
        }
        let bins = self.content.as_ref().map_or(1, |(_, bins)| *bins);
        if !(1..=MOST_BINS as usize).contains(&bins) {
            return refuse("number of bins", bins.to_string(), format!("1 to {MOST_BINS}"));
        }
        let memory = 1 << 20..=64 << 30;
        if !memory.contains(&self.event_memory) {
            return refuse(
                "memory of events",
                format!("{} bytes", self.event_memory),
                format!("{memory:?} bytes"),
            );
        }
        for (option, found, most, unit) in [
            ("flight path", self.flight_path_m, 1e4, "m"),
            ("scattering angle", self.scattering_angle_deg, 180.0, "degrees"),
        ] {
            if let Some(found) = found.filter(|found| !(f64::MIN_POSITIVE..=most).contains(found)) {
                return refuse(
                    option,
                    format!("{found} {unit}"),
                    format!("above 0 and at most {most} {unit}"),
                );
            }
        }
        let interval = Duration::from_millis(50)..=Duration::from_secs(10);
        if !interval.contains(&self.picture_interval) {
            return refuse(
                "picture interval",
                format!("{:?}", self.picture_interval),
                format!("{interval:?}"),
            );
        }
        for (option, found) in [
            ("browser time-out", self.client_timeout),
            ("time-out of requests", self.request_timeout),
            ("time-out of answers", self.write_timeout),
        ] {
            if found < Duration::from_millis(100) {
                return refuse(option, format!("{found:?}"), "at least 100ms".into());
            }
        }
        let is_host_name =
            |name: &&String| name.parse::<Authority>().is_ok_and(|name| name.host() == name.as_str());
        if let Some(name) = self.host_names.iter().find(|name| !name.trim().is_empty() && !is_host_name(name))
        {
            let expected = "a name alone, without http:// and without a port: view.example.org".into();
            return refuse("host name", format!("{name:?}"), expected);
        }
        if let Some(found) = self.origins.iter().find(|found| origin(found).is_none()) {
            let expected =
                "http:// or https://, a name, and a port if need be: https://view.example.org".into();
            return refuse("origin", format!("{found:?}"), expected);
        }
        let of_one_address = self.most_connections_of_one_address;
        for (option, found, range) in [
            ("window", self.window, 1..=16),
            ("number of browsers", self.most_clients, 1..=1000),
            ("number of browsers of one address", self.most_clients_of_one_address, 1..=1000),
            ("number of connections", self.most_connections, 1..=10_000),
            ("number of connections of one address", of_one_address, 1..=10_000),
        ] {
            if !range.contains(&found) {
                return refuse(option, found.to_string(), format!("{range:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_outside_their_range_are_named_with_the_range() {
        let good = ViewOptions::new("x", LogicalGeometry::flat(4, 4).unwrap(), PulseTrain::ess());
        assert!(good.check().is_ok());
        let message = |options: ViewOptions| options.check().unwrap_err().to_string();
        let text = message(ViewOptions { window: 0, ..good.clone() });
        assert_eq!(text, "the live view's window is 0; it must be 1 to 16");
        let text = message(ViewOptions { picture_interval: Duration::from_millis(1), ..good.clone() });
        assert_eq!(text, "the live view's picture interval is 1ms; it must be 50ms to 10s");
        for name in ["http://lab.example.org", "lab.example.org:8080", "lab/"] {
            let text = message(ViewOptions { host_names: vec!["fine".into(), name.into()], ..good.clone() });
            assert!(text.contains(name) && text.contains("without a port"), "{text}");
        }
        for wrong in ["lab.example.org", "https://lab.example.org/", "ftp://lab.example.org", "null"] {
            let text = message(ViewOptions { origins: vec![wrong.into()], ..good.clone() });
            assert!(text.contains(wrong) && text.contains("https://view.example.org"), "{text}");
        }
        let text = message(ViewOptions { flight_path_m: Some(0.0), ..good.clone() });
        assert_eq!(text, "the live view's flight path is 0 m; it must be above 0 and at most 10000 m");
        let huge = LogicalGeometry::flat(1 << 13, 1 << 13).unwrap();
        assert!(message(ViewOptions { geometry: huge, ..good }).contains("67108864 pixels"));
    }
}
