//! Texts of others, as they are shown to people.

/// The first `most` characters of a text on one line, in which nothing directs a terminal: control characters and marks that turn the
/// direction of writing become `·`. What is left out is said with an ellipsis.
pub fn printable(text: &str, most: usize) -> String {
    let harmless = |letter: char| match letter {
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '·',
        letter if letter.is_control() => '·',
        letter => letter,
    };
    let mut letters = text.chars();
    let mut shown: String = letters.by_ref().take(most).map(harmless).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_others_is_short_and_directs_no_terminal() {
        assert_eq!(printable("détecteur 1", 20), "détecteur 1");
        assert_eq!(printable("détecteur 1", 3), "dét…");
        assert_eq!(printable("a\nb\u{1b}[2J\u{202e}", 20), "a·b·[2J·");
        assert_eq!(printable(&"x".repeat(100_000), 40).chars().count(), 41);
    }
}
