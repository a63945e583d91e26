//! How Kafka is reached: the same options for all commands, the keys of `[outputs.kafka]` by other means.

use clap::Args;
use evforge_kafka::client::{Brokers, ClientSettings, OptionValue};
use std::path::PathBuf;

/// The usual port.
const PORT: u16 = 9092;

/// Brokers, and how to talk to them.
#[derive(Args)]
pub(crate) struct ClientArguments {
    /// Brokers to begin with: HOST, HOST:PORT, or several with commas; localhost:9092 unless given
    #[arg(long, short = 'b', env = "EVFORGE_KAFKA_BROKERS", value_name = "BROKERS")]
    brokers: Option<Brokers>,
    /// Option of librdkafka, such as security.protocol=sasl_ssl; repeatable
    #[arg(long = "option", short = 'X', value_name = "KEY=VALUE", value_parser = option, help_heading = "Connection")]
    options: Vec<(String, String)>,
    /// Settings of the event formation unit: {"KafkaParms": [{"KEY": "VALUE"}, …]}
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    kafka_config: Option<PathBuf>,
    /// File with the password (sasl.password)
    #[arg(long, value_name = "FILE", conflicts_with = "password_env", help_heading = "Connection")]
    password_file: Option<PathBuf>,
    /// Variable of the environment with the password (sasl.password)
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    password_env: Option<String>,
}

impl ClientArguments {
    /// The broker of this host, unless a settings file may name others.
    fn otherwise(&self) -> Option<Brokers> {
        self.kafka_config.is_none().then(|| Brokers::from(("localhost", PORT)))
    }

    /// Whether they say where brokers are.
    pub(crate) fn names_brokers(&self) -> bool {
        self.brokers.is_some() || self.kafka_config.is_some()
    }

    /// The settings of the client.
    pub(crate) fn settings(&self) -> ClientSettings {
        ClientSettings {
            brokers: self.brokers.clone().or_else(|| self.otherwise()),
            options: self
                .options
                .iter()
                .map(|(key, value)| (key.clone(), OptionValue::Text(value.clone())))
                .collect(),
            kafka_config: self.kafka_config.clone(),
            password_file: self.password_file.clone(),
            password_env: self.password_env.clone(),
        }
    }
}

fn option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        // What stands there may be a password.
        _ => Err("expected KEY=VALUE, such as security.protocol=ssl".to_owned()),
    }
}
