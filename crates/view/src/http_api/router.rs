//! The router: exactly the paths that are declared.

use super::route::{Parameter, Route};
use super::routes::ROUTES;
use crate::handlers::Server;
use crate::page::plain;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, StatusCode, Uri};
use axum::middleware::{self, Next};

/// Answers all of [`ROUTES`], and nothing else.
pub(crate) fn router() -> Router<Server> {
    let add = |router: Router<Server>, route: &Route| {
        let mut methods = (route.handler)(route.method.filter());
        if let Some(parameters) = route.parameters {
            methods = methods.layer(middleware::from_fn(move |request: Request, next: Next| async move {
                match unknown_parameter(parameters, request.uri()) {
                    None => next.run(request).await,
                    Some(reason) => plain(StatusCode::BAD_REQUEST, reason),
                }
            }));
        }
        router.route(route.path, methods)
    };
    ROUTES.iter().fold(Router::new(), add).method_not_allowed_fallback(another_method)
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
    let wanted = ROUTES.iter().find(|route| route.path == path).map_or("GET", |route| route.method.name());
    plain(StatusCode::METHOD_NOT_ALLOWED, format!("{path} is asked with {wanted}, not with {method}\n"))
}
