//! The answers to questions for what is known besides the events.

use super::board::known;
use super::of_run;
use super::state::MonitorSpectrum;
use crate::exports::npy_f8;
use crate::handlers::{Server, json};
use crate::page::{plain, with_type};
use crate::shared::Shared;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, Uri};
use std::fmt::Write as _;

pub(crate) async fn beam_json(State(server): State<Server>) -> Response<Body> {
    json(&known(&server.shared.beam, &server.shared.streams()))
}

pub(crate) async fn spectrum_json(State(server): State<Server>, uri: Uri) -> Response<Body> {
    answer(&server.shared, &uri, json)
}

pub(crate) async fn spectrum_csv(State(server): State<Server>, uri: Uri) -> Response<Body> {
    answer(&server.shared, &uri, |spectrum| {
        with_type(StatusCode::OK, "text/csv; charset=utf-8", Body::from(csv(spectrum)))
    })
}

pub(crate) async fn spectrum_npy(State(server): State<Server>, uri: Uri) -> Response<Body> {
    answer(&server.shared, &uri, |spectrum| {
        let lower = spectrum.edges.iter().copied().take(spectrum.counts.len());
        let all = lower.chain(spectrum.counts.iter().copied());
        let bytes = npy_f8([2, spectrum.counts.len()], all);
        with_type(StatusCode::OK, "application/octet-stream", Body::from(bytes))
    })
}

/// Answers with the spectrum that is asked for by its name; without one, with the first.
fn answer(
    shared: &Shared,
    uri: &Uri,
    make: impl FnOnce(&MonitorSpectrum) -> Response<Body>,
) -> Response<Body> {
    let query = uri.query().unwrap_or_default();
    let asked = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "name");
    let names: Vec<String> =
        known(&shared.beam, &shared.streams()).spectra.into_iter().map(|state| state.name).collect();
    let name = match asked {
        Some((_, name)) => name.into_owned(),
        None => names.first().cloned().unwrap_or_default(),
    };
    let told = || {
        let spectra = shared.beam.spectra();
        spectra.into_iter().find(|spectrum| spectrum.state.name == name).map(|found| (*found).clone())
    };
    let Some(spectrum) = of_run::find(&shared.streams(), &name).or_else(told) else {
        let text = if names.is_empty() {
            "there are no spectra of beam monitors (yet)\n".to_owned()
        } else {
            format!("there is no spectrum called {name:?}; there are: {}\n", names.join(", "))
        };
        return plain(StatusCode::NOT_FOUND, text);
    };
    if let Some(problem) = &spectrum.state.problem {
        return plain(StatusCode::CONFLICT, format!("{name}: {problem}\n"));
    }
    make(&spectrum)
}

fn csv(spectrum: &MonitorSpectrum) -> String {
    let mut text = String::from("from,to,counts\n");
    for (edges, count) in spectrum.edges.windows(2).zip(spectrum.counts.iter()) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{},{},{count}", edges[0], edges[1]);
    }
    text
}
