//! Detectors from outside: those that behave, and those that do not.

mod examples;
mod misbehaving;
