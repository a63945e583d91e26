//! The HTTP interface: every path is declared once, in `routes.rs` and `control_routes.rs`. The router is made of these declarations and has no other paths;
//! so are `docs/http-api.md`, by [`document`], and `docs/openapi.json`, by [`openapi`].
//!
//! | you look for | it is in |
//! |---|---|
//! | the paths, their parameters and answers | `routes.rs`, `control_routes.rs` |
//! | what is declared of a path | `route.rs` |
//! | the router | `router.rs` |
//! | the JSON objects, made from the structs that are written | `objects.rs`, [`protocol`](crate::protocol) |
//! | the document for people | `document.rs` |
//! | the document for programs | `openapi.rs` |

mod beam_routes;
mod control_routes;
mod document;
mod look_routes;
mod objects;
mod openapi;
mod route;
mod router;
mod routes;
#[cfg(feature = "exercise")]
mod samples;

pub use document::document;
pub use openapi::openapi;
pub(crate) use router::router;
#[cfg(feature = "exercise")]
pub use samples::{Sample, samples};
