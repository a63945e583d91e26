//! `[outputs.view]`: a live view as an output of a run.

use crate::at_work::MOST_THREADS;
use crate::live_view::LiveView;
use crate::memory;
use crate::options::{
    EVENT_MEMORY, MOST_CLIENTS, MOST_CLIENTS_OF_ONE_ADDRESS, MOST_CONNECTIONS,
    MOST_CONNECTIONS_OF_ONE_ADDRESS, ViewOptions,
};
use crate::sink::ViewCounters;
use crate::spectrum::SpectrumBins;
use crate::views::ViewFile;
use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::output::Output;
use evforge_core::quantity::{Angle, ByteSize, Length, TimeSpan};
use evforge_outputs::{OutputContext, OutputPlan, QueueSettings};
use evforge_picture::PictureSet;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The keys of `[outputs.view]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewSettings {
    /// Where to listen: "127.0.0.1:8080". Port 0 takes any free port.
    #[serde(with = "evforge_core::endpoint::HostAndPort")]
    pub address: SocketAddr,
    /// Names by which browsers may call this server, besides its addresses, its own host name and `localhost`.
    #[serde(default)]
    pub host_names: Vec<String>,
    /// Origins of pages that may use it besides its own: `https://view.example.org`, where a web server passes it on as that.
    #[serde(default)]
    pub origins: Vec<String>,
    /// How many browsers may watch at once.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000), extend("default" = MOST_CLIENTS))]
    pub max_browsers: Option<usize>,
    /// How many of them may come from one address.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000), extend("default" = MOST_CLIENTS_OF_ONE_ADDRESS))]
    pub max_browsers_per_address: Option<usize>,
    /// How much memory the newest events may take, for regions, slices and windows that are asked for later. 128 MiB are some 16 million events.
    #[serde(default)]
    #[schemars(extend("x-range" = "1 MiB to 64 GiB", "x-default" = "128 MiB"))]
    pub event_memory: Option<ByteSize>,
    /// Time between pictures.
    #[serde(default)]
    #[schemars(extend("x-range" = "50 ms to 10 s", "x-default" = "200 ms"))]
    pub interval: Option<TimeSpan>,
    /// Way of the neutrons from the moderator to the middle of the detector: "36.5m". The page has wavelengths and energies with it.
    #[serde(default)]
    pub flight_path: Option<Length>,
    /// Angle between the beam and the way to the middle of the detector: "90deg". The page has d-spacings with it.
    #[serde(default)]
    pub scattering_angle: Option<Angle>,
    /// A file of views, which the page offers in the place of those that are shipped for the detector.
    #[serde(default, deserialize_with = "views_of_file")]
    #[schemars(with = "Option<PathBuf>", extend("x-unit" = "file"))]
    pub views: Option<ViewFile>,
}

/// The file is read with the configuration that names it: what is wrong with it is known before a run begins.
fn views_of_file<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ViewFile>, D::Error> {
    let path = PathBuf::deserialize(from)?;
    ViewFile::read(&path).map(Some).map_err(D::Error::custom)
}

impl ViewSettings {
    fn event_memory(&self) -> usize {
        let bytes = self.event_memory.map(|size| usize::try_from(size.bytes).unwrap_or(usize::MAX));
        bytes.unwrap_or(EVENT_MEMORY)
    }

    /// Browsers that may watch, and those of one address.
    fn seats(&self) -> [usize; 2] {
        [
            self.max_browsers.unwrap_or(MOST_CLIENTS),
            self.max_browsers_per_address.unwrap_or(MOST_CLIENTS_OF_ONE_ADDRESS),
        ]
    }

    /// Connections that may be open, and those of one address: browsers that watch leave as many to everything else as they do
    /// without being told.
    fn connections(&self) -> [usize; 2] {
        let [all, of_one] = self.seats();
        [
            MOST_CONNECTIONS - MOST_CLIENTS + all,
            MOST_CONNECTIONS_OF_ONE_ADDRESS - MOST_CLIENTS_OF_ONE_ADDRESS + of_one,
        ]
    }
}

impl OutputPlan for ViewSettings {
    fn name(&self) -> String {
        format!("live view at http://{}", self.address)
    }

    fn queue(&self) -> QueueSettings {
        QueueSettings::PICTURE
    }

    fn counters(&self) -> Vec<CounterInfo> {
        ViewCounters::infos().to_vec()
    }

    fn memory_bound(&self, context: &OutputContext) -> usize {
        let monitors = context.ledger.beam_monitors.iter().map(|data| data.plan());
        let pictures = PictureSet::new(&context.geometry, monitors, context.placement.as_ref());
        let [most_clients, _] = self.seats();
        let [most_connections, _] = self.connections();
        memory::bound(&memory::Sizes {
            pictures: &pictures,
            geometry: &context.geometry,
            bins: SpectrumBins::new(&context.train, None),
            event_memory: self.event_memory(),
            most_clients,
            most_connections,
        })
    }

    fn threads(&self) -> usize {
        // Its output, the server, the looks, and what waits.
        3 + MOST_THREADS
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        let defaults = ViewOptions::new(context.instrument.clone(), context.geometry, context.train);
        let [most_clients, most_clients_of_one_address] = self.seats();
        let [most_connections, most_connections_of_one_address] = self.connections();
        let options = ViewOptions {
            picture_interval: self.interval.map_or(defaults.picture_interval, TimeSpan::to_std),
            address: self.address,
            event_memory: self.event_memory(),
            vetoes: context.vetoes.clone(),
            flight_path_m: self.flight_path.map(|length| length.metres),
            scattering_angle_deg: self.scattering_angle.map(|angle| angle.degrees),
            host_names: self.host_names,
            origins: self.origins,
            most_clients,
            most_clients_of_one_address,
            most_connections,
            most_connections_of_one_address,
            views: self.views,
            monitor: context.monitor.clone(),
            advice: context.advice.clone(),
            control: context.control.clone(),
            beam_monitors: context.ledger.beam_monitors.iter().map(|data| data.plan().clone()).collect(),
            pixel_ids: context.pixel_ids.clone(),
            placement: context.placement.clone(),
            detector: context.detector.clone(),
            at_start: Some(Arc::new(context.state_at_start())),
            ..defaults
        };
        let name = format!("live view at {}", self.address);
        let kept = context.kept.as_ref().and_then(|kept| kept.get::<LiveView>(&name));
        if let Some(view) = kept {
            view.show(options)?;
            return Ok(Box::new(view.sink().owning(view)));
        }
        let view = Arc::new(LiveView::start(options)?);
        if let Some(kept) = &context.kept {
            kept.keep(&name, Arc::clone(&view));
        }
        if let Some(warning) = view.warning() {
            context.notes.add(format!("warning: {warning}."));
        }
        Ok(Box::new(view.sink().owning(view)))
    }
}
