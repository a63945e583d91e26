//! Asking a run, and changing it, over HTTP: the paths below `/api/control`.
//!
//! ```text
//! request ─► Door: how often, which token ─► body, with limits ─► ControlDesk ─► answer as JSON
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | who may ask how often, and change anything | `door.rs` |
//! | bodies of requests, read with limits | `body.rs` |
//! | refusals as JSON | `refused.rs` |
//! | the objects of bodies | `wanted.rs` |
//! | the objects of answers | `answers.rs` |
//! | what is done for each path | `handlers.rs` |

pub(crate) mod answers;
pub(crate) mod body;
pub(crate) mod door;
pub(crate) mod handlers;
pub(crate) mod refused;
pub(crate) mod wanted;
