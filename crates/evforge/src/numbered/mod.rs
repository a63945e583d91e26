//! `evforge send` and `evforge receive`: numbered packets, and what happened to them.

mod receive;
mod send;
mod tcp;
mod text;

pub(crate) use receive::{ReceiveArguments, receive};
pub(crate) use send::{SendArguments, send};
