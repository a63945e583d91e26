//! The files of `views/` in the repository, embedded when this crate is built: an installed program needs no further files.

use super::file::ViewFile;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../views"]
struct Files;

/// The files for a detector, by the name of its section in the configuration: those for few detectors first, and last
/// those for all.
pub(super) fn shipped(detector: &str) -> Vec<ViewFile> {
    let is_for = |file: &ViewFile| {
        file.detectors().is_empty() || file.detectors().iter().any(|section| section == detector)
    };
    // They are read by a test: none is left out.
    let mut files: Vec<ViewFile> = Files::iter().filter_map(|name| read(&name).ok()).filter(is_for).collect();
    files.sort_by_key(|file| match file.detectors().len() {
        0 => usize::MAX,
        some => some,
    });
    files
}

fn read(name: &str) -> Result<ViewFile, String> {
    let file = Files::get(name).ok_or_else(|| format!("{name} is not there"))?;
    let text = str::from_utf8(&file.data).map_err(|error| error.to_string())?;
    ViewFile::parse(name, text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_embedded_and_can_be_read() {
        Files::iter().for_each(|name| drop(read(&name).unwrap()));
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../views");
        assert_eq!(Files::iter().count(), std::fs::read_dir(folder).unwrap().count());
    }
}
