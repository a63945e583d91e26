//! What is this? Streams of packets are told apart, named and counted, whatever sent them.
//!
//! | module | what is in it |
//! |---|---|
//! | [`survey`] | packets in, streams out: by source, port, format and ESS type |
//! | [`stream`] | one stream: its format, what disagreed, which configuration fits |
//! | [`content`] | what is in the packets, a file per format: queues, pulses, front ends, chips, channels |
//! | [`skeleton`] | a configuration that reads a stream |
//! | [`packet_lines`] | a packet, and its readouts, for people |
//! | [`shipped`] | which shipped configuration fits what came |
//! | [`report`], [`channels`] | words and numbers for people and programs |
//!
//! Nothing here reads files: whoever has packets gives them to a [`survey::Survey`]. Its memory is bounded, whatever is in
//! them. The wire formats themselves, and how packets are recognised, are in `evforge_wire`.

#![forbid(unsafe_code)]

pub mod channels;
pub mod content;
pub mod expected;
pub mod packet_lines;
pub mod report;
pub mod shipped;
pub mod skeleton;
pub mod stream;
pub mod survey;
