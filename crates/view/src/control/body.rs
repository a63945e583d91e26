//! The body of a request: JSON, of a limited size, in a limited time.

use super::refused::Refused;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::timeout;

/// Largest body, in bytes.
pub(crate) const LARGEST: usize = 64 * 1024;

/// Whether the request says itself that its body is too large.
pub(crate) fn is_announced_too_large(request: &Request) -> bool {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > LARGEST as u64)
}

pub(crate) fn too_large() -> Refused {
    let message = format!("the body has more than {LARGEST} bytes");
    Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, "ask for less at a time")
}

/// The object in the body. No body is `{}`.
pub(crate) async fn read<T: DeserializeOwned>(request: Request, patience: Duration) -> Result<T, Refused> {
    let bytes = match timeout(patience, to_bytes(request.into_body(), LARGEST)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(too_large()),
        Err(_) => {
            let message = format!("the body has not come within {} s", patience.as_secs_f64());
            let remedy = "send it at once, behind the header";
            return Err(Refused::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message, remedy));
        }
    };
    let text = if bytes.iter().all(u8::is_ascii_whitespace) { b"{}" } else { &bytes[..] };
    serde_json::from_slice(text).map_err(|error| {
        Refused::invalid(
            format!("the body is not what is expected: {error}"),
            "docs/http-api.md has the object",
        )
    })
}
