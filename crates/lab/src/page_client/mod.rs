//! The live page of a run as a browser has it: the WebSocket that the page opens, every update acknowledged as the page does
//! (`docs/http-api.md`), and when each update was there.
//!
//! | you look for | it is in |
//! |---|---|
//! | a client, from its greeting to the end of the run | [`PageClient`] |
//! | what it wants to see | [`Wants`] |
//! | what it has been shown, and when | [`PageSeen`], [`PageUpdate`] |

mod client;
mod messages;

pub use client::{PageClient, PageSeen, PageUpdate};
pub use messages::Wants;
