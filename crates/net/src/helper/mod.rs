//! The helper: a small program that does what needs privileges, so that evforge itself has none.
//!
//! ```text
//!  evforge (no capability)                              evforge-helper (a few capabilities)
//!    Helper::start ── starts, socket pair ──────────────►  program::run
//!    requests (JSON, descriptors) ─────────────────────►  rules: may this user have it?
//!    ◄───────────────────── grants: descriptors of AF_XDP sockets, their memory, counters
//!    receives, forms, writes                               keeps the steering program attached
//!    ends, in whatever way ────────────────────────────►  notices, detaches everything, ends
//! ```
//!
//! The helper reads one file, [`rules::RULES_FILE`], which only root can write, and requests, which are small and checked.
//! It loads one program into the kernel, the one that it carries, and executes nothing. Who started it with privileges
//! of its own (root, a service with ambient capabilities) may have everything; whoever gets them by the capabilities of
//! the helper's file (`setcap`) may have what the rules allow.
//!
//! | module | what it is |
//! |---|---|
//! | `client` | [`Helper`], the side of evforge |
//! | `message`, `channel` | what is asked and granted, and how it travels |
//! | `program`, `session` | the helper's side |
//! | `rules` | who may have what |
//! | `flow_rules`, `card`, `journal` | rules in network cards that bring a port to a queue, and their removal after a crash |

mod card;
mod channel;
mod client;
mod flow_rule;
mod flow_rules;
mod journal;
pub(crate) mod message;
pub mod program;
mod rules;
mod session;

pub use client::{Helper, HelperError};
pub(crate) use client::{bind, set_socket, steer};
pub use message::check_request;
pub use rules::{RULES_FILE, check_rules};
