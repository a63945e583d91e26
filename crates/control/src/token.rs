//! The token: what somebody must know who wants to change something over HTTP.

use evforge_core::whole_file;
use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// Shortest token, in characters: shorter ones can be guessed.
pub const SHORTEST: usize = 16;
/// Longest token, in characters.
pub const LONGEST: usize = 512;
/// Bytes of chance in a token that is made: written as two characters each.
const RANDOM_BYTES: usize = 32;

/// What somebody must know who wants to change something. It is never shown by accident: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It is too short, too long, or has something else in it than printable characters without blanks. It is not shown.
    #[error(
        "the token of {0} has {1}: expected {SHORTEST} to {LONGEST} letters, digits and signs of ASCII without blanks, as \
         `openssl rand -hex 32` makes them"
    )]
    Form(String, String),
    /// Its file cannot be read.
    #[error("the token in {} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others can read its file.
    #[error(
        "the token in {0} can be read by others than its owner (mode {1:04o}): chmod 600 {0}, and take another token, as \
         this one may be known"
    )]
    Open(String, u32),
    /// The system gives no random numbers.
    #[error("no token can be made, as the system gives no random numbers: {0}")]
    NoChance(getrandom::Error),
}

impl Token {
    /// A token that nobody can guess.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(TokenError::NoChance)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// This token, from `place`, which the errors name.
    ///
    /// # Errors
    /// If it could be guessed, or does not fit into a header of HTTP.
    pub fn new(text: &str, place: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let length = text.chars().count();
        let problem = if !(SHORTEST..=LONGEST).contains(&length) {
            format!("{length} characters")
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            "a blank, or a character that is not of ASCII".to_owned()
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(TokenError::Form(place.to_owned(), problem))
    }

    /// The token in a file, which nobody but its owner may be able to read.
    ///
    /// # Errors
    /// If it cannot be read, others can read it, or it is none.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let unreadable = |source| TokenError::Unreadable { path: path.to_owned(), source };
        let file = whole_file::open(path).map_err(unreadable)?;
        // Of the file that is open: nobody can exchange it in between.
        let mode = file.metadata().map_err(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(TokenError::Open(path.display().to_string(), mode & 0o7777));
        }
        let longest = 4 * LONGEST as u64;
        let text = whole_file::bytes_of(file, longest).and_then(whole_file::as_text).map_err(unreadable)?;
        Self::new(&text, &path.display().to_string())
    }

    /// The token itself, for whoever is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is the token. How long that takes says nothing of how much of it is right.
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_hidden_and_compared_as_a_whole() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), 64);
        assert!(one.is(one.reveal().as_bytes()) && !one.is(other.reveal().as_bytes()));
        assert!(!one.is(b"") && !one.is(&one.reveal().as_bytes()[..63]));
        assert!(!format!("{one:?}").contains(one.reveal()));
        assert!(Token::new(&format!(" {}\n", one.reveal()), "x").is_ok());
        for wrong in
            ["", "short", "with a blank in it, and long", "mit einem ü in der Mitte", &"x".repeat(513)]
        {
            let error = Token::new(wrong, "EVFORGE_TOKEN").unwrap_err().to_string();
            assert!(
                error.contains("EVFORGE_TOKEN") && !(wrong.len() > 5 && error.contains(wrong)),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let path = std::env::temp_dir().join(format!("evforge-token-{}", std::process::id()));
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        mode(0o600);
        assert!(Token::read(&path).unwrap().is(b"0123456789abcdef"));
        for open in [0o640, 0o604, 0o644] {
            mode(open);
            let error = Token::read(&path).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && !error.contains("0123456789abcdef"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Token::read(&path), Err(TokenError::Unreadable { .. })));
    }
}
