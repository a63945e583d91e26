//! Connections, from being accepted to their end.

use crate::connections::Places;
use crate::control::door::Peer;
use crate::memory::BUFFER;
use crate::shared::Shared;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Connections that are still open so long after a shutdown are cut.
const GRACE: Duration = Duration::from_millis(500);

/// How long to wait when the system has nothing left for a further connection.
const SHORTAGE: Duration = Duration::from_millis(200);

/// Accepts connections and serves them until `shutdown` turns true; then those that are open get a moment to end.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    listener: TcpListener,
    router: Router,
    shutdown: watch::Receiver<bool>,
) {
    let places = Places::new(Arc::clone(shared));
    let mut stop = shutdown.clone();
    loop {
        places.not_crowded().await;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, from)) => {
                if let Some(connection) = places.seat(stream, from.ip()) {
                    let seat = Extension(Arc::clone(&connection.seat));
                    let router = router.clone().layer(Extension(Peer(from))).layer(seat);
                    tokio::spawn(converse(connection, Arc::clone(shared), router, shutdown.clone()));
                }
            }
            // Of this connection only: it was gone before it was accepted.
            Err(error) if is_of_one(&error) => {}
            // No descriptors or no memory: asking again at once would help nobody.
            Err(_) => sleep(SHORTAGE).await,
        }
    }
    drop(listener);
    let _ = timeout(GRACE, places.all_free()).await;
}

/// One connection to its end, or until it has become a WebSocket.
pub(crate) async fn converse(
    connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    shared: Arc<Shared>,
    router: Router,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut builder = http1::Builder::new();
    // From the beginning, and from the end of each answer, to the end of the next request's header.
    builder.max_buf_size(BUFFER).timer(TokioTimer::new()).header_read_timeout(shared.options.request_timeout);
    let service = TowerToHyperService::new(router);
    let mut conversation = pin!(builder.serve_connection(TokioIo::new(connection), service).with_upgrades());
    let ended = tokio::select! {
        ended = conversation.as_mut() => ended,
        () = stopped(&mut shutdown) => {
            conversation.as_mut().graceful_shutdown();
            conversation.await
        }
    };
    if ended.is_err_and(|error| is_timeout(&error)) {
        shared.clients.connections_timed_out.fetch_add(1, Relaxed);
    }
}

fn is_timeout(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    error.is_timeout() || cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|&stop| stop).await;
}
