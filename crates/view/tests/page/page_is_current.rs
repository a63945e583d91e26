//! The built page in `web/dist` is committed, so that building evforge needs no npm. This test says when it
//! was built from other sources than those in `web/`.
#![allow(clippy::unwrap_used)]

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// All files below `folder`.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

/// As `web/scripts/stamp.mjs` does it.
#[test]
fn dist_was_built_from_the_sources() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let single = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];
    let mut files: Vec<PathBuf> = single.iter().map(|name| web.join(name)).collect();
    files.extend(["public", "src"].iter().flat_map(|folder| files_in(&web.join(folder))));
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|path| (path.strip_prefix(&web).unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    named.sort();
    let mut hash = Sha256::new();
    for (name, path) in named {
        let content = std::fs::read(&path).unwrap();
        hash.update(format!("{name}\0{}\0", content.len()));
        hash.update(&content);
    }
    let stamp = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let built = std::fs::read_to_string(web.join("dist/sources.sha256")).unwrap_or_default();
    assert_eq!(
        built.trim(),
        stamp,
        "web/dist was not built from these sources: run `npm ci && npm run build` in web/ and commit web/dist"
    );
}
