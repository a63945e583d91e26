//! A request to every path, as the document has it.

use super::routes::routes;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Path and query.
    pub address: String,
    /// The body; empty where there is none.
    pub body: &'static str,
    /// Whether it changes something, and needs the token.
    pub changes: bool,
}

/// The example of every path.
pub fn samples() -> Vec<Sample> {
    let sample = |route: &'static super::route::Route| {
        let (address, options) = route.example;
        let body = options
            .split_once("-d '")
            .and_then(|(_, rest)| rest.split_once('\''))
            .map_or("", |(body, _)| body);
        Sample { method: route.method.name(), address: format!("/{address}"), body, changes: route.changes }
    };
    routes().map(sample).collect()
}
