//! The page as browsers and scripts find it.

mod beam;
#[path = "../common/mod.rs"]
mod common;
mod connections;
mod frames;
mod history;
mod http;
mod http_api;
mod looks;
mod monitor;
mod page_is_current;
mod pictures_in_a_browser;
mod websocket;
