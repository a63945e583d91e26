//! JSON files with the wiring and the calibration of VMM chips.

use evforge_detect::gdgem::vmm_files::{calibration, wiring};

/// Reads `bytes` as a wiring and as a calibration. What is not UTF-8 is replaced.
///
/// # Panics
/// If an error says nothing, or if what was read has channels that cannot be.
pub fn vmm_files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match wiring(&text) {
        Ok(chips) => {
            for chip in &chips.content {
                for channel in 0..64 {
                    let strip = chip.strip(channel);
                    assert!(
                        strip.is_none_or(|strip| chip.channel(strip.into()).is_some()),
                        "a strip without channel"
                    );
                }
                assert_eq!(chip.strip(64), None);
            }
        }
        Err(problem) => assert!(!problem.trim().is_empty(), "an error that says nothing"),
    }
    match calibration(&text) {
        Ok(chips) => {
            assert!(chips.content.iter().all(|chip| chip.channels.len() == 64), "a chip with other channels")
        }
        Err(problem) => assert!(!problem.trim().is_empty(), "an error that says nothing"),
    }
}
