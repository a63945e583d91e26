//! The paths of what is known besides the events.

use super::route::{Answer, Content, Method, Parameter, Route};
use crate::beam::handlers;
use axum::routing::on;

const NAME: Option<&[Parameter]> = Some(&[Parameter {
    name: "name",
    meaning: "which monitor",
    range: "a `name` of `spectra` in `/api/beam.json`",
    default: "the first",
}]);

const UNKNOWN: Answer = Answer::words(404, "there is none of this name; the answer lists those there are");
const PROBLEM: Answer = Answer::words(409, "it cannot be shown as a spectrum; the answer says why");

const JSON: &[Answer] = &[Answer::json("there is such a spectrum"), UNKNOWN, PROBLEM];
const CSV: &[Answer] = &[
    Answer { status: 200, content_type: "text/csv; charset=utf-8", when: "there is such a spectrum" },
    UNKNOWN,
    PROBLEM,
];
const BINARY: &[Answer] = &[
    Answer { status: 200, content_type: "application/octet-stream", when: "there is such a spectrum" },
    UNKNOWN,
    PROBLEM,
];

const SPECTRUM: Route = Route {
    method: Method::Get,
    path: "/api/monitor-spectrum.json",
    changes: false,
    body: None,
    purpose: "The spectrum of a beam monitor, as the run or messages (da00, hs00, hs01) tell it.",
    parameters: NAME,
    content: Content::Object("MonitorSpectrum"),
    answers: JSON,
    example: ("api/monitor-spectrum.json", ""),
    handler: |method| on(method, handlers::spectrum_json),
};

pub(super) const BEAM: &[Route] = &[
    Route {
        path: "/api/beam.json",
        purpose: "What is known besides the events: values of logs, pulses and their charge, spectra of beam monitors, what runs tell of themselves. It is `known` of the state, too.",
        parameters: Some(&[]),
        content: Content::Object("BeamState"),
        answers: &[Answer::json("always")],
        example: ("api/beam.json", ""),
        handler: |method| on(method, handlers::beam_json),
        ..SPECTRUM
    },
    SPECTRUM,
    Route {
        path: "/api/monitor-spectrum.csv",
        purpose: "The same for spreadsheets.",
        content: Content::Other("lines of the beginning and the end of a bin, and its value"),
        answers: CSV,
        example: ("api/monitor-spectrum.csv", ""),
        handler: |method| on(method, handlers::spectrum_csv),
        ..SPECTRUM
    },
    Route {
        path: "/api/monitor-spectrum.npy",
        purpose: "The same for NumPy.",
        content: Content::Other("an array of two rows (the lower edges of the bins, their values), doubles"),
        answers: BINARY,
        example: ("api/monitor-spectrum.npy", " --output monitor.npy"),
        handler: |method| on(method, handlers::spectrum_npy),
        ..SPECTRUM
    },
];
