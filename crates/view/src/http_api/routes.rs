//! All paths of the live view but those of [`control_routes`](super::control_routes).

use super::route::{Answer, Content, Method, Parameter, Route};
use crate::{handlers, history, monitor};
use axum::routing::on;

const NONE: Option<&[Parameter]> = Some(&[]);

const NO_MONITOR: Answer =
    Answer::words(404, "the view was started without monitor data, as that of `drop receive` is");

const HISTORY: Option<&[Parameter]> = Some(&[
    Parameter {
        name: "series",
        meaning: "which series; it may be there up to 16 times; encoded as usual in addresses",
        range: "an `id` of `/api/series.json`, or a `name` that only one of them has",
        default: "none: it must be there",
    },
    Parameter {
        name: "from",
        meaning: "the beginning: milliseconds since the Unix epoch; with a minus sign, before `to`",
        range: "whole numbers; before `to`",
        default: "-600000",
    },
    Parameter {
        name: "to",
        meaning: "the end, in the same way; with a minus sign, before the end of the newest second",
        range: "whole numbers",
        default: "the end of the newest second",
    },
    Parameter {
        name: "points",
        meaning: "how many points a series may have: the finest step is taken that has no more",
        range: "2 to 4000",
        default: "600",
    },
]);

const NO_TIME: Answer = Answer::words(
    400,
    "a parameter is missing or makes no sense; the answer says which, and what it must be",
);

const NO_SERIES: Answer = Answer::words(404, "there is no such series, or several have that name");

/// Every path, in the order of the document.
pub(super) fn routes() -> impl Iterator<Item = &'static Route> {
    SHOWN
        .iter()
        .chain(super::look_routes::LOOKS)
        .chain(super::beam_routes::BEAM)
        .chain(super::control_routes::CONTROL)
        .chain(PAGE)
}

const SHOWN: &[Route] = &[
    Route {
        method: Method::Get,
        path: "/api/health",
        changes: false,
        body: None,
        purpose: "Whether the live view is there. For programs that wait for a run, or watch over it.",
        parameters: NONE,
        content: Content::Object("Health"),
        answers: &[Answer::json("always")],
        example: ("api/health", ""),
        handler: |method| on(method, handlers::health),
    },
    Route {
        method: Method::Get,
        path: "/api/state.json",
        changes: false,
        body: None,
        purpose: "Totals, rates and losses, all streams together and each: what the page shows next to the pictures.",
        parameters: NONE,
        content: Content::Object("State"),
        answers: &[Answer::json("always; before the first packet, too")],
        example: ("api/state.json", ""),
        handler: |method| on(method, handlers::state),
    },
    Route {
        method: Method::Get,
        path: "/api/pictures.json",
        changes: false,
        body: None,
        purpose: "Which pictures there are, and how many events are in each.",
        parameters: NONE,
        content: Content::List("PictureSum"),
        answers: &[Answer::json("always")],
        example: ("api/pictures.json", ""),
        handler: |method| on(method, handlers::pictures),
    },
    Route {
        method: Method::Get,
        path: "/api/image.bin",
        changes: false,
        body: None,
        purpose: "All pictures and the spectrum as numbers in binary: much smaller and faster to read than JSON.",
        parameters: NONE,
        content: Content::Other("a [frame](#frames)"),
        answers: &[Answer { status: 200, content_type: "application/octet-stream", when: "always" }],
        example: ("api/image.bin", " --output image.bin"),
        handler: |method| on(method, handlers::image_bin),
    },
    Route {
        method: Method::Get,
        path: "/api/series.json",
        changes: false,
        body: None,
        purpose: "Which series there are: everything that is counted of the run, of this program and of its host, with a value each second.",
        parameters: NONE,
        content: Content::Object("SeriesList"),
        answers: &[Answer::json("always; in the first seconds it is empty")],
        example: ("api/series.json", ""),
        handler: |method| on(method, history::handlers::series),
    },
    Route {
        method: Method::Get,
        path: "/api/history.json",
        changes: false,
        body: None,
        purpose: "Series over a time, as minimum, mean and maximum of each step: a spike of one second is as high in a step of an hour. Steps of seconds are kept for an hour, minutes for 48 hours.",
        parameters: HISTORY,
        content: Content::Object("HistoryAnswer"),
        answers: &[Answer::json("all of the series are there"), NO_TIME, NO_SERIES],
        example: ("api/history.json?series=evforge_view_events_total&from=-60000", ""),
        handler: |method| on(method, history::handlers::history_json),
    },
    Route {
        method: Method::Get,
        path: "/api/history.csv",
        changes: false,
        body: None,
        purpose: "The same as a table, with a column for each minimum, mean and maximum.",
        parameters: HISTORY,
        content: Content::Other(
            "a table: a line for each step in which a series has a point, with the beginning of the step in milliseconds since the Unix epoch; a cell is empty where there is none",
        ),
        answers: &[
            Answer {
                status: 200,
                content_type: "text/csv; charset=utf-8",
                when: "all of the series are there",
            },
            NO_TIME,
            NO_SERIES,
        ],
        example: ("api/history.csv?series=evforge_view_events_total&from=-60000", " --output history.csv"),
        handler: |method| on(method, history::handlers::history_csv),
    },
    Route {
        method: Method::Get,
        path: "/api/live",
        changes: false,
        body: None,
        purpose: "The WebSocket from which the page has everything while it changes.",
        parameters: NONE,
        content: Content::Other("[messages](#websocket)"),
        answers: &[
            Answer { status: 101, content_type: "", when: "from then on it is a WebSocket" },
            Answer::words(
                400,
                "the request does not ask for a WebSocket of version 13: it is plain HTTP, for example",
            ),
            Answer::words(503, "too many browsers are watching already, all together or from one address"),
        ],
        example: (
            "api/live",
            " --include --max-time 1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
             -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='",
        ),
        handler: |method| on(method, handlers::live),
    },
    Route {
        method: Method::Get,
        path: "/metrics",
        changes: false,
        body: None,
        purpose: "Every counter of the run, of this program and of its host, for Prometheus: [metrics](metrics.md).",
        parameters: NONE,
        content: Content::Other(
            "text in the format of Prometheus, or of OpenMetrics for whoever accepts that",
        ),
        answers: &[
            Answer {
                status: 200,
                content_type: "text/plain; version=0.0.4; charset=utf-8",
                when: "always; before the first packet, too",
            },
            Answer {
                status: 200,
                content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
                when: "the header `Accept` asks for `application/openmetrics-text`",
            },
        ],
        example: ("metrics", ""),
        handler: |method| on(method, handlers::metrics),
    },
    Route {
        method: Method::Get,
        path: "/monitor.json",
        changes: false,
        body: None,
        purpose: "The monitor data: readouts and amplitudes per channel, clusters, sampled tracks.",
        parameters: NONE,
        content: Content::Object("MonitorAnswer"),
        answers: &[Answer::json("there is a detector to monitor"), NO_MONITOR],
        example: ("monitor.json", ""),
        handler: |method| on(method, monitor::data),
    },
    Route {
        method: Method::Post,
        path: "/monitor/on",
        changes: true,
        body: None,
        purpose: "Begins to collect monitor data, for everybody who looks. Switching it on again changes nothing.",
        parameters: NONE,
        content: Content::Object("MonitorAnswer"),
        answers: &[Answer::json("it is on"), NO_MONITOR],
        example: ("monitor/on", ""),
        handler: |method| on(method, monitor::on),
    },
    Route {
        method: Method::Post,
        path: "/monitor/off",
        changes: true,
        body: None,
        purpose: "Ends that, and forgets what has been collected.",
        parameters: NONE,
        content: Content::Object("MonitorAnswer"),
        answers: &[
            Answer::json("it is off"),
            NO_MONITOR,
            Answer::words(
                409,
                "the run writes its monitor data to a file at its end (`--monitor FILE`): they stay on",
            ),
        ],
        example: ("monitor/off", ""),
        handler: |method| on(method, monitor::off),
    },
    Route {
        method: Method::Get,
        path: "/api/openapi.json",
        changes: false,
        body: None,
        purpose: "All of this for programs: an OpenAPI document of version 3.1.",
        parameters: NONE,
        content: Content::Other("an OpenAPI document"),
        answers: &[Answer::json("always")],
        example: ("api/openapi.json", ""),
        handler: |method| on(method, handlers::openapi),
    },
];

/// The page: whatever is none of the others.
const PAGE: &[Route] = &[
    Route {
        method: Method::Get,
        path: "/",
        changes: false,
        body: None,
        purpose: "The page.",
        parameters: None,
        content: Content::Other("HTML"),
        answers: &[
            Answer { status: 200, content_type: "text/html; charset=utf-8", when: "always" },
            NOT_MODIFIED,
        ],
        example: ("", " --head"),
        handler: |method| on(method, handlers::file),
    },
    Route {
        method: Method::Get,
        path: "/{*file}",
        changes: false,
        body: None,
        purpose: "The files that the page names: every other path.",
        parameters: None,
        content: Content::Other("the file"),
        answers: &[
            Answer { status: 200, content_type: "that of the file", when: "the page has such a file" },
            NOT_MODIFIED,
            Answer::words(404, "it has not"),
        ],
        example: ("index.html", " --head"),
        handler: |method| on(method, handlers::file),
    },
];

const NOT_MODIFIED: Answer = Answer {
    status: 304,
    content_type: "",
    when: "`If-None-Match` has the `ETag` of the file: it has not changed",
};

/// What every path may answer.
pub(super) const EVERYWHERE: &[Answer] = &[
    Answer::words(400, "a parameter that this path does not have; the answer lists those that it has"),
    Answer::words(
        403,
        "the request calls the server by a name that is not its own, or comes from another page: [who may ask](#who-may-ask)",
    ),
    Answer::words(
        405,
        "the path is there, but for another method, which the header `Allow` and the answer name",
    ),
    Answer::words(
        503,
        "too many connections are open, and this one is then closed; or too many large answers are on their way, and `Retry-After` says when to ask again",
    ),
];

/// What paths below `/api/control` may answer, and those that change something.
pub(super) const GUARDED: &[Answer] = &[
    Answer::refusal(400, "the body is not the object that is expected, or something in it makes no sense"),
    Answer::refusal(
        401,
        "it changes something, and the request has no token or a wrong one: [the token](#the-token)",
    ),
    Answer::refusal(403, "it changes something, and this page was started without a way to change anything"),
    Answer::refusal(404, "there is no such path, or this page shows something else than a run"),
    Answer::refusal(405, "the path is there, but for another method"),
    Answer::refusal(408, "the body does not come in time; the connection is then closed"),
    Answer::refusal(409, "it was understood, and cannot be done in this run, or not now"),
    Answer::refusal(413, "the body is too large; the connection is then closed"),
    Answer::refusal(
        429,
        "too many requests, or too many wrong tokens, have come from this address; `Retry-After` says when to ask again",
    ),
    Answer::refusal(503, "the run did not come to the request in time, or too many requests are worked on"),
];
