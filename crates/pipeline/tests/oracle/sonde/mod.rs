//! The oracle of SoNDe event formation:
//!
//! (a) `reference`: a plain model, written from EFU formats of 2018, section 1, reproduces the event list of the
//!     reference of August 2018 exactly, in order, and what it asserts of single packets;
//! (b) `production`: the production pipeline with the shipped configurations equals the model event for event,
//!     and a changed setting is noticed.

mod captures;
mod model;
mod own_data;
mod production;
mod reference;
