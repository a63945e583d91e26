//! The FlatBuffers messages of ESS and ISIS.
