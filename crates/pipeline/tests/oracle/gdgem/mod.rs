//! The oracle of Gd-GEM event formation, in three steps that can fail:
//!
//! (a) `reference`: a slow, plain model with all quirks of the reference of August 2018 reproduces its event
//!     lists exactly, in order;
//! (b) `steps`: its rules are switched to ours one by one, and what each step removes and adds is pinned;
//! (c) `production`: with all rules ours, the production pipeline with the shipped configurations equals the
//!     model event for event, and a changed setting is noticed.

mod captures;
mod model;
mod own_data;
mod production;
mod reference;
mod run16_hits;
mod side_files;
mod single_rules;
mod steps;
