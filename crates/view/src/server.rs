//! The HTTP server: paths and answers.

use crate::accept;
use crate::client::{self, Seat};
use crate::frame::Picture;
use crate::guard::Guard;
use crate::monitor;
use crate::page::{self, plain};
use crate::pictures::{Update, make_updates, picture_now};
use crate::protocol::PictureState;
use crate::shared::Shared;
use axum::Router;
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::get;
use evforge_picture::{Image, PicturePlan};
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
        .route("/api/pictures.json", get(pictures_json))
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
struct PictureAnswer {
    #[serde(flatten)]
    picture: PictureState,
    first: bool,
    sum: u64,
}

async fn pictures_json(State(server): State<Server>) -> Response<Body> {
    let pictures = picture_now(&server.shared).images;
    let answer = |(plan, image): (&PicturePlan, Image)| PictureAnswer {
        picture: PictureState::of(plan),
        first: plan.is_first,
        sum: image.total(),
    };
    let answers: Vec<_> = server.shared.pictures.plans().iter().zip(pictures).map(answer).collect();
    json(&answers)
}

#[derive(Serialize)]
struct ImageAnswer<'a> {
    number: u32,
    picture: &'a str,
    nx: u32,
    ny: u32,
    counts: Vec<u64>,
}

async fn image_json(State(server): State<Server>, uri: Uri) -> Response<Body> {
    let pictures = &server.shared.pictures;
    let asked = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("picture=")));
    let Some(which) = asked.map_or(Some(0), |name| pictures.find(name)) else {
        let names: Vec<_> = pictures.plans().iter().map(|plan| plan.name.as_str()).collect();
        let text = format!("there is no picture of this name; there are: {}\n", names.join(", "));
        return plain(StatusCode::NOT_FOUND, text);
    };
    let Picture { number, mut images, .. } = picture_now(&server.shared);
    let (image, plan) = (images.swap_remove(which), &pictures.plans()[which]);
    json(&ImageAnswer { number, picture: &plan.name, nx: image.nx, ny: image.ny, counts: image.counts })
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
