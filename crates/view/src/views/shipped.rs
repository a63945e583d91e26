//! The files of `views/` in the repository, embedded when this crate is built: an installed program needs no further files.

use super::file::ViewFile;

macro_rules! embedded {
    ($file:literal) => {
        ($file, include_str!(concat!("../../../../views/", $file)))
    };
}

const COMMON: (&str, &str) = embedded!("common.toml");
const SONDE: (&str, &str) = embedded!("sonde.toml");
const MULTI_GRID: (&str, &str) = embedded!("multigrid.toml");
const MULTI_BLADE: (&str, &str) = embedded!("multiblade.toml");
const GD_GEM: (&str, &str) = embedded!("gdgem.toml");
const NMX: (&str, &str) = embedded!("nmx.toml");
const MONITORS: (&str, &str) = embedded!("beam-monitors.toml");

/// Which files are for a detector, by the name of its section in the configuration. Those of others are the common ones.
const FILES: &[(&str, &[(&str, &str)])] = &[
    ("sonde", &[SONDE]),
    ("multigrid", &[MULTI_GRID]),
    ("ess_multigrid", &[MULTI_GRID]),
    ("multiblade", &[MULTI_BLADE]),
    ("ess_multiblade", &[MULTI_BLADE]),
    ("gdgem", &[GD_GEM]),
    ("ess_gdgem", &[NMX, GD_GEM]),
    ("ess_beam_monitors", &[MONITORS]),
];

/// The files for a detector: what is its own first.
pub(super) fn shipped(detector: &str) -> Vec<ViewFile> {
    let own = FILES.iter().find(|(section, _)| *section == detector).map_or(&[][..], |(_, files)| files);
    // They are read by a test: none is left out.
    own.iter().chain([&COMMON]).filter_map(|(name, text)| ViewFile::parse(name, text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_embedded_and_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../views");
        let known = [COMMON, SONDE, MULTI_GRID, MULTI_BLADE, GD_GEM, NMX, MONITORS];
        for (name, text) in known {
            if let Err(error) = ViewFile::parse(name, text) {
                panic!("{error}");
            }
        }
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        let mut embedded = known.map(|(name, _)| name);
        embedded.sort_unstable();
        assert_eq!(names, embedded);
    }
}
