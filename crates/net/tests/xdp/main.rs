//! AF_XDP, and that packets are the same whichever way they take.

mod interface;
#[path = "../mixture/mod.rs"]
mod mixture;
mod ports;
mod receiver;
mod sender;
mod steer_object;
mod ways;
