//! The identity of a hybrid: what its calibration goes by, wherever it is plugged in.

use evforge_core::settings::RefusedValue;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

/// Longest identity: those of today have 32 digits.
const LONGEST: usize = 64;

/// The identity of a hybrid, in small letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct HybridId(String);

impl HybridId {
    /// What is expected of one, for errors.
    pub const EXPECTED: &'static str = "the identity of a hybrid: 1 to 64 letters and digits";

    /// The identity that a text is.
    pub fn new(text: &str) -> Option<Self> {
        let good =
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        good.then(|| Self(text.to_ascii_lowercase()))
    }
}

impl TryFrom<String> for HybridId {
    type Error = RefusedValue;

    fn try_from(text: String) -> Result<Self, RefusedValue> {
        Self::new(&text)
            .ok_or_else(|| RefusedValue::new(format!("found {text:?}, expected {}", Self::EXPECTED)))
    }
}

impl fmt::Display for HybridId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
