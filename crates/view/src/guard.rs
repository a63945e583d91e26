//! Who may ask: requests must call this server by a name that is its own.
//!
//! A page from elsewhere can make a browser connect to any address, and with a name server of its own can
//! make its own host name mean that address (DNS rebinding). What it cannot do is send another `Host` than
//! its own name, or hide its `Origin` when it opens a WebSocket. Addresses as numbers are always fine: no
//! name server is asked for them.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use std::net::IpAddr;

/// The names of this server.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    names: Vec<String>,
}

impl Guard {
    /// Knows `localhost`, this host's name and `names`.
    pub(crate) fn new(names: &[String]) -> Self {
        let mut names: Vec<String> = names.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        names.push("localhost".into());
        if let Ok(own) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            names.push(own.trim().to_ascii_lowercase());
        }
        names.retain(|name| !name.is_empty());
        Self { names }
    }

    /// The names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Judges a request by its headers.
    ///
    /// # Errors
    /// A sentence for the person at the browser.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), String> {
        let host = headers
            .get(header::HOST)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.parse::<Authority>().ok())
            .ok_or("the request does not say which host it wants (header Host)")?;
        if !self.knows(host.host()) {
            return Err(format!(
                "this live view is not called {0}. Call it by the address of its host (numbers) or as {1}. If {0} is a name of \
                 its host, allow it where evforge is started: --view-name {0}, or host_names = [\"{0}\"] in the output of the \
                 configuration",
                host.host(),
                self.names.join(", ")
            ));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default();
        let authority = origin.parse::<Uri>().ok().and_then(|uri| uri.authority().cloned());
        match authority {
            Some(from) if from == host || self.is_listed(from.host()) => Ok(()),
            _ => Err(format!(
                "pages from {origin:?} may not use this live view: only its own page at {host} may"
            )),
        }
    }

    fn knows(&self, host: &str) -> bool {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        bare.parse::<IpAddr>().is_ok() || self.is_listed(host)
    }

    fn is_listed(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.names.contains(&host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(host: Option<&str>, origin: Option<&str>) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        Guard::new(&["view.example.org".into()]).admit(&headers)
    }

    #[test]
    fn own_names_and_addresses_are_admitted() {
        for host in ["127.0.0.1:8080", "[::1]:8080", "localhost", "LOCALHOST:1", "view.example.org:80"] {
            assert_eq!(judge(Some(host), None), Ok(()), "{host}");
            assert_eq!(judge(Some(host), Some(&format!("http://{host}"))), Ok(()), "{host}");
        }
    }

    #[test]
    fn foreign_names_and_pages_are_refused() {
        assert!(judge(None, None).is_err());
        let error = judge(Some("evil.example:8080"), None).unwrap_err();
        assert!(error.contains("not called evil.example") && error.contains("localhost"));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:9999", ""] {
            assert!(judge(Some("127.0.0.1:8080"), Some(origin)).is_err(), "{origin}");
        }
    }
}
