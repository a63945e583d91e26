//! Packets through sockets, over loopback.

#[path = "../loopback/mod.rs"]
mod loopback;
mod receiver;
mod receiver_group;
mod sender;
