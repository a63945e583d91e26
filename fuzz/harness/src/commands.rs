//! Text commands of the EFU.

use evforge_control::commands::{CommandError, Generation, LARGEST_REQUEST, commands_of, parse};

/// Reads `bytes` as a request of both generations.
///
/// # Panics
/// If something is taken for a command that does not begin with the name of one, if a newer EFU knows less than an older one, or
/// if the words alone mean something else.
pub fn commands(bytes: &[u8]) {
    let [of_2018, of_2026] =
        [Generation::Of2018, Generation::Of2026].map(|generation| parse(bytes, generation));
    if of_2018.is_ok() {
        assert_eq!(of_2018, of_2026);
    }
    assert_eq!(of_2026 == Err(CommandError::Size), bytes.is_empty() || bytes.len() > LARGEST_REQUEST);
    let words: Vec<&[u8]> =
        bytes.split(|byte| b" \n".contains(byte)).filter(|word| !word.is_empty()).collect();
    if of_2026.is_ok() {
        let name = words.first().copied().unwrap_or_default();
        assert!(commands_of(Generation::Of2026).any(|command| command.name.as_bytes() == name));
        assert_eq!(parse(&words.join(&b' '), Generation::Of2026), of_2026, "the words alone");
    }
}
