//! The service with a real broker and jobs that write real files: conversations of the ESS and of ISIS, and what is in the files
//! at their ends.
#![allow(clippy::unwrap_used)]

mod disk;
mod ess;
mod isis;
mod left;
mod order;
mod overlapping;
mod refusals;
mod restart;
mod support;
mod template;
