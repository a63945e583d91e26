//! The HTTP server: paths and answers.

use crate::accept;
use crate::client::{self, Seat};
use crate::guard::Guard;
use crate::monitor;
use crate::page::{self, plain};
use crate::pictures::{Update, make_updates, picture_now};
use crate::shared::Shared;
use axum::Router;
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::get;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

/// A browser says nothing longer than an acknowledgement.
const LONGEST_MESSAGE: usize = 1024;

/// How long the pictures have to end after a shutdown.
const GRACE: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
    guard: Arc<Guard>,
    updates: watch::Receiver<Update>,
    shutdown: watch::Receiver<bool>,
}

/// Serves until `shutdown` turns true.
pub(crate) async fn run(shared: Arc<Shared>, listener: TcpListener, shutdown: watch::Receiver<bool>) {
    let (sender, updates) = watch::channel(Update::default());
    let maker = tokio::spawn(make_updates(Arc::clone(&shared), sender));
    let guard = Arc::new(Guard::new(&shared.options.host_names));
    let server = Server { shared, guard, updates, shutdown: shutdown.clone() };
    let router = Router::new()
        .route("/api/health", get(health))
        .route("/api/state.json", get(state))
        .route("/api/image.json", get(image_json))
        .route("/api/image.bin", get(image_bin))
        .route("/api/spectrum.json", get(spectrum))
        .route("/api/live", get(live))
        .merge(monitor::routes(server.shared.options.monitor.clone()))
        .fallback(file)
        .layer(middleware::from_fn_with_state(server.clone(), admit))
        .with_state(server.clone());
    accept::serve(&server.shared, listener, router, shutdown).await;
    maker.abort();
    let _ = timeout(GRACE, maker).await;
}

async fn admit(State(server): State<Server>, request: Request, next: Next) -> Response<Body> {
    match server.guard.admit(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(reason) => plain(StatusCode::FORBIDDEN, format!("{reason}.\n")),
    }
}

async fn file(uri: Uri, headers: HeaderMap) -> Response<Body> {
    page::answer(uri.path(), &headers)
}

async fn live(State(server): State<Server>, upgrade: WebSocketUpgrade) -> Response<Body> {
    let Some(seat) = Seat::take(&server.shared) else {
        let most = server.shared.options.most_clients;
        let text = format!("{most} browsers are watching already, and this live view serves no more.\n");
        return plain(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    let (updates, shutdown) = (server.updates, server.shutdown);
    upgrade
        .max_message_size(LONGEST_MESSAGE)
        .max_frame_size(LONGEST_MESSAGE)
        .on_upgrade(move |socket| client::serve(seat, socket, updates, shutdown))
        .into_response()
}

#[derive(Serialize)]
struct Health<'a> {
    status: &'static str,
    instance: &'a str,
}

async fn health(State(server): State<Server>) -> Response<Body> {
    json(&Health { status: "ok", instance: &server.shared.instance })
}

async fn state(State(server): State<Server>) -> Response<Body> {
    json(&server.shared.state())
}

#[derive(Serialize)]
struct ImageAnswer {
    number: u32,
    nx: u32,
    ny: u32,
    counts: Vec<u64>,
}

async fn image_json(State(server): State<Server>) -> Response<Body> {
    let picture = picture_now(&server.shared);
    let image = picture.image;
    json(&ImageAnswer { number: picture.number, nx: image.nx, ny: image.ny, counts: image.counts })
}

async fn image_bin(State(server): State<Server>) -> Response<Body> {
    let frame = picture_now(&server.shared).encode();
    page::with_type(StatusCode::OK, "application/octet-stream", Body::from(frame))
}

#[derive(Serialize)]
struct SpectrumAnswer {
    bin_ns: u64,
    counts: Vec<u64>,
}

async fn spectrum(State(server): State<Server>) -> Response<Body> {
    let counts = server.shared.picture(0).spectrum;
    json(&SpectrumAnswer { bin_ns: server.shared.bins.width_ns, counts })
}

fn json(answer: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(answer) {
        Ok(bytes) => page::with_type(StatusCode::OK, "application/json", Body::from(bytes)),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
