//! Measurements of links and receivers, as in the papers.
//!
//! | measurement | module |
//! |---|---|
//! | streams whose every packet and every 16-bit word is accounted for (DROP) | [`drop`](mod@drop) |

#![forbid(unsafe_code)]

pub mod drop;
