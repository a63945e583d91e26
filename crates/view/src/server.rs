//! The HTTP server: who is let in, and its life. Its paths are in [`http_api`](crate::http_api).

use crate::accept;
use crate::control::door::Door;
use crate::guard::Guard;
use crate::handlers::Server;
use crate::http_api;
use crate::page::plain;
use crate::pictures::{Update, make_updates};
use crate::shared::Shared;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::{self, Next};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the pictures have to end after a shutdown.
const GRACE: Duration = Duration::from_millis(500);

/// Serves until `shutdown` turns true.
pub(crate) async fn run(shared: Arc<Shared>, listener: TcpListener, shutdown: watch::Receiver<bool>) {
    let (sender, updates) = watch::channel(Update::default());
    let maker = tokio::spawn(make_updates(Arc::clone(&shared), sender));
    let guard = Arc::new(Guard::new(&shared.options.host_names));
    let door = Arc::new(Door::new(shared.options.control.clone()));
    let router = http_api::router(&door).layer(middleware::from_fn_with_state(guard, admit));
    let server = Server { shared, door, updates, shutdown: shutdown.clone() };
    accept::serve(&server.shared, listener, router.with_state(server.clone()), shutdown).await;
    maker.abort();
    let _ = timeout(GRACE, maker).await;
}

async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response<Body> {
    match guard.admit(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(reason) => plain(StatusCode::FORBIDDEN, format!("{reason}.\n")),
    }
}
