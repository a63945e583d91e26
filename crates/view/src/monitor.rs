//! A detector's monitor data, and their switch, for whoever looks at the page.
//!
//! The view knows nothing of what is in them: the run gives a [`MonitorControl`](evforge_outputs::MonitorControl), whose JSON goes to the page as
//! it is. Asking happens on a thread that may take its time, so pictures go on meanwhile.

use crate::at_work::at_work;
use crate::control::door::Peer;
use crate::handlers::Server;
use crate::page::{plain, with_type};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use evforge_outputs::MonitorControl;

pub(crate) async fn data(State(server): State<Server>) -> Response<Body> {
    with_control(server, |control| answer(control)).await
}

pub(crate) async fn on(State(server): State<Server>, peer: Extension<Peer>) -> Response<Body> {
    switch(server, peer, true).await
}

pub(crate) async fn off(State(server): State<Server>, peer: Extension<Peer>) -> Response<Body> {
    switch(server, peer, false).await
}

async fn switch(server: Server, Extension(peer): Extension<Peer>, on: bool) -> Response<Body> {
    let desk = server.door.desk().cloned();
    let change = move |control: &dyn MonitorControl| {
        let what = format!("monitor data {}", if on { "on" } else { "off" });
        match desk {
            Some(desk) => desk.have_done(&peer.origin(), &what, || control.switch(on)),
            None => control.switch(on),
        }
    };
    with_control(server, move |control| match change(control) {
        Ok(()) => answer(control),
        Err(reason) => plain(StatusCode::CONFLICT, format!("{reason}\n")),
    })
    .await
}

/// Lets `answer` ask the control on a thread of its own: monitor data of many channels are megabytes.
async fn with_control(
    server: Server,
    answer: impl FnOnce(&dyn MonitorControl) -> Response<Body> + Send + 'static,
) -> Response<Body> {
    let Some(control) = server.shared.options.monitor.clone() else {
        let text = "this live view has no monitor data: it was started without a detector to monitor\n";
        return plain(StatusCode::NOT_FOUND, text.into());
    };
    // Closed by nobody.
    let _at_work = server.shared.at_work.acquire().await;
    let asked = at_work(move || answer(control.as_ref()));
    asked.await.unwrap_or_else(|error| plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")))
}

fn answer(control: &dyn MonitorControl) -> Response<Body> {
    let text = if control.is_on() {
        let data = control.json();
        format!(r#"{{"on":true,"data":{}}}"#, data.as_deref().unwrap_or("null"))
    } else {
        r#"{"on":false}"#.into()
    };
    with_type(StatusCode::OK, "application/json", Body::from(text))
}
