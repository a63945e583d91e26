//! The settings of a client, as they are written in a configuration or on a command line.

use super::{Brokers, ClientError, OptionValue, is_secret, kafka_config, secret};
use evforge_core::suggestion::did_you_mean;
use evforge_core::whole_file;
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// What every client is set to, unless the settings say otherwise. A broker that is back is found within a second, and an answer that
/// was given up, with its connection, is asked for again as soon.
const OURS: [(&str, &str); 3] =
    [("client.id", "evforge"), ("reconnect.backoff.ms", "50"), ("reconnect.backoff.max.ms", "1000")];
/// What the names of the times of reconnecting begin with.
const RECONNECTING: &str = "reconnect.";
/// What librdkafka calls the brokers. They have a key of their own.
const BROKERS: [&str; 2] = ["bootstrap.servers", "metadata.broker.list"];
/// Options that most people look for, to suggest one for a word that is none.
const KNOWN: [&str; 32] = [
    "acks",
    "allow.auto.create.topics",
    "batch.num.messages",
    "batch.size",
    "broker.address.family",
    "client.id",
    "compression.codec",
    "compression.level",
    "compression.type",
    "enable.idempotence",
    "enable.ssl.certificate.verification",
    "fetch.message.max.bytes",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "message.max.bytes",
    "message.timeout.ms",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "receive.message.max.bytes",
    "request.timeout.ms",
    "retries",
    "sasl.mechanism",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "socket.keepalive.enable",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "statistics.interval.ms",
];

/// How Kafka is reached. The keys may be in a table with others (`#[serde(flatten)]`).
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClientSettings {
    /// The brokers to begin with. Port 9092 unless said otherwise.
    pub brokers: Option<Brokers>,
    /// Options of librdkafka by their names: `{ "security.protocol" = "ssl" }`. A value may be `{ file = "…" }` or `{ env = "…" }`. They take
    /// precedence over `kafka_config`.
    pub options: BTreeMap<String, OptionValue>,
    /// A settings file of the event formation unit.
    pub kafka_config: Option<PathBuf>,
    /// A file with the password (`sasl.password`).
    pub password_file: Option<PathBuf>,
    /// The variable of the environment that has the password.
    pub password_env: Option<String>,
}

impl ClientSettings {
    /// The keys.
    pub const KEYS: [&'static str; 5] =
        ["brokers", "options", "kafka_config", "password_file", "password_env"];

    /// Settings with these brokers and nothing else.
    pub fn new(brokers: Brokers) -> Self {
        Self { brokers: Some(brokers), ..Self::default() }
    }

    /// What a client of librdkafka is made with: `defaults` first, which these settings override. Options are checked, and what
    /// is in files and variables is read; no broker is asked.
    ///
    /// # Errors
    /// Which key is wrong, and why; never the value of a secret.
    pub fn config(&self, defaults: &[(&str, &str)]) -> Result<ClientConfig, ClientError> {
        let mut pairs: BTreeMap<String, String> =
            defaults.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let mut brokers = self.brokers.clone();
        if let Some(path) = &self.kafka_config {
            for (key, value) in kafka_config::read(path)? {
                match BROKERS.contains(&key.as_str()) {
                    true => brokers = Some(brokers.map_or_else(|| parse_brokers(&key, &value), Ok)?),
                    false => drop(pairs.insert(key, value)),
                }
            }
        }
        for (key, value) in &self.options {
            if BROKERS.contains(&key.as_str()) {
                return Err(ClientError::settings(format!(
                    "options: `{key}` is the key `brokers` of the table itself"
                )));
            }
            pairs.insert(key.clone(), value.resolve(key)?);
        }
        // One of the times of reconnecting may not fit the other of ours.
        let sets_reconnecting = pairs.keys().any(|key| key.starts_with(RECONNECTING));
        for (key, value) in OURS {
            if !(sets_reconnecting && key.starts_with(RECONNECTING)) {
                pairs.entry(key.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        if let Some(password) = self.password()? {
            pairs.insert("sasl.password".to_owned(), password);
        }
        let Some(brokers) = brokers else {
            let why = match &self.kafka_config {
                None => "no broker is given: brokers = \"HOST:9092\"".to_owned(),
                Some(file) => format!(
                    "no broker is given: neither by `brokers`, nor by bootstrap.servers in {}",
                    file.display()
                ),
            };
            return Err(ClientError::settings(why));
        };
        pairs.insert(BROKERS[0].to_owned(), brokers.to_string());
        // librdkafka would say that some file is missing, and not which; and it would read a device without end.
        for (key, path) in
            pairs.iter().filter(|(key, _)| key.starts_with("ssl.") && key.ends_with(".location"))
        {
            let is_read_elsewhere = |found: std::fs::Metadata| found.is_dir() || found.file_type().is_fifo();
            if path != "probe"
                && !std::fs::metadata(path).is_ok_and(is_read_elsewhere)
                && let Err(error) = whole_file::bytes(Path::new(path), whole_file::SETTINGS)
            {
                return Err(ClientError::settings(format!("option `{key}`: {path} cannot be read: {error}")));
            }
        }
        let mut config: ClientConfig = pairs.into_iter().collect();
        // Whether it is said is decided by what listens to it, not by a logger that this program does not have.
        config.set_log_level(RDKafkaLogLevel::Info);
        config.create_native_config().map_err(|error| refused(&error))?;
        Ok(config)
    }

    fn password(&self) -> Result<Option<String>, ClientError> {
        let is_option = self.options.contains_key("sasl.password");
        match (&self.password_file, &self.password_env) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(ClientError::settings("password_file and password_env are both given: leave one out"))
            }
            _ if is_option => Err(ClientError::settings(
                "the password is given twice: leave out the option sasl.password, or password_file and password_env",
            )),
            (Some(file), None) => secret::from_file("password_file", file).map(Some),
            (None, Some(name)) => secret::from_environment("password_env", name).map(Some),
        }
    }

    /// The brokers as text: of the key, or of the settings file.
    pub fn brokers_text(&self) -> String {
        match &self.brokers {
            Some(brokers) => brokers.to_string(),
            None => "the brokers of kafka_config".to_owned(),
        }
    }

    /// Keys and values as they may be shown to anybody, in order.
    pub fn shown(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        shown.extend(self.brokers.iter().map(|brokers| ("brokers".to_owned(), brokers.to_string())));
        let path = |key: &str, path: &Option<PathBuf>| {
            path.as_ref().map(|path| (key.to_owned(), path.display().to_string()))
        };
        shown.extend(path("kafka_config", &self.kafka_config));
        shown.extend(path("password_file", &self.password_file));
        shown.extend(self.password_env.iter().map(|name| ("password_env".to_owned(), name.clone())));
        shown
            .extend(self.options.iter().map(|(key, value)| (format!("options.\"{key}\""), value.shown(key))));
        shown
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.shown()).finish()
    }
}

fn parse_brokers(key: &str, value: &str) -> Result<Brokers, ClientError> {
    value.parse().map_err(|problem| ClientError::settings(format!("kafka_config: {key}: {problem}")))
}

/// Why librdkafka does not take an option.
fn refused(error: &KafkaError) -> ClientError {
    let KafkaError::ClientConfig(_, why, key, value) = error else {
        return ClientError::settings(format!("the options are refused: {error}"));
    };
    if why.starts_with("No such configuration property") {
        return ClientError::settings(format!(
            "there is no option `{key}`{} librdkafka's CONFIGURATION.md lists all",
            did_you_mean(key, KNOWN)
        ));
    }
    // What librdkafka says may have the value in it.
    let hidden = is_secret(key);
    let why = if hidden { why.replace(value.as_str(), "…") } else { why.clone() };
    let value = if hidden { "(not shown)" } else { value };
    ClientError::settings(format!("option `{key}` cannot be \"{value}\": {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> ClientSettings {
        toml::from_str(text).expect("settings")
    }

    #[test]
    fn options_of_all_origins_reach_the_client_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(
            at("efu.json"),
            r#"{"KafkaParms": [{"queue.buffering.max.ms": "100"}, {"fetch.message.max.bytes": "10000000"},
                {"message.timeout.ms": "600000"}, {"metadata.broker.list": "ignored:1"}]}"#,
        )
        .unwrap();
        std::fs::write(at("password"), "s3cret\n").unwrap();
        let text = format!(
            "brokers = ['a', 'b:9093']\nkafka_config = '{}'\npassword_file = '{}'\n\
             [options]\n'queue.buffering.max.ms' = 5\n'socket.keepalive.enable' = true\n'ssl.key.password' = {{ file = '{}' }}",
            at("efu.json").display(),
            at("password").display(),
            at("password").display()
        );
        let settings = settings(&text);
        let config = settings.config(&[("queue.buffering.max.ms", "1"), ("acks", "all")]).unwrap();
        for (key, value) in [
            ("bootstrap.servers", "a:9092,b:9093"),
            ("queue.buffering.max.ms", "5"),
            ("message.timeout.ms", "600000"),
            ("acks", "all"),
            ("sasl.password", "s3cret"),
            ("ssl.key.password", "s3cret"),
            ("client.id", "evforge"),
        ] {
            assert_eq!(config.get(key), Some(value), "{key}");
        }
        assert!(!format!("{settings:?} {:?}", settings.shown()).contains("s3cret"));
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    #[test]
    fn either_time_of_reconnecting_may_be_set_alone() {
        let [first, most] = ["reconnect.backoff.ms", "reconnect.backoff.max.ms"];
        let config = |options: &str| {
            settings(&format!("brokers = 'a'\noptions = {{ {options} }}")).config(&[]).expect("settings")
        };
        assert_eq!(config("").get(most), Some("1000"));
        assert_eq!(config(&format!("'{first}' = 5000")).get(first), Some("5000"));
        assert_eq!(config(&format!("'{most}' = 20")).get(most), Some("20"));
    }

    #[test]
    fn what_is_wrong_is_named_without_secrets() {
        for (text, words) in [
            ("", "brokers = "),
            ("brokers = 'a'\noptions = { 'linger.mss' = 5 }", "did you mean `linger.ms`?"),
            ("brokers = 'a'\noptions = { 'acks' = 'some' }", "`acks`"),
            ("brokers = 'a'\noptions = { 'bootstrap.servers' = 'b' }", "`brokers`"),
            ("brokers = 'a'\npassword_env = 'EVFORGE_NOT_SET'", "EVFORGE_NOT_SET"),
            ("brokers = 'a'\npassword_env = 'A'\npassword_file = 'b'", "both"),
            ("brokers = 'a'\npassword_file = '/none'\noptions = { 'sasl.password' = 'hid' }", "twice"),
            ("brokers = 'a'\npassword_file = '/none/such'", "/none/such"),
            ("brokers = 'a'\nkafka_config = '/none/such'", "/none/such"),
            ("brokers = 'a'\noptions = { 'sasl.passwort' = 'hidden' }", "did you mean `sasl.password`?"),
        ] {
            let error = settings(text).config(&[]).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("hidden"), "{text}: {error}");
        }
    }

    #[test]
    fn a_table_with_other_keys_may_hold_them() {
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Table {
            topic: String,
            #[serde(flatten)]
            client: ClientSettings,
        }
        let table: Table = toml::from_str(
            "topic = 't'\nbrokers = 'a'\noptions = { 'sasl.password' = 'hidden', 'linger.ms' = 5 }",
        )
        .unwrap();
        assert_eq!(table.topic, "t");
        assert_eq!(table.client.brokers_text(), "a:9092");
        assert!(!format!("{table:?}").contains("hidden"));
        let error = toml::from_str::<Table>("topic = 't'\nbroker = 'a'").unwrap_err();
        assert!(error.message().contains("unknown field `broker`"), "{error}");
        for (text, words) in [
            ("topic = 't'\nbrokers = 3", "brokers: expected"),
            ("topic = 't'\nbrokers = 'a:x'", "`x` is no port"),
            ("topic = 't'\nbrokers = 'a'\noptions = { a = [1] }", "options: expected"),
        ] {
            let error = toml::from_str::<Table>(text).unwrap_err();
            assert!(error.message().contains(words), "{error}");
        }
    }
}
