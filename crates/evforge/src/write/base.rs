//! What is in a file before anything of its structure is made: nothing, a template, or the static part of a detector's file.

use crate::CommandError;
use crate::configuration::read_configuration;
use crate::outputs::{OutputArguments, OutputPlans};
use evforge_config::Config;
use evforge_filewriter::detector::structure_of_detector;
use evforge_filewriter::file::Base;
use evforge_filewriter::job::{Bases, PlainBases, SaidBase};
use evforge_kafka::client::ClientSettings;
use evforge_kafka::producer::{Destinations, KafkaSettings};
use evforge_outputs::{OutputContext, Registry, read_keys};
use evforge_stream::nexus::NexusOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// What a job says of its base, so that it can be had again after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Said {
    /// Nothing, or a file that is copied.
    Plain(SaidBase),
    /// The configuration of a detector.
    Configuration {
        /// Its file, next to which those are that it names.
        path: PathBuf,
        /// Its text, with what was overridden.
        text: String,
    },
}

/// Makes bases from what jobs say.
#[derive(Debug)]
pub(super) struct SaidBases;

impl Bases for SaidBases {
    fn base(&self, said: &Value) -> Result<Base, String> {
        match serde_json::from_value(said.clone()).map_err(|error| error.to_string())? {
            Said::Plain(_) => PlainBases.base(said),
            Said::Configuration { path, text } => {
                let config = Config::parse(&path, &text, &[]).map_err(|error| error.to_string())?;
                let options = Detector::of(&config).map_err(|error| error.to_string())?.options;
                Ok(Base::Detector(Box::new(options)))
            }
        }
    }
}

/// The file of a detector.
pub(super) struct Detector {
    pub(super) options: NexusOptions,
    context: OutputContext,
}

impl Detector {
    fn of(config: &Config) -> Result<Self, CommandError> {
        let registry = Registry::default();
        let mut quiet = config.clone();
        quiet.outputs.clear();
        let plans = OutputPlans::read(&OutputArguments::default(), &quiet, &registry)?;
        let context = plans.context(&quiet)?;
        let options = NexusOptions::new("", &context.instrument, context.geometry)
            .with_beam_monitors(&context.ledger.beam_monitors);
        let options = NexusOptions {
            run: context.run.clone(),
            placement: context.placement.clone(),
            vetoes: context.vetoes.clone(),
            configuration: context.configuration.clone(),
            ..options
        };
        Ok(Self { options, context })
    }
}

/// What a configuration says of a detector's file.
pub(super) struct FromConfiguration {
    pub(super) said: Said,
    pub(super) structure: Value,
    /// How Kafka is reached, by its table.
    pub(super) client: ClientSettings,
}

/// Reads a configuration. Its table `[outputs.kafka]` says where events are; `sources` take the place of those that it names.
///
/// # Errors
/// What is wrong with it.
pub(super) fn from_configuration(
    path: &std::path::Path,
    overrides: &[String],
    sources: &[String],
    client: &ClientSettings,
) -> Result<FromConfiguration, CommandError> {
    let config = read_configuration(path, overrides)?;
    let detector = Detector::of(&config)?;
    let mut table = match config.outputs.get("kafka") {
        Some(toml::Value::Table(table)) => table.clone(),
        _ => toml::Table::new(),
    };
    table.remove("kind");
    for key in ["queue_events", "queue_memory", "when_full", "finish_within"] {
        table.remove(key);
    }
    if !table.contains_key("brokers") && !table.contains_key("kafka_config") {
        // Of use only to read the other keys: where brokers are is said on the command line.
        table.insert("brokers".into(), client.brokers_text().into());
    }
    let settings: KafkaSettings =
        read_keys(table).map_err(|error| config.explain(&error.within("outputs.kafka")))?;
    let mut from: Destinations = settings.destinations(&detector.context);
    if !sources.is_empty() {
        from.sources = sources.to_vec();
    }
    Ok(FromConfiguration {
        structure: structure_of_detector(&detector.options, &from),
        said: Said::Configuration {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            text: config.text.clone(),
        },
        client: settings.client().clone(),
    })
}
