//! A client of the HTTP interface of a run: one request after the other, and errors in words.

use crate::CommandError;
use crate::control::{TOKEN, token_file};
use evforge_control::Token;
use evforge_core::printable::printable;
use serde_json::Value;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Response, Uri};

/// The interface that this program knows.
const API: u64 = 1;
/// Longer than a run takes for anything but its end.
const PATIENCE: Duration = Duration::from_secs(120);
/// Nobody who listens takes so long to take a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer: a page with more counters there is not.
const LARGEST_ANSWER: u64 = 64 << 20;

/// The run that is asked.
pub(super) struct Client {
    agent: Agent,
    /// `http://HOST:PORT`.
    url: String,
    token: Option<Token>,
}

impl Client {
    /// For the page at `url`. The token is in `file`, or in the environment, or where a run of the same user has left it.
    ///
    /// # Errors
    /// If the address is none, or the token cannot be read.
    pub(super) fn new(url: &str, file: Option<&PathBuf>) -> Result<Self, CommandError> {
        let url = url.trim_end_matches('/');
        let (url, uri) = parse(url)?;
        let token = match (file, std::env::var_os(TOKEN)) {
            (Some(file), _) => Some(Token::read(file)?),
            (None, Some(text)) => Some(Token::new(&text.to_string_lossy(), TOKEN)?),
            (None, None) => left_here(&uri),
        };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_global(Some(PATIENCE))
            // What the environment says of proxies is for other servers than a run.
            .proxy(None)
            .max_redirects(0)
            .build();
        Ok(Self { agent: agent.into(), url, token })
    }

    /// Asks for something.
    ///
    /// # Errors
    /// Why there is no answer, or why it is refused.
    pub(super) fn get(&self, path: &str) -> Result<Value, CommandError> {
        let request = self.agent.get(format!("{}{path}", self.url));
        self.answer(path, request.call())
    }

    /// Asks for a change.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, CommandError> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {}", token.reveal()));
        }
        let request = request.header("Content-Type", "application/json");
        self.answer(path, request.send(body.to_string()))
    }

    fn answer(
        &self,
        path: &str,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<Value, CommandError> {
        let mut answer = answer.map_err(|error| self.unreachable(&error))?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_string();
        let text = text.map_err(|error| self.unreachable(&error))?;
        let value: Option<Value> = serde_json::from_str(&text).ok();
        match value {
            Some(value) if status < 300 => Ok(value),
            Some(value) if value["error"].is_object() => Err(self.refused(&value).into()),
            _ => Err(self.of_another(path, status, &text).into()),
        }
    }

    /// Nobody answers.
    fn unreachable(&self, error: &ureq::Error) -> String {
        let url = &self.url;
        match error {
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => format!(
                "no run answers at {url}: nothing listens there. Is it running, with a page (evforge run --view HOST:PORT)? Say \
                 where its page is: --url http://HOST:PORT"
            ),
            ureq::Error::Timeout(_) => {
                format!(
                    "the run at {url} has not answered in time ({error}): look at its page, or at its terminal"
                )
            }
            error => format!(
                "the run at {url} cannot be asked: {error}. Say where its page is: --url http://HOST:PORT"
            ),
        }
    }

    /// The run has said no.
    fn refused(&self, answer: &Value) -> String {
        let error = &answer["error"];
        let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        let (message, remedy) = (text("message"), text("remedy"));
        let each = answer["changes"].as_array().map_or_else(String::new, |changes| {
            let taken = changes.iter().filter(|change| change["taken"].is_object()).count();
            format!(" ({taken} of {} changes hold)", changes.len())
        });
        match error["code"].as_str() {
            Some("no_token") => format!(
                "{message}, and none was found: name the file with --token-file or put it into {TOKEN}. It is what follows \
                 #token= in the address that the run said when it started"
            ),
            Some("wrong_token") => format!(
                "{message} at {}: it may have been started again since. Take the new one (--token-file, {TOKEN})",
                self.url
            ),
            _ => format!("{message}{each}: {remedy}"),
        }
    }

    /// Whatever answers is not what is expected: another program, or an older one.
    fn of_another(&self, path: &str, status: u16, text: &str) -> String {
        let health = self.agent.get(format!("{}/api/health", self.url)).call().ok();
        let health = health.and_then(|mut answer| answer.body_mut().read_to_string().ok());
        let health: Value = health.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let url = &self.url;
        match (health["version"].as_str(), health["api"].as_u64()) {
            (Some(version), Some(api)) if api == API => format!(
                "evforge {version} at {url} has no {path}: it is older than this one ({}). Take the evforge that the run was \
                 started with",
                env!("CARGO_PKG_VERSION")
            ),
            (Some(version), Some(api)) => format!(
                "evforge {version} at {url} has version {api} of its interface, and this one knows version {API}: take the \
                 evforge that the run was started with"
            ),
            _ => {
                let shown = printable(text, 80);
                format!(
                    "what answers at {url} is no run of evforge (status {status}, {shown:?}): say where it is with --url"
                )
            }
        }
    }
}

/// `http://HOST:PORT`; without `http://`, it is added.
fn parse(url: &str) -> Result<(String, Uri), CommandError> {
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    // What a browser keeps to itself.
    let full = full.split('#').next().unwrap_or_default().trim_end_matches('/').to_owned();
    let wrong = || format!("--url {url}: expected http://HOST:PORT, as in http://127.0.0.1:8080");
    let uri: Uri = full.parse().map_err(|_| wrong())?;
    if uri.scheme_str() != Some("http") || uri.host().is_none() || !matches!(uri.path(), "" | "/") {
        return Err(wrong().into());
    }
    Ok((full, uri))
}

/// The token that a run of this user on this host has left. It is for no other host.
fn left_here(uri: &Uri) -> Option<Token> {
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if !is_here {
        return None;
    }
    let places = token_file::places(uri.port_u16().unwrap_or(80));
    let own = places.iter().filter(|path| path.parent().is_some_and(token_file::is_own));
    own.filter_map(|path| Token::read(path).ok()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (given, url) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://localhost:1/", "http://localhost:1"),
            ("http://[::1]:80/#token=secret", "http://[::1]:80"),
        ] {
            assert_eq!(parse(given).expect(given).0, url);
        }
        for wrong in ["https://localhost", "http://", "ftp://x", "http://x/y", "a b"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(left_here(&"http://192.0.2.1:8080".parse().expect("an address")).is_none());
    }
}
