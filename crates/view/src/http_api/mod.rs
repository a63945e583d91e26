//! The HTTP interface: every path is declared once, in `routes.rs`. The router is made of these declarations and has no other paths;
//! so is `docs/http-api.md`, by [`document`].
//!
//! | you look for | it is in |
//! |---|---|
//! | the paths, their parameters and answers | `routes.rs` |
//! | what is declared of a path | `route.rs` |
//! | the router | `router.rs` |
//! | the JSON objects, made from the structs that are written | `objects.rs`, [`protocol`](crate::protocol) |
//! | the document | `document.rs` |

mod document;
mod objects;
mod route;
mod router;
mod routes;

pub use document::document;
pub(crate) use router::router;
