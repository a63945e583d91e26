//! The HTTP server: who is let in, and its life. Its paths are in [`http_api`](crate::http_api).

use crate::accept;
use crate::connections::Seat;
use crate::guard::Guard;
use crate::handlers::Server;
use crate::http_api;
use crate::page::{self, plain};
use crate::sending::{self, Sending};
use crate::shown_run::ShownRun;
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::{self, Next};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Serves until `shutdown` turns true.
pub(crate) async fn run(shown: ShownRun, listener: TcpListener, shutdown: watch::Receiver<bool>) {
    let shared = Server::from_ref(&shown).shared;
    accept::serve(&shared, listener, router(shown), shutdown).await;
}

/// All paths, behind the guard.
pub(crate) fn router(shown: ShownRun) -> Router {
    let Server { shared, door, .. } = Server::from_ref(&shown);
    let guard =
        (Sending::default(), Arc::new(Guard::new(&shared.options.host_names, &shared.options.origins)));
    http_api::router(&door).layer(middleware::from_fn_with_state(guard, admit)).with_state(shown)
}

async fn admit(
    State((sending, guard)): State<(Sending, Arc<Guard>)>,
    request: Request,
    next: Next,
) -> Response<Body> {
    // In exercises it has none.
    if let Some(seat) = request.extensions().get::<Arc<Seat>>() {
        seat.keep();
    }
    let mut answer = match guard.admit(request.headers(), request.uri()) {
        Ok(()) => sending.admit(next.run(request).await).unwrap_or_else(|| {
            let mut later = plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many large answers are on their way: try it again in a second.\n".into(),
            );
            sending::come_again(&mut later);
            later
        }),
        Err(reason) => plain(StatusCode::FORBIDDEN, format!("{reason}.\n")),
    };
    page::protect(answer.headers_mut());
    answer
}
