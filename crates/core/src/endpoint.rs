//! Hosts and ports as people write them: `127.0.0.1:6006`, `[::1]:6006`, `localhost:6006`.
//!
//! Names are looked up by the system's resolver. If it knows several addresses, the first IPv4 one is taken: evforge receives at
//! IPv4 addresses unless it is told otherwise, and `localhost` is most often ::1 first.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The address and port in `text`.
///
/// # Errors
/// What is missing or wrong, with an example of what would be right.
pub fn endpoint(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    // An IPv6 address has colons of its own, and needs brackets before a port.
    if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Err(no_port(text, &SocketAddr::new(address, 6006).to_string()));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some(parts) => parts,
        None if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Err(format!("`{text}` is a port without a host: write 127.0.0.1:{text}"));
        }
        None if text.is_empty() => return Err("expected HOST:PORT, such as 127.0.0.1:6006".to_owned()),
        None => return Err(no_port(text, &format!("{text}:6006"))),
    };
    if host.is_empty() {
        return Err(format!("`{text}` has no host: write 127.0.0.1{text}"));
    }
    if port.is_empty() {
        return Err(no_port(text, &format!("{host}:6006")));
    }
    let port: u16 = port.parse().map_err(|_| {
        format!("`{text}`: `{port}` is no port: expected a number from 0 to 65535 behind the colon")
    })?;
    host_of(host).map(|address| SocketAddr::new(address, port)).map_err(|why| format!("`{text}`: {why}"))
}

/// The address of the host in `text`, which has no port.
///
/// # Errors
/// What is wrong, with an example of what would be right.
pub fn host(text: &str) -> Result<IpAddr, String> {
    let has_port = |name: &str, port: &str| !name.contains(':') && port.parse::<u16>().is_ok();
    if text.parse::<SocketAddr>().is_ok()
        || text.rsplit_once(':').is_some_and(|(name, port)| has_port(name, port))
    {
        return Err(format!("`{text}` has a port, which is not expected here: give the address alone"));
    }
    host_of(text).map_err(|why| format!("`{text}`: {why}"))
}

fn no_port(text: &str, with_one: &str) -> String {
    format!("`{text}` has no port: add one, as in {with_one}")
}

fn host_of(name: &str) -> Result<IpAddr, String> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if let Ok(address) = bare.parse() {
        return Ok(address);
    }
    let is_numeric = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if name.is_empty() || is_numeric {
        return Err(
            "expected four numbers up to 255 with dots between them, or the name of a host".to_owned()
        );
    }
    let found = (name, 0).to_socket_addrs().map_err(|error| {
        format!(
            "the host `{name}` is not known here ({error}): check its name, or give its address in numbers"
        )
    })?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    let first = found.iter().find(|address| address.is_ipv4()).or_else(|| found.first());
    first.copied().ok_or_else(|| format!("the host `{name}` has no address"))
}

/// An [`endpoint`] in a configuration: `#[serde(with = "HostAndPort")]`.
pub enum HostAndPort {}

crate::written_as! {
    HostAndPort: |_generator| crate::schema::text(r"^.+:\+?[0-9]{1,5}$", "host:port");
}

impl HostAndPort {
    /// Reads one.
    ///
    /// # Errors
    /// As [`endpoint`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
        endpoint(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }

    /// Writes one.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(address: &SocketAddr, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_taken() {
        for (text, address) in [
            ("127.0.0.1:6006", "127.0.0.1:6006"),
            ("[::1]:6006", "[::1]:6006"),
            ("localhost:6006", "127.0.0.1:6006"),
            ("LOCALHOST:0", "127.0.0.1:0"),
        ] {
            assert_eq!(endpoint(text).unwrap().to_string(), address, "{text}");
        }
        assert_eq!(host("localhost").unwrap().to_string(), "127.0.0.1");
        assert_eq!(host("::1").unwrap(), host("[::1]").unwrap());
    }

    #[test]
    fn what_is_missing_is_named_with_what_would_be_right() {
        for (text, said) in [
            ("localhost", "`localhost` has no port: add one, as in localhost:6006"),
            ("10.0.0.2", "`10.0.0.2` has no port: add one, as in 10.0.0.2:6006"),
            ("::1", "`::1` has no port: add one, as in [::1]:6006"),
            ("[::1]", "`[::1]` has no port: add one, as in [::1]:6006"),
            ("8080", "`8080` is a port without a host: write 127.0.0.1:8080"),
            (":8080", "`:8080` has no host: write 127.0.0.1:8080"),
            ("localhost:", "`localhost:` has no port: add one, as in localhost:6006"),
            ("localhost:http", "`http` is no port"),
            ("localhost:70000", "`70000` is no port"),
            ("10.0.0.256:1", "four numbers up to 255"),
            ("", "expected HOST:PORT"),
            ("no-such-host.invalid:1", "the host `no-such-host.invalid` is not known here"),
        ] {
            let error = endpoint(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        for with_port in ["127.0.0.1:80", "[::1]:80", "localhost:80"] {
            assert!(host(with_port).unwrap_err().contains("has a port"), "{with_port}");
        }
        assert!(host("").unwrap_err().contains("expected"));
    }
}
