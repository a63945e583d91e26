//! The oracle of Multi-Grid event formation, in two steps that can fail:
//!
//! (a) `reference`: a slow, plain model written from the document reproduces the event lists of the reference of
//!     August 2018 exactly, in order, with each strategy;
//! (b) `production`: the production pipeline with the shipped configurations equals the model event for event,
//!     and a changed setting is noticed.

mod captures;
mod model;
mod own_data;
mod production;
mod reference;
