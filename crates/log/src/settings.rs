//! The table `[log]`.

use crate::group::{Group, Level};
use crate::names::{UnknownName, groups_named, level_named};
use evforge_core::quantity::TimeSpan;
use evforge_core::settings::{RefusedValue, SettingsError};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// What standard error gets. `auto`: journald if standard error leads there, sentences for people elsewhere.
    pub format: Form,
    /// How much each group says: `levels.parse = "debug"`; `all` is every group.
    #[schemars(extend("x-range" = "a table: group = level", "x-default" = "`\"info\"`"))]
    pub levels: Levels,
    /// A file to which everything is added as JSON lines as well.
    pub file: Option<PathBuf>,
    /// How often the same is said in `repeat_time`; 0: always.
    pub repeats: u32,
    /// After this time a summary says how many were held back.
    #[schemars(extend("x-range" = "100 ms to 1 h"))]
    pub repeat_time: TimeSpan,
    /// Sends messages to Graylog; see below.
    pub gelf: Option<GelfSettings>,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: Form::Auto,
            levels: Levels::default(),
            file: None,
            repeats: 5,
            repeat_time: TimeSpan { picoseconds: 10_000_000_000_000 },
            gelf: None,
        }
    }
}

impl LogSettings {
    /// Checks the settings.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let time = self.repeat_time.to_std();
        if !(Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&time) {
            return SettingsError::refuse("log.repeat_time", format!("is {time:?}, expected 100ms to 1h"));
        }
        let Some(gelf) = &self.gelf else { return Ok(()) };
        if !(512..=65_000).contains(&gelf.chunk_bytes) {
            let problem =
                format!("is {}, expected 512 to 65000 (1420 for a usual network)", gelf.chunk_bytes);
            return SettingsError::refuse("log.gelf.chunk_bytes", problem);
        }
        if !(16..=1_000_000).contains(&gelf.queue) {
            let problem = format!("is {}, expected 16 to 1000000 messages", gelf.queue);
            return SettingsError::refuse("log.gelf.queue", problem);
        }
        Ok(())
    }
}

/// What standard error gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Journald if standard error leads there, sentences for people elsewhere.
    #[default]
    Auto,
    /// Sentences for people.
    Human,
    /// JSON, an object in each line.
    Json,
    /// Nothing: messages go to journald, by its own socket.
    Journald,
}

/// How much each group says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct Levels([Level; Group::ALL.len()]);

impl Default for Levels {
    fn default() -> Self {
        let mut levels = Self([Level::Info; Group::ALL.len()]);
        // Libraries inform of what nobody asked for.
        levels.0[Group::Other.index()] = Level::Warn;
        levels
    }
}

impl Levels {
    /// How much a group says.
    pub fn level(&self, group: Group) -> Level {
        self.0[group.index()]
    }

    /// All groups say at least this much.
    pub fn at_least(&mut self, level: Level) {
        self.0.iter_mut().for_each(|own| *own = (*own).max(level));
    }

    /// Takes words such as `kafka=debug,parse=trace` over the levels so far. A level alone is that of all groups.
    ///
    /// # Errors
    /// If there is no such group or level: which there are, and which was probably meant.
    pub fn take(&mut self, words: &str) -> Result<(), UnknownName> {
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (group, level) = word.split_once('=').unwrap_or(("all", word));
            self.set(group.trim(), level.trim())?;
        }
        Ok(())
    }

    fn set(&mut self, group: &str, level: &str) -> Result<(), UnknownName> {
        let groups = groups_named(group)?;
        let level = level_named(level)?;
        groups.iter().for_each(|group| self.0[group.index()] = level);
        Ok(())
    }
}

evforge_core::written_as! {
    Levels: |generator| {
        let level = Level::json_schema(generator);
        let groups = Group::ALL.iter().map(|group| group.name()).chain(["all"]);
        let groups: serde_json::Map<_, _> = groups.map(|group| (group.to_owned(), level.clone().to_value())).collect();
        json_schema!({ "type": "object", "properties": groups, "additionalProperties": false })
    };
    Level: |_generator| json_schema!({ "enum": Level::ALL.map(Level::name), "x-range": "a level" });
    GelfAddress: |_generator| evforge_core::schema::text(r"^(udp|tcp)://(\[[^\s/@\[\]]+\]|[^\s/@\[\]]+):\+?[0-9]{1,5}$", "");
}

impl TryFrom<BTreeMap<String, String>> for Levels {
    type Error = RefusedValue;

    fn try_from(table: BTreeMap<String, String>) -> Result<Self, RefusedValue> {
        let mut levels = Self::default();
        // That of all first, whatever the order.
        let (all, single): (Vec<_>, Vec<_>) = table.into_iter().partition(|(group, _)| group == "all");
        for (group, level) in all.into_iter().chain(single) {
            levels
                .set(&group, &level)
                .map_err(|error| SettingsError { key: group.clone(), problem: error.to_string() })?;
        }
        Ok(levels)
    }
}

/// `[log.gelf]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GelfSettings {
    /// Where Graylog listens, and by which protocol: `"udp://host:port"`, `"tcp://host:port"`.
    pub address: GelfAddress,
    /// How messages are compressed over UDP; over TCP they never are.
    #[serde(default)]
    pub compression: Compression,
    /// Bytes of a datagram. Larger messages are sent in up to 128 of them.
    #[serde(default = "chunk_bytes")]
    #[schemars(range(min = 512, max = 65_000), extend("x-unit" = "bytes"))]
    pub chunk_bytes: usize,
    /// Messages that may wait.
    #[serde(default = "queue")]
    #[schemars(range(min = 16, max = 1_000_000), extend("x-unit" = "messages"))]
    pub queue: usize,
    /// How much of what is said it gets.
    #[schemars(extend("default" = "info"))]
    #[serde(default)]
    pub level: Level,
    /// The name of this host.
    #[schemars(extend("x-default" = "that of the system"))]
    #[serde(default)]
    pub host: Option<String>,
}

fn chunk_bytes() -> usize {
    1420
}

fn queue() -> usize {
    4096
}

impl GelfSettings {
    /// With everything but the address as it is if nobody says anything.
    pub fn new(address: GelfAddress) -> Self {
        let (chunk_bytes, queue) = (chunk_bytes(), queue());
        Self {
            address,
            compression: Compression::default(),
            chunk_bytes,
            queue,
            level: Level::default(),
            host: None,
        }
    }
}

/// How messages are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// By zlib.
    #[default]
    Zlib,
    /// By gzip.
    Gzip,
    /// Not at all.
    None,
}

/// Where Graylog listens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct GelfAddress {
    /// By TCP; by UDP otherwise.
    pub is_tcp: bool,
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl FromStr for GelfAddress {
    type Err = RefusedValue;

    fn from_str(text: &str) -> Result<Self, RefusedValue> {
        let parse = || {
            let (protocol, rest) = text.split_once("://")?;
            let (host, port) = rest.rsplit_once(':')?;
            let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            let is_name =
                !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/@[]".contains(c));
            let is_tcp = match protocol {
                "tcp" => true,
                "udp" => false,
                _ => return None,
            };
            let port = port.parse().ok().filter(|port| *port > 0)?;
            is_name.then(|| Self { is_tcp, host: host.to_owned(), port })
        };
        parse().ok_or_else(|| {
            RefusedValue::new(format!(
                "{text:?} is no address of Graylog: expected udp://HOST:PORT or tcp://HOST:PORT, as udp://graylog:12201"
            ))
        })
    }
}

impl TryFrom<String> for GelfAddress {
    type Error = RefusedValue;

    fn try_from(text: String) -> Result<Self, RefusedValue> {
        text.parse()
    }
}

impl std::fmt::Display for GelfAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { is_tcp, host, port } = self;
        let protocol = if *is_tcp { "tcp" } else { "udp" };
        if host.contains(':') {
            return write!(f, "{protocol}://[{host}]:{port}");
        }
        write!(f, "{protocol}://{host}:{port}")
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        level_named(&name).map_err(|error| serde::de::Error::custom(RefusedValue::new(error.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["udp://graylog:12201", "tcp://192.168.0.1:1", "tcp://[fe80::1]:12201"] {
            assert_eq!(text.parse::<GelfAddress>().expect(text).to_string(), text);
        }
        for text in ["graylog:12201", "http://graylog:1", "udp://:1", "udp://a:0", "udp://a b:1", "udp://a"] {
            assert!(text.parse::<GelfAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn levels_are_taken_one_over_the_other() {
        let mut levels = Levels::default();
        levels.take("debug, kafka=error,parse=trace").expect("known");
        let of = |group| levels.level(group);
        assert_eq!(
            [of(Group::Run), of(Group::Kafka), of(Group::Parse)],
            [Level::Debug, Level::Error, Level::Trace]
        );
        assert!(levels.take("kafak=debug").is_err_and(|error| error.to_string().contains("`kafka`")));
    }
}
