//! What a configuration lacks that packets cannot tell.

/// What marks a file that is needed and cannot be written from packets.
pub(super) const NEEDS: &str = "NEEDED:";
