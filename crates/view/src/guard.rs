//! Who may ask: requests must call this server by a name that is its own, and come from its own page or from none.
//!
//! A page from elsewhere can make a browser connect to any address, and with a name server of its own can make its own host name
//! mean that address (DNS rebinding). What it cannot do is send another `Host` than its own name, or hide its `Origin` when it opens
//! a WebSocket or sends something. Addresses as numbers are always fine: no name server is asked for them. That they are not compared
//! with those of this host is meant: behind a tunnel or a container it is called by others.
//!
//! An origin is a scheme, a name and a port, and all three must be right: a page of another port of the same host is a stranger.
//! Where a browser sends no origin (it fetches a picture or a script for a page), `Sec-Fetch-Site` says whether that page is ours.

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use std::net::IpAddr;

/// The names of this server, and the origins of pages that may use it besides its own.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    names: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    /// Knows `localhost`, this host's name and `names`; of pages, its own and `origins`, which are as [`origin`] gives them.
    pub(crate) fn new(names: &[String], origins: &[String]) -> Self {
        let mut names: Vec<String> = names.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        names.push("localhost".into());
        if let Ok(own) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            names.push(own.trim().to_ascii_lowercase());
        }
        names.retain(|name| !name.is_empty());
        let origins = origins.iter().filter_map(|text| origin(text)).collect();
        Self { names, origins }
    }

    /// The names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Judges a request by its headers, and by its target.
    ///
    /// # Errors
    /// A sentence for the person at the browser.
    pub(crate) fn admit(&self, headers: &HeaderMap, target: &Uri) -> Result<(), String> {
        let host = only(headers, &header::HOST)?
            .and_then(|value| value.parse::<Authority>().ok())
            .filter(|authority| !authority.as_str().contains('@'))
            .ok_or("the request does not say which host it wants (header Host)")?;
        if target.authority().is_some_and(|named| *named != host) {
            return Err(format!("the request is for {target}, and its header Host says {host}"));
        }
        if !self.knows(host.host()) {
            return Err(format!(
                "this live view is not called {0}. Call it by the address of its host (numbers) or as {1}. If {0} is a name of \
                 its host, allow it where evforge is started: --view-name {0}, or host_names = [\"{0}\"] in the output of the \
                 configuration",
                host.host(),
                self.names.join(", ")
            ));
        }
        match only(headers, &header::ORIGIN)? {
            None => Self::admit_without_origin(headers),
            Some(from) => self.admit_page(from, &host),
        }
    }

    fn admit_page(&self, from: &str, host: &Authority) -> Result<(), String> {
        let found = origin(from);
        let own = origin(&format!("http://{host}"));
        if found.is_some() && found == own || found.as_ref().is_some_and(|found| self.origins.contains(found))
        {
            return Ok(());
        }
        let remedy = match found {
            Some(found) => format!(
                ". If {found} is where a web server passes this live view on, allow it where evforge is started: \
                 --view-origin {found}, or origins = [\"{found}\"] in the output of the configuration"
            ),
            None => String::new(),
        };
        Err(format!(
            "pages from {from:?} may not use this live view: only its own page at http://{host} may{remedy}"
        ))
    }

    /// Programs say nothing of the page that asks, and browsers not always its origin.
    fn admit_without_origin(headers: &HeaderMap) -> Result<(), String> {
        let says = |name: &HeaderName| only(headers, name);
        let is_elsewhere = !matches!(says(&SITE)?, None | Some("same-origin" | "none"));
        // Somebody has followed a link: the page from elsewhere is left, and sees nothing of the answer.
        let is_followed = says(&MODE)? == Some("navigate") && says(&DESTINATION)? == Some("document");
        if is_elsewhere && !is_followed {
            return Err("another page may not take anything from this live view: open it by itself".into());
        }
        Ok(())
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

/// Which page a browser asks for, as it says itself, in relation to whom it asks.
static SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// How, and what for.
static MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
static DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The only value of a header, if it is there: of two of them nobody knows which one counts.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the request has the header {name} more than once"));
    }
    match value.to_str() {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(format!("the header {name} of the request is no text")),
    }
}

/// An origin in the one way of writing it: `scheme://name:port`, in small letters, the port only where the scheme has another. None
/// where it is none.
pub(crate) fn origin(text: &str) -> Option<String> {
    let (scheme, authority) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority: Authority = authority.parse().ok()?;
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return None;
    }
    let usual = match scheme.as_str() {
        name if name == Scheme::HTTP.as_str() => 80,
        name if name == Scheme::HTTPS.as_str() => 443,
        _ => return None,
    };
    let host = authority.host().to_ascii_lowercase();
    // A port that is no number is none: `host:` and `host:http` are no origins.
    match (authority.port_u16(), authority.as_str().len() == authority.host().len()) {
        (Some(port), _) if port != usual => Some(format!("{scheme}://{host}:{port}")),
        (Some(_), _) | (None, true) => Some(format!("{scheme}://{host}")),
        (None, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(headers: &[(&'static str, &str)]) -> Result<(), String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let guard = Guard::new(&["view.example.org".into()], &["HTTPS://Lab.example.org:443".into()]);
        guard.admit(&map, &Uri::from_static("/api/state.json"))
    }

    fn judge(host: &str, origin: Option<&str>) -> Result<(), String> {
        let origin = origin.map(|origin| ("origin", origin));
        judged(&[("host", host)].into_iter().chain(origin).collect::<Vec<_>>())
    }

    #[test]
    fn own_names_and_addresses_are_admitted() {
        for host in
            ["127.0.0.1:8080", "[::1]:8080", "localhost", "LOCALHOST:1", "view.example.org:80", "localhost."]
        {
            assert_eq!(judge(host, None), Ok(()), "{host}");
            assert_eq!(judge(host, Some(&format!("http://{host}"))), Ok(()), "{host}");
        }
        // The same in other letters, and with the port that everybody knows.
        assert_eq!(judge("View.example.org", Some("http://view.example.org:80")), Ok(()));
        // A web server with a certificate in front of it.
        assert_eq!(judge("view.example.org", Some("https://lab.example.org")), Ok(()));
    }

    #[test]
    fn foreign_names_and_pages_are_refused() {
        assert!(judged(&[]).is_err());
        let error = judge("evil.example:8080", None).unwrap_err();
        assert!(error.contains("not called evil.example") && error.contains("localhost"));
        for origin in [
            "http://evil.example",
            "null",
            "",
            // Another port, and another scheme, of the same host: strangers.
            "http://127.0.0.1:9999",
            "http://127.0.0.1",
            "https://127.0.0.1:8080",
            // A name of this host, at another port.
            "http://localhost:9999",
            "http://localhost:8080",
            "http://view.example.org:8080",
            "https://view.example.org",
            // Something that only begins or ends like it.
            "http://127.0.0.1:8080.evil.example",
            "http://127.0.0.1:8080@evil.example",
            "http://user@127.0.0.1:8080",
            "http://127.0.0.1:8080/",
            "http://127.0.0.1:808",
            "http://127.0.0.1:",
            "127.0.0.1:8080",
            "https://lab.example.org:8443",
            "http://lab.example.org",
        ] {
            let error = judge("127.0.0.1:8080", Some(origin)).unwrap_err();
            assert!(error.contains("may not use this live view"), "{origin}: {error}");
        }
        let error = judge("127.0.0.1:8080", Some("https://lab.example.org:8443")).unwrap_err();
        assert!(error.contains("--view-origin https://lab.example.org:8443, or origins = ["), "{error}");
    }

    #[test]
    fn what_is_said_twice_or_in_two_ways_is_refused() {
        let host = ("host", "localhost");
        assert!(judged(&[host, ("host", "evil.example")]).unwrap_err().contains("more than once"));
        let origins = [host, ("origin", "http://localhost"), ("origin", "http://evil.example")];
        assert!(judged(&origins).unwrap_err().contains("more than once"));
        assert!(judge("user@localhost", None).is_err());
        let mut headers = HeaderMap::new();
        headers.insert("host", "localhost:8080".parse().unwrap());
        let guard = Guard::new(&[], &[]);
        assert_eq!(guard.admit(&headers, &Uri::from_static("http://localhost:8080/")), Ok(()));
        let error = guard.admit(&headers, &Uri::from_static("http://evil.example/")).unwrap_err();
        assert!(error.contains("its header Host says localhost:8080"), "{error}");
    }

    #[test]
    fn a_page_from_elsewhere_takes_nothing_and_may_be_left_for_this_one() {
        let of = |site: &str, mode: &str, destination: &str| {
            judged(&[
                ("host", "localhost:8080"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", destination),
            ])
        };
        for site in ["cross-site", "same-site", "anything"] {
            assert!(of(site, "no-cors", "image").is_err(), "{site}");
            assert!(of(site, "no-cors", "script").is_err(), "{site}");
            assert!(of(site, "navigate", "iframe").is_err(), "{site}");
            assert_eq!(of(site, "navigate", "document"), Ok(()), "{site}");
        }
        for site in ["same-origin", "none"] {
            assert_eq!(of(site, "no-cors", "image"), Ok(()), "{site}");
        }
    }
}
