//! The answers to requests for `/api`.

use crate::answers::{Health, PictureSum};
use crate::at_work::at_work;
use crate::client::{self, Seat};
use crate::control::door::{Door, Peer};
use crate::control::refused::Refused;
use crate::looks::worker::Update;
use crate::memory::{LONGEST_MESSAGE, SOCKET_BUFFER};
use crate::page::{self, plain};
use crate::protocol::{API_VERSION, PictureState};
use crate::shared::Shared;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;
use evforge_core::seats::NoneLeft;
use evforge_metrics::Format;
use evforge_picture::{Image, PicturePlan};
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::watch;

/// What answers are made from.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) door: Arc<Door>,
    /// The document of the paths for programs, as text: it is made from the paths, which need the handlers.
    pub(crate) openapi: Bytes,
    pub(crate) updates: watch::Receiver<Update>,
    pub(crate) shutdown: watch::Receiver<bool>,
}

pub(crate) async fn file(uri: Uri, headers: HeaderMap) -> Response<Body> {
    let path = uri.path();
    if path == "/api/control" || path.starts_with("/api/control/") {
        let message = format!("there is no path {path}");
        return Refused::not_found(message, "docs/http-api.md has all paths").into_response();
    }
    page::answer(path, &headers)
}

pub(crate) async fn openapi(State(server): State<Server>) -> Response<Body> {
    page::with_type(StatusCode::OK, "application/json", Body::from(server.openapi))
}

pub(crate) async fn live(
    State(server): State<Server>,
    Extension(Peer(from)): Extension<Peer>,
    upgrade: WebSocketUpgrade,
) -> Response<Body> {
    let seat = match Seat::take(&server.shared, from.ip()) {
        Ok(seat) => seat,
        Err(none_left) => return plain(StatusCode::SERVICE_UNAVAILABLE, no_seat(&server.shared, none_left)),
    };
    let (updates, shutdown) = (server.updates, server.shutdown);
    upgrade
        .read_buffer_size(SOCKET_BUFFER)
        .write_buffer_size(SOCKET_BUFFER)
        .max_message_size(LONGEST_MESSAGE)
        .max_frame_size(LONGEST_MESSAGE)
        .on_upgrade(move |socket| client::serve(seat, socket, updates, shutdown))
        .into_response()
}

/// Why a browser cannot watch, and what to do.
fn no_seat(shared: &Shared, none_left: NoneLeft) -> String {
    let options = &shared.options;
    match none_left {
        NoneLeft::AtAll => {
            let most = options.most_clients;
            format!(
                "{most} browsers are watching already, and this live view serves no more (max_browsers).\n"
            )
        }
        NoneLeft::ForThisAddress => format!(
            "{} browsers of this address are watching already: close some. Where a web server or a tunnel brings many, \
             max_browsers_per_address in the output of the configuration lets in more.\n",
            options.most_clients_of_one_address
        ),
    }
}

pub(crate) async fn health(State(server): State<Server>) -> Response<Body> {
    let instance = server.shared.instance.clone();
    json(&Health { status: "ok", api: API_VERSION, version: env!("CARGO_PKG_VERSION"), instance })
}

pub(crate) async fn state(State(server): State<Server>) -> Response<Body> {
    json(&server.shared.state())
}

pub(crate) async fn metrics(State(server): State<Server>, headers: HeaderMap) -> Response<Body> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::accepted_by(accept);
    // The host is asked, which may take its time: pictures go on meanwhile.
    let text = at_work(move || server.shared.metrics(format)).await;
    match text {
        Ok(text) => page::with_type(StatusCode::OK, format.content_type(), Body::from(text)),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

pub(crate) async fn pictures(State(server): State<Server>) -> Response<Body> {
    let pictures = server.shared.picture_now().images;
    let answer = |(plan, image): (&PicturePlan, Image)| PictureSum {
        picture: PictureState::of(plan),
        first: plan.is_first,
        sum: image.total(),
    };
    let answers: Vec<_> = server.shared.pictured.set().plans().iter().zip(pictures).map(answer).collect();
    json(&answers)
}

pub(crate) async fn image_bin(State(server): State<Server>) -> Response<Body> {
    let frame = server.shared.picture_now().encode();
    page::with_type(StatusCode::OK, "application/octet-stream", Body::from(frame))
}

pub(crate) fn json(answer: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(answer) {
        Ok(bytes) => page::with_type(StatusCode::OK, "application/json", Body::from(bytes)),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
