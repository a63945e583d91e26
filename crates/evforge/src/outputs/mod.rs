//! Where a run's events go: the tables `[outputs.…]` of the configuration, the options that are short forms of them, and
//! what is made of both.

mod file_names;
mod image;
mod plan;

pub(crate) use file_names::fill as fill_file_names;
pub(crate) use image::ImageCounters;
pub(crate) use plan::{OutputPlans, file_schemas};

use crate::arguments::OverwriteArguments;
use crate::output::{Ending, write_file};
use crate::page_address::page_text;
use crate::same_file::NamedFiles;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use evforge_config::Config;
use evforge_control::Token;
use evforge_core::endpoint::endpoint;
use evforge_core::output::Output;
use evforge_core::time::Clock;
use evforge_kafka::producer::KafkaSettings;
use evforge_log::{console, group};
use evforge_metrics::graphite::GraphiteSettings;
use evforge_net::host_health::HostHealthReader;
use evforge_outputs::QueueSettings;
use evforge_outputs::Registry;
use evforge_outputs::csv::CsvSettings;
use evforge_outputs::frames::FramesSettings;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::monitor_tap::{MonitorTap, monitor_json};
use evforge_pipeline::report::RunReport;
use evforge_pipeline::samples::SampleFile;
use evforge_stream::nexus::NexusSettings;
use evforge_view::ViewSettings;
use image::ImageSettings;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use toml::Value;

/// What to do with an existing NeXus file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfExists {
    /// Do not begin
    Refuse,
    /// Replace it
    Overwrite,
    /// Write run-1.nxs and so on instead
    Number,
}

impl IfExists {
    /// As it is written in a configuration.
    fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Overwrite => "overwrite",
            Self::Number => "number",
        }
    }
}

/// Takes names of files that can stand in a configuration: what is no text would become the name of another file there.
pub(crate) fn text_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| match name.into_string() {
        Ok(name) => Ok(PathBuf::from(name)),
        Err(name) => Err(format!("the name {name:?} is not UTF-8: choose another one")),
    })
}

/// Options of where events go: short forms of the tables `[outputs.…]`.
#[derive(Args, Default)]
pub(crate) struct OutputArguments {
    /// Write the events as CSV: time_ns,pixel_id … [configuration: outputs.csv.file]
    #[arg(long, env = "EVFORGE_EVENTS", value_name = "FILE", value_parser = text_path())]
    pub(crate) events: Option<PathBuf>,
    /// Write the frames of a readout that tells them as CSV: time, period, vetoes, charge and so on [configuration:
    /// outputs.frames.file]
    #[arg(long, env = "EVFORGE_FRAMES", value_name = "FILE", value_parser = text_path(), help_heading = "More outputs")]
    pub(crate) frames: Option<PathBuf>,
    /// Write the events as NeXus (HDF5) [configuration: outputs.nexus.file]
    #[arg(long, env = "EVFORGE_NEXUS", value_name = "FILE", value_parser = text_path())]
    pub(crate) nexus: Option<PathBuf>,
    /// Send the events to Kafka: BROKERS or BROKERS/TOPIC [configuration: outputs.kafka]
    #[arg(long, value_name = "BROKERS")]
    pub(crate) kafka: Option<String>,
    /// What to do if the NeXus file exists; refuse, unless the configuration sets something else [configuration:
    /// outputs.nexus.if_exists]
    #[arg(long, value_enum, help_heading = "More outputs")]
    pub(crate) if_exists: Option<IfExists>,
    /// Show the events live in the browser, at this address [configuration: outputs.view.address]
    #[arg(long, env = "EVFORGE_VIEW", value_name = "HOST:PORT", value_parser = endpoint)]
    pub(crate) view: Option<SocketAddr>,
    /// A further name by which browsers may call this host; repeatable
    /// [configuration: outputs.view.host_names]
    #[arg(
        long = "view-name",
        env = "EVFORGE_VIEW_NAME",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "More outputs"
    )]
    pub(crate) view_names: Vec<String>,
    /// Where a web server in front of the live view passes it on (https://view.example.org); may be given several times
    /// [configuration: outputs.view.origins]
    #[arg(
        long = "view-origin",
        env = "EVFORGE_VIEW_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        help_heading = "More outputs"
    )]
    pub(crate) view_origins: Vec<String>,
    /// Write the end-of-run report as JSON [configuration: outputs.report.file]
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE", value_parser = text_path())]
    pub(crate) report: Option<PathBuf>,
    /// Write the detector image as PNG [configuration: outputs.image.file]
    #[arg(long, env = "EVFORGE_IMAGE", value_name = "FILE", value_parser = text_path())]
    pub(crate) image: Option<PathBuf>,
    /// Collect monitor data from the start and write it as JSON at the end: readouts and amplitudes per channel,
    /// sizes of clusters, amplitudes of both planes, clusters without a partner, sampled tracks [configuration: outputs.monitor.file]
    #[arg(long, env = "EVFORGE_MONITOR", value_name = "FILE", value_parser = text_path(), help_heading = "More outputs")]
    pub(crate) monitor: Option<PathBuf>,
    /// Write the averaged waveforms of sampled channels as CSV: channel,time_ns,mean; needs [adc_readout.averaging] in the
    /// configuration [configuration: outputs.samples.file]
    #[arg(long, env = "EVFORGE_SAMPLES", value_name = "FILE", value_parser = text_path(), help_heading = "More outputs")]
    pub(crate) samples: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: OverwriteArguments,
}

impl OutputArguments {
    /// What is to be done with NeXus files that exist, if the options say it.
    fn if_exists(&self) -> Option<IfExists> {
        self.if_exists.or(self.overwrite.overwrite.then_some(IfExists::Overwrite))
    }

    /// The short forms: option, name of the output, key, value.
    fn short_forms(&self) -> Vec<(&'static str, &'static str, &'static str, String)> {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let kafka = self.kafka.as_deref().map(|text| text.split_once('/').unwrap_or((text, "")));
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let given = [
            ("--kafka", "kafka", "brokers", kafka.map(|(brokers, _)| brokers.to_owned())),
            ("--kafka", "kafka", "topic", kafka.and_then(|(_, topic)| text(topic))),
            ("--events", "csv", "file", file(&self.events)),
            ("--frames", "frames", "file", file(&self.frames)),
            ("--nexus", "nexus", "file", file(&self.nexus)),
            ("--if-exists", "nexus", "if_exists", self.if_exists().map(|what| what.name().to_owned())),
            ("--view", "view", "address", self.view.map(|address| address.to_string())),
            ("--report", "report", "file", file(&self.report)),
            ("--image", "image", "file", file(&self.image)),
            ("--monitor", "monitor", "file", file(&self.monitor)),
            ("--samples", "samples", "file", file(&self.samples)),
        ];
        given.into_iter().filter_map(|(option, id, key, value)| Some((option, id, key, value?))).collect()
    }

    /// Puts what the options say into the tables of the configuration.
    pub(crate) fn apply(&self, config: &mut Config) {
        let has_nexus = self.nexus.is_some() || config.outputs.contains_key("nexus");
        for (_, id, key, value) in self.short_forms() {
            // What to do with a file that exists is no matter where there is none.
            if key != "if_exists" || has_nexus {
                config.set_output(id, key, value);
            }
        }
        Self::add_to_views(config, ("--view-name", "EVFORGE_VIEW_NAME"), "host_names", &self.view_names);
        Self::add_to_views(config, ("--view-origin", "EVFORGE_VIEW_ORIGIN"), "origins", &self.view_origins);
        // Further NeXus files, which no option names.
        let is_nexus = |table: &Value| table.get("kind").and_then(Value::as_str) == Some("nexus");
        let others = config.outputs.iter().filter(|(id, table)| *id != "nexus" && is_nexus(table));
        let others: Vec<String> = others.map(|(id, _)| id.clone()).collect();
        for id in others.iter().filter(|_| self.overwrite.overwrite) {
            config.set_output(id, "if_exists", IfExists::Overwrite.name().to_owned());
        }
    }

    /// Adds what an option, or its variable of the environment, says to what each live view has already.
    fn add_to_views(config: &mut Config, (option, variable): (&str, &str), key: &str, given: &[String]) {
        let is_view = |id: &str, table: &Value| {
            table.get("kind").map_or(id == "view", |kind| kind.as_str() == Some("view"))
        };
        let views: Vec<String> = config
            .outputs
            .iter()
            .filter(|(id, table)| is_view(id, table))
            .map(|(id, _)| id.clone())
            .collect();
        if given.is_empty() {
            return;
        }
        if views.is_empty() && std::env::var_os(variable).is_none() {
            tracing::warn!(target: group::VIEW, "{option} changes nothing: there is no live view (--view HOST:PORT).");
        }
        for id in &views {
            let mut values = match config.outputs.get(id).and_then(|table| table.get(key)) {
                // What is no list is refused where the table is read.
                Some(Value::Array(values)) => values.clone(),
                Some(_) => continue,
                None => Vec::new(),
            };
            values.extend(given.iter().cloned().map(Value::String));
            config.set_output(id, key, values);
        }
    }

    /// Adds the files that the options name to those of a command.
    pub(crate) fn name(&self, mut files: NamedFiles) -> NamedFiles {
        for (option, _, key, value) in self.short_forms() {
            if key == "file" {
                // Whether they exist is asked with the tables, which may have rules.
                files = files.kept_output(option, Some(&PathBuf::from(value)));
            }
        }
        files
    }

    /// How people call the output `id`: by the option that they gave, or by its table.
    fn label(&self, id: &str) -> String {
        let given = self.short_forms().into_iter().find(|(_, of, key, _)| *of == id && *key != "if_exists");
        given.map_or_else(|| format!("[outputs.{id}]"), |(option, ..)| option.to_owned())
    }
}

/// The outputs of a run, open, and what is written at its end.
pub(crate) struct Outputs {
    /// The outputs, to be handed to the run.
    pub(crate) events: Vec<(String, Box<dyn Output>, QueueSettings)>,
    /// Where averaged waveforms go, to be handed to the run.
    pub(crate) samples: Option<SampleFile>,
    /// The monitor data of the run.
    pub(crate) monitor: MonitorTap,
    /// Where outputs get raw packets from, to be handed to the run.
    pub(crate) packets: PacketTap,
    /// The clock of the run.
    pub(crate) clock: Arc<dyn Clock>,
    /// Clock and disks of the host, to be handed to the run.
    pub(crate) health: HostHealthReader,
    report: Option<PathBuf>,
    monitor_file: Option<PathBuf>,
    page: Option<SocketAddr>,
    /// The token of the page, if it was made for this run.
    token: Option<Arc<Token>>,
}

impl Outputs {
    /// Where the page is, if there is one: "http://…". On a terminal the token is behind it; nowhere else, as what is not for a
    /// terminal may be kept.
    pub(crate) fn page(&self, to: &impl IsTerminal) -> Option<String> {
        let token = self.token.as_ref().filter(|_| to.is_terminal());
        self.page.map(|address| page_text(address, token.map(|token| token.reveal())))
    }

    /// Says where the page is. The token stands in what a person reads at a terminal, and nowhere else.
    pub(crate) fn tell_page(&self, quiet: bool) {
        let Some(address) = self.page else { return };
        let plain = page_text(address, None);
        let with_token = self.page(&std::io::stderr()).filter(|text| *text != plain && !quiet);
        tracing::info!(target: group::VIEW, unshown = with_token.is_some(), "live view at {plain}");
        if let Some(text) = with_token {
            // A terminal that has gone away is no reason to stop.
            let _ = console::write(&format!("live view at {text}\n"));
        }
    }

    /// The port of the page.
    pub(crate) fn page_port(&self) -> Option<u16> {
        self.page.map(|address| address.port())
    }

    /// Writes what is written at the end: all of it, whatever fails.
    pub(crate) fn finish(self, report: &RunReport, ending: &mut Ending) {
        ending.write_json("the report", self.report.as_deref(), &report.to_json());
        if let (Some(path), Some(monitor)) = (&self.monitor_file, self.monitor.latest()) {
            let json = format!("{}\n", monitor_json(&monitor));
            ending.attempt(write_file("the monitor data", path, json.as_bytes()));
        }
    }
}

/// The kinds of outputs that evforge comes with. Others are added with [`Registry::with`] and given to
/// [`main_with`](crate::main_with).
pub fn shipped_outputs() -> Registry {
    Registry::default()
        .with::<NexusSettings>("nexus", "events in a NeXus file")
        .with::<CsvSettings>("csv", "events as text, a line for each")
        .with::<FramesSettings>("frames", "frames as text, a line for each")
        .with::<ViewSettings>("view", "pictures, rates and the ledger in the browser")
        .with::<KafkaSettings>("kafka", "events as messages in a topic of Apache Kafka")
        .with::<GraphiteSettings>("graphite", "counters of the run and the host as lines for Graphite")
        .with::<ImageSettings>("image", "the detector image as PNG, at the end")
}
