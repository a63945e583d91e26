//! Which options are secret, and secrets from where they are kept.

use super::ClientError;
use evforge_core::whole_file;
use std::path::Path;

/// Largest file that is taken for a secret.
const LARGEST: u64 = 1 << 20;

/// True if the value of this option of librdkafka must never be shown.
pub fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["password", "secret", "passphrase", "key.pem", "private.key", "oauthbearer.config", "jaas", "token"]
        .iter()
        .any(|part| key.contains(part))
        && !key.ends_with(".location")
        && !key.ends_with(".url")
}

/// A secret from a file, without the end of its line.
pub(super) fn from_file(key: &str, path: &Path) -> Result<String, ClientError> {
    let fail = |why: String| {
        ClientError::settings(format!("{key}: the secret cannot be read from {}: {why}", path.display()))
    };
    let text = whole_file::text(path, LARGEST).map_err(|error| fail(error.to_string()))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(fail("the file is empty".to_owned()));
    }
    Ok(text.to_owned())
}

/// A secret from a variable of the environment.
pub(super) fn from_environment(key: &str, name: &str) -> Result<String, ClientError> {
    match std::env::var(name) {
        Ok(text) if !text.is_empty() => Ok(text),
        _ => Err(ClientError::settings(format!(
            "{key}: the variable {name}, in which the secret should be, is not set or empty: export {name}=…"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_options_are_known() {
        for key in ["sasl.password", "ssl.key.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"] {
            assert!(is_secret(key), "{key}");
        }
        for key in ["sasl.username", "ssl.ca.location", "ssl.key.location", "sasl.mechanism", "linger.ms"] {
            assert!(!is_secret(key), "{key}");
        }
    }

    #[test]
    fn a_secret_comes_without_the_end_of_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "abc def\r\n").unwrap();
        assert_eq!(from_file("k", &file).unwrap(), "abc def");
        std::fs::write(&file, "\n").unwrap();
        assert!(from_file("k", &file).unwrap_err().to_string().contains("empty"));
        assert!(from_environment("k", "EVFORGE_NO_SUCH_VARIABLE").is_err());
    }
}
