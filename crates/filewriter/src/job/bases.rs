//! What a job says of what is in its file first: nothing, or a file that is copied.

use super::settings::Bases;
use crate::file::Base;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// What a job says of its base, so that it can be had again after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaidBase {
    /// Nothing.
    #[default]
    Nothing,
    /// A file that is copied.
    Template(PathBuf),
}

/// Bases that need nothing but the file: nothing, and templates. JSON's null is nothing as well.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainBases;

impl Bases for PlainBases {
    fn base(&self, said: &Value) -> Result<Base, String> {
        let said: Option<SaidBase> = serde_json::from_value(said.clone())
            .map_err(|error| format!("what is in the file first cannot be understood: {error}"))?;
        Ok(match said.unwrap_or_default() {
            SaidBase::Nothing => Base::Nothing,
            SaidBase::Template(path) => Base::Template(path),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_are_spelled_as_they_are_kept() {
        let base = |said| PlainBases.base(&said);
        assert!(matches!(base(Value::Null), Ok(Base::Nothing)));
        assert!(matches!(base(json!("nothing")), Ok(Base::Nothing)));
        assert!(
            matches!(base(json!({"template": "/a.hdf"})), Ok(Base::Template(path)) if path.as_os_str() == "/a.hdf")
        );
        assert_eq!(json!(SaidBase::Template("/a.hdf".into())), json!({"template": "/a.hdf"}));
        assert_eq!(json!(SaidBase::Nothing), json!("nothing"));
        assert!(base(json!({"detector": 1})).is_err());
    }
}
