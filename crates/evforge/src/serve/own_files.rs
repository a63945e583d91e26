//! Files that a run names for itself: in the folders that the service has for them.

use crate::CommandError;
use crate::same_file::without_links;
use evforge_config::CommonConfig;
use evforge_net::staged_file::is_standard_output;
use std::path::{Component, Path, PathBuf};
use toml::Value;

/// Checks that the outputs `ids` of a run have files, by their whole names, below the folders of those of the service.
///
/// # Errors
/// The first one that is elsewhere, and the folder that it may be in.
pub(super) fn check_own_files<'a>(
    run: &CommonConfig,
    service: &CommonConfig,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), CommandError> {
    for id in ids {
        let file = |config: &'_ CommonConfig| {
            let file = config.outputs.get(id).and_then(|table| table.get("file")).and_then(Value::as_str);
            file.map(PathBuf::from).filter(|file| !is_standard_output(file))
        };
        let Some(of_service) = file(service) else {
            return Err(format!(
                "outputs.{id}.file: the service has no file for this output, so a run has none of its own: name one in {}",
                service.path.display()
            )
            .into());
        };
        let folder = folder_of(&of_service);
        if !file(run).is_some_and(|file| is_below(&file, &folder)) {
            return Err(format!(
                "outputs.{id}.file of a run must lie in the folder of the service's, {}",
                folder.display()
            )
            .into());
        }
    }
    Ok(())
}

/// The folder of all files of this name, whatever the run fills into it.
fn folder_of(name: &Path) -> PathBuf {
    let fixed = name.iter().take_while(|part| !part.to_string_lossy().contains('{')).collect::<PathBuf>();
    let folder = if fixed == name { name.parent().map_or_else(PathBuf::new, PathBuf::from) } else { fixed };
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
}

fn is_below(file: &Path, folder: &Path) -> bool {
    let goes_up = file.components().any(|part| part == Component::ParentDir);
    !goes_up && file.parent().is_some_and(|parent| without_links(parent).starts_with(without_links(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_run_lies_below_the_folder_of_the_service() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink("/etc", data.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(&data, folder.path().join("link")).unwrap();
        for (name, expected) in [
            ("data/a.csv", true),
            ("data/new/a.csv", true),
            ("data/./a.csv", true),
            ("link/a.csv", true),
            ("a.csv", false),
            ("data/../a.csv", false),
            // Of a folder that is not there no link is followed.
            ("data/new/../../a.csv", false),
            ("data/elsewhere/a.csv", false),
            ("data2/a.csv", false),
            ("/etc/a.csv", false),
        ] {
            assert_eq!(is_below(&folder.path().join(name), &data), expected, "{name}");
        }
        for (name, expected) in [
            ("data/{run:6}.nxs", "data"),
            ("data/run-{run}/{title}.nxs", "data"),
            ("/data/a.nxs", "/data"),
            ("{run}.nxs", "."),
            ("a.nxs", "."),
        ] {
            assert_eq!(folder_of(Path::new(name)), Path::new(expected), "{name}");
        }
    }
}
