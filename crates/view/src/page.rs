//! The page: the files of `web/dist`, embedded when this crate is built.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use rust_embed::RustEmbed;
use std::fmt::Write as _;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

/// What the page may do: load its own files, talk to its own server, nothing else; and nobody may show it inside a page of their own,
/// where a click is not what it seems. The charts set styles.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What every answer says to browsers, whoever has made it.
const PROTECTION: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    // For browsers that do not know frame-ancestors.
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // The address of the page is nobody's business.
    (header::REFERRER_POLICY, "no-referrer"),
    // No other page may have an answer as a picture or a script.
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds what every answer says to browsers.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in PROTECTION {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Answers a request for a file of the page; `/` is `index.html`.
pub(crate) fn answer(path: &str, request: &HeaderMap) -> Response<Body> {
    let name = match path.trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let Some(file) = Files::get(name) else {
        let text = format!(
            "the live view has no page {path}; its page is at /, its data below /api/ and in /monitor.json\n"
        );
        return with_type(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", Body::from(text));
    };
    let tag = file.metadata.sha256_hash()[..16].iter().fold(String::new(), |mut tag, byte| {
        let _ = write!(tag, "{byte:02x}");
        tag
    });
    let tag = format!("\"{tag}\"");
    let known = request.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = if known {
        with_type(StatusCode::NOT_MODIFIED, content_type(name), Body::empty())
    } else {
        with_type(StatusCode::OK, content_type(name), Body::from(file.data))
    };
    let headers = response.headers_mut();
    // Files in assets/ have a hash of their content in their name: they never change.
    let keep = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// An answer in words.
pub(crate) fn plain(status: StatusCode, text: String) -> Response<Body> {
    with_type(status, "text/plain; charset=utf-8", Body::from(text))
}

/// A response with a type, which nobody keeps.
pub(crate) fn with_type(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}
