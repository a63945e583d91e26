//! The key `brokers`: one, or a list, by name or number.

use serde::de::{Deserialize, Deserializer, Error};
use std::fmt;
use std::str::FromStr;

/// The port of a broker that is given without one.
const PORT: u16 = 9092;

/// The brokers that a client begins with; these tell it all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brokers(Vec<(String, u16)>);

impl Brokers {
    /// Hosts (IPv6 addresses without brackets) and ports.
    pub fn hosts(&self) -> &[(String, u16)] {
        &self.0
    }
}

impl From<(&str, u16)> for Brokers {
    fn from((host, port): (&str, u16)) -> Self {
        Self(vec![(host.to_owned(), port)])
    }
}

impl fmt::Display for Brokers {
    /// As librdkafka takes them: with ports, and commas between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (host, port)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match host.contains(':') {
                true => write!(f, "{comma}[{host}]:{port}")?,
                false => write!(f, "{comma}{host}:{port}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Brokers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = text.split(',').map(|one| broker(one.trim())).collect::<Result<Vec<_>, _>>()?;
        Ok(Self(all))
    }
}

fn broker(text: &str) -> Result<(String, u16), String> {
    if text.is_empty() {
        return Err("a broker is missing: expected HOST or HOST:PORT, such as localhost:9092".to_owned());
    }
    if let Some((protocol, rest)) = text.split_once("://") {
        return Err(format!(
            "`{text}`: give the host alone, `{rest}`; encryption and names are set by the option security.protocol, here \
             perhaps \"{}\"",
            protocol.to_lowercase()
        ));
    }
    // An IPv6 address has colons of its own, and needs brackets before a port.
    if let Ok(address) = text.trim_matches(['[', ']']).parse::<std::net::Ipv6Addr>() {
        return Ok((address.to_string(), PORT));
    }
    let (host, port) = match text.rsplit_once(':') {
        None => (text, PORT),
        Some((host, port)) => match port.parse::<u16>() {
            Ok(port) if port > 0 => (host, port),
            _ => {
                return Err(format!(
                    "`{text}`: `{port}` is no port: expected a number from 1 to 65535 behind the colon"
                ));
            }
        },
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() || host.contains(|letter: char| letter.is_whitespace() || "/@[]\"'".contains(letter)) {
        return Err(format!("`{text}` is no broker: expected HOST or HOST:PORT, such as localhost:9092"));
    }
    Ok((host.to_owned(), port))
}

evforge_core::written_as! {
    Brokers: |_generator| schemars::json_schema!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        "x-range": "`\"HOST:PORT\"`, several with commas, or a list",
    });
}

impl<'de> Deserialize<'de> for Brokers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(
            untagged,
            expecting = "brokers: expected a text such as \"localhost:9092\", or a list of them"
        )]
        enum Written {
            One(String),
            Several(Vec<String>),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::One(text) => text,
            Written::Several(texts) => texts.join(","),
        };
        text.parse().map_err(|problem| D::Error::custom(format!("brokers: {problem}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_lists_are_taken() {
        for (text, said) in [
            ("localhost", "localhost:9092"),
            ("10.1.2.3:19092", "10.1.2.3:19092"),
            ("a.facility.eu, b:9093", "a.facility.eu:9092,b:9093"),
            ("::1", "[::1]:9092"),
            ("[::1]:9093", "[::1]:9093"),
        ] {
            assert_eq!(text.parse::<Brokers>().unwrap().to_string(), said);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("", "HOST:PORT"),
            ("a,,b", "missing"),
            ("a:http", "`http` is no port"),
            ("a:0", "1 to 65535"),
            ("SSL://a:9093", "security.protocol"),
            (":9092", "is no broker"),
            ("a b", "is no broker"),
            ("user@host", "is no broker"),
        ] {
            let error = text.parse::<Brokers>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
