//! The program is killed at random moments, and started again.
