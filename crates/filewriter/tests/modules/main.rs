//! What each writer module makes of the messages of its schema.

mod arrays;
#[path = "../modules_common/mod.rs"]
mod common;
mod events;
mod laws;
mod logs;
mod table;
