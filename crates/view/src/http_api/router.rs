//! The router: exactly the paths that are declared.

use super::route::{CONTROL, Parameter, Route};
use super::routes::routes;
use crate::control::door::Door;
use crate::control::refused::Refused;
use crate::page::plain;
use crate::shown_run::ShownRun;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, StatusCode, Uri};
use axum::middleware::{self, Next};
use std::sync::Arc;

/// Answers all paths that are declared, and nothing else.
pub(crate) fn router(door: &Arc<Door>) -> Router<ShownRun> {
    let add = |router: Router<ShownRun>, route: &'static Route| {
        let mut methods = (route.handler)(route.method.filter());
        if let Some(parameters) = route.parameters {
            methods = methods.layer(middleware::from_fn(move |request: Request, next: Next| async move {
                match unknown_parameter(parameters, request.uri()) {
                    None => next.run(request).await,
                    Some(reason) if route.is_guarded() => {
                        Refused::invalid(reason.trim_end(), "leave it out").into_response()
                    }
                    Some(reason) => plain(StatusCode::BAD_REQUEST, reason),
                }
            }));
        }
        if route.is_guarded() {
            let door = Arc::clone(door);
            // Outermost: who is turned away learns nothing more.
            methods = methods.layer(middleware::from_fn(move |request: Request, next: Next| {
                let door = Arc::clone(&door);
                async move {
                    match door.admit(&request, route.changes) {
                        Ok(()) => next.run(request).await,
                        Err(refused) => refused.into_response(),
                    }
                }
            }));
        }
        // Of two methods of one path each has its own.
        router.route(route.path, methods)
    };
    routes().fold(Router::new(), add).method_not_allowed_fallback(another_method)
}

/// A sentence about a parameter that is none of `known`.
fn unknown_parameter(known: &[Parameter], asked: &Uri) -> Option<String> {
    let path = asked.path();
    let mut given = form_urlencoded::parse(asked.query().unwrap_or_default().as_bytes());
    let (name, _) = given.find(|(name, _)| known.iter().all(|parameter| parameter.name != name))?;
    let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
    Some(match &names[..] {
        [] => format!("{path} has no parameter {name:?}: it has none at all\n"),
        names => format!("{path} has no parameter {name:?}; it has: {}\n", names.join(", ")),
    })
}

async fn another_method(method: Method, uri: Uri) -> Response<Body> {
    let path = uri.path();
    let known: Vec<&str> =
        routes().filter(|route| is_of(route.path, path)).map(|route| route.method.name()).collect();
    if path.starts_with(CONTROL) {
        let remedy = "docs/http-api.md has all paths";
        return match &known[..] {
            [] => Refused::not_found(format!("there is no path {path}"), remedy),
            known => {
                let message = format!("{path} is asked with {}, not with {method}", known.join(" or "));
                Refused::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", message, remedy)
            }
        }
        .into_response();
    }
    let wanted = known.first().unwrap_or(&"GET");
    plain(StatusCode::METHOD_NOT_ALLOWED, format!("{path} is asked with {wanted}, not with {method}\n"))
}

/// Whether a path is one of those that `declared` stands for; the page's, which stands for every other one, is not looked at.
fn is_of(declared: &str, path: &str) -> bool {
    let (mut declared, mut path) = (declared.split('/'), path.split('/'));
    loop {
        match (declared.next(), path.next()) {
            (None, None) => return true,
            (Some(part), Some(found)) if part == found => {}
            (Some(part), Some(found))
                if part.starts_with('{') && !part.contains('*') && !found.is_empty() => {}
            _ => return false,
        }
    }
}
