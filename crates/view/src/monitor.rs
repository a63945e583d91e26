//! A detector's monitor data, and their switch, for whoever looks at the page.
//!
//! The view knows nothing of what is in them: the run gives a [`MonitorControl`](evforge_outputs::MonitorControl), whose JSON goes to the page as
//! it is. Asking happens on a thread that may take its time, so pictures go on meanwhile.

use crate::page::{plain, with_type};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::{get, post};
use evforge_outputs::MonitorControl;
use std::sync::Arc;

/// What the run has given, if it has.
type Control = Option<Arc<dyn MonitorControl>>;

/// The paths of the monitor.
pub(crate) fn routes<S>(control: Control) -> Router<S> {
    Router::new()
        .route("/monitor.json", get(data))
        .route("/monitor/on", post(async |control: State<Control>| switch(control, true).await))
        .route("/monitor/off", post(async |control: State<Control>| switch(control, false).await))
        .with_state(control)
}

async fn data(State(control): State<Control>) -> Response<Body> {
    with_control(control, |control| answer(control)).await
}

async fn switch(State(control): State<Control>, on: bool) -> Response<Body> {
    with_control(control, move |control| match control.switch(on) {
        Ok(()) => answer(control),
        Err(reason) => plain(StatusCode::CONFLICT, format!("{reason}\n")),
    })
    .await
}

/// Lets `answer` ask the control on a thread of its own: monitor data of many channels are megabytes.
async fn with_control(
    control: Control,
    answer: impl FnOnce(&dyn MonitorControl) -> Response<Body> + Send + 'static,
) -> Response<Body> {
    let Some(control) = control else {
        let text = "this live view has no monitor data: it was started without a detector to monitor\n";
        return plain(StatusCode::NOT_FOUND, text.into());
    };
    let asked = tokio::task::spawn_blocking(move || answer(control.as_ref()));
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
