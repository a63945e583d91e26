//! One file from beginning to end.
