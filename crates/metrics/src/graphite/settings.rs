//! `[outputs.graphite]`.

use super::buffer::GraphiteCounters;
use super::output::{GraphiteOutput, Target};
use crate::reading::in_path;
use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::output::Output;
use evforge_core::quantity::{ByteSize, TimeSpan};
use evforge_outputs::{OutputContext, OutputPlan, QueueSettings};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::error::Error;
use std::time::Duration;

/// The shortest interval: a state of the run comes once a second.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST: Duration = Duration::from_secs(3600);

/// Paths of Graphite: words with dots in between.
const PATH: &str = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$";

/// The keys of `[outputs.graphite]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphiteSettings {
    /// Where carbon listens for lines: "graphite.example.org:2003". The name is looked up at every attempt to connect.
    #[serde(deserialize_with = "host_and_port")]
    #[schemars(regex(pattern = r"^\S+:\+?[0-9]{1,5}$"), extend("x-unit" = "host:port"))]
    pub address: String,
    /// What every path begins with.
    #[serde(default, deserialize_with = "some_path")]
    #[schemars(regex(pattern = PATH), length(max = 200), extend("x-default" = "`efu.`, the name of the detector's section, and the region"))]
    pub prefix: Option<String>,
    /// Which part of an instrument this is, where several programs serve one: the last word of the prefix.
    #[serde(default, deserialize_with = "some_path")]
    #[schemars(regex(pattern = PATH), length(max = 200))]
    pub region: Option<String>,
    /// Time between values. It should be that of carbon's `storage-schemas.conf`.
    #[serde(default = "interval", deserialize_with = "an_interval")]
    #[schemars(extend("x-range" = "1 s to 1 h"))]
    pub interval: TimeSpan,
    /// Most bytes of lines that are kept while carbon is away; the oldest are dropped first.
    #[serde(default = "buffer")]
    pub buffer: ByteSize,
    /// Whether the metrics of the host and of this process are sent as well.
    #[serde(default = "yes")]
    pub host: bool,
}

fn interval() -> TimeSpan {
    TimeSpan { picoseconds: 1_000_000_000_000 }
}

fn buffer() -> ByteSize {
    ByteSize { bytes: 16_000_000 }
}

fn yes() -> bool {
    true
}

fn host_and_port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_good = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = bare.map_or(!host.is_empty() && !host.contains(':'), |host| !host.is_empty());
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if is_good && !text.contains(char::is_whitespace) {
        return Ok(text);
    }
    Err(D::Error::custom(format!(
        "`address`: {text:?} is no host and port, as in \"graphite.example.org:2003\""
    )))
}

fn some_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if text.len() <= 200 && text.split('.').all(word) {
        return Ok(Some(text));
    }
    Err(D::Error::custom(format!(
        "{text:?} is no path of Graphite: words of letters, digits, `_` and `-` with dots in between, 200 characters at most"
    )))
}

fn an_interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TimeSpan, D::Error> {
    let time = TimeSpan::deserialize(deserializer)?;
    if (SHORTEST..=LONGEST).contains(&time.to_std()) {
        return Ok(time);
    }
    Err(D::Error::custom(format!("`interval` is {time}; it must be 1s to 1h")))
}

impl GraphiteSettings {
    /// What every path begins with, for a detector whose section is called so.
    pub fn prefix(&self, detector: &str) -> String {
        let prefix = self.prefix.clone().unwrap_or_else(|| format!("efu.{}", in_path(detector)));
        match &self.region {
            Some(region) => format!("{prefix}.{region}"),
            None => prefix,
        }
    }
}

impl OutputPlan for GraphiteSettings {
    fn name(&self) -> String {
        format!("counters to Graphite at {}", self.address)
    }

    fn queue(&self) -> QueueSettings {
        // It looks at no event: what waits is nothing to it.
        QueueSettings { finish_within: Duration::from_secs(3), ..QueueSettings::PICTURE }
    }

    fn counters(&self) -> Vec<CounterInfo> {
        GraphiteCounters::infos().to_vec()
    }

    fn memory_bound(&self, _: &OutputContext) -> usize {
        usize::try_from(self.buffer.bytes).unwrap_or(usize::MAX)
    }

    fn threads(&self) -> usize {
        2
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        let target = Target {
            prefix: self.prefix(&context.detector),
            interval: self.interval.to_std(),
            buffer: self.memory_bound(context),
            host: self.host,
            address: self.address,
        };
        Ok(Box::new(GraphiteOutput::start(target, context)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GraphiteSettings, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn the_prefix_is_that_of_the_reference() {
        let settings = read("address = 'localhost:2003'").unwrap();
        assert_eq!(settings.prefix("ess_nmx"), "efu.ess_nmx");
        let settings = read("address = '[::1]:2003'\nregion = '2'").unwrap();
        assert_eq!(settings.prefix("ess_nmx"), "efu.ess_nmx.2");
        let settings = read("address = '10.0.0.1:2003'\nprefix = 'lab.efu'\nregion = 'top'").unwrap();
        assert_eq!((settings.prefix("x").as_str(), settings.host), ("lab.efu.top", true));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_would_be_right() {
        for (text, words) in [
            ("address = 'graphite'", "graphite.example.org:2003"),
            ("address = ':2003'", "host and port"),
            ("address = 'a b:2003'", "host and port"),
            ("address = 'a:0'", "host and port"),
            ("address = 'a:1'\nprefix = 'a..b'", "no path of Graphite"),
            ("address = 'a:1'\nregion = 'a b'", "no path of Graphite"),
            ("address = 'a:1'\ninterval = '10ms'", "1s to 1h"),
            ("address = 'a:1'\nport = 1", "unknown field"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
