//! Files that must not be the same: what a command writes, and what it reads or writes besides. And files that are there already,
//! which no command replaces unless it is told to (`overwrite.rs`).
//!
//! Two names are of one file if they lead to the same place, whatever their spelling, or to the same file by another
//! name (a symbolic or a hard link). It is looked at before anything is opened, and nothing is changed by it.

use crate::CommandError;
use crate::arguments::OverwriteArguments;
use evforge_net::staged_file::is_standard_output;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of a command, by the options that name them.
#[derive(Default)]
pub(crate) struct NamedFiles {
    inputs: Vec<NamedFile>,
    outputs: Vec<NamedFile>,
}

struct NamedFile {
    option: String,
    path: PathBuf,
    /// Device and number, if there is a plain file.
    file: Option<(u64, u64)>,
    /// The folder, without links, and the name in it.
    place: PathBuf,
    /// There is something of this name, and only `--overwrite` replaces it.
    is_in_the_way: bool,
}

impl NamedFile {
    fn new(option: &str, path: &Path) -> Self {
        let about = path.metadata().ok().filter(|about| about.is_file());
        let file = about.map(|about| (about.dev(), about.ino()));
        Self {
            option: option.to_owned(),
            path: path.to_owned(),
            file,
            place: place_of(path),
            is_in_the_way: false,
        }
    }

    /// A file that is to be made: a plain file or a link of its name is in the way. What is neither cannot be replaced at all,
    /// which is said where it is opened.
    fn to_be_made(option: &str, path: &Path) -> Self {
        let is_there = !is_standard_output(path)
            && path.symlink_metadata().is_ok_and(|about| about.is_file() || about.is_symlink());
        Self { is_in_the_way: is_there && !is_device(path), ..Self::new(option, path) }
    }

    fn is(&self, other: &Self) -> bool {
        self.place == other.place || self.file.is_some() && self.file == other.file
    }
}

/// True if a path leads to something that is neither a file nor absent: /dev/stdout, for one.
fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| !about.is_file())
}

/// What a link leads to that leads to nothing. Some outputs would find out at their end only.
fn nowhere(path: &Path) -> Option<PathBuf> {
    let target = path.read_link().ok()?;
    path.metadata().is_err().then_some(target)
}

/// Where the last part of a path is, with all links before it followed.
fn place_of(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => without_links(folder).join(name),
        _ => path.to_owned(),
    }
}

/// A folder, by its whole name, with all links followed. What is not there has none.
pub(crate) fn without_links(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        .unwrap_or_else(|_| folder.to_owned());
    let there = folder.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    match there {
        Some((part, real)) => real.join(folder.strip_prefix(part).unwrap_or(Path::new(""))),
        None => folder,
    }
}

impl NamedFiles {
    /// Adds files that are read, as far as `paths` has some.
    pub(crate) fn input<'a>(mut self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.inputs.extend(paths.into_iter().map(|path| NamedFile::new(option, path)));
        self
    }

    /// Adds files that are written, as far as `paths` has some.
    pub(crate) fn output<'a>(mut self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        self.outputs.extend(paths.into_iter().map(|path| NamedFile::to_be_made(option, path)));
        self
    }

    /// Adds files that are written, and may be there already: they are changed, or have a rule of their own.
    pub(crate) fn kept_output<'a>(
        mut self,
        option: &str,
        paths: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Self {
        self.outputs.extend(paths.into_iter().map(|path| NamedFile::new(option, path)));
        self
    }

    /// Makes sure that no output is an input or another output, nor a file that is there already, unless that is to be replaced.
    ///
    /// # Errors
    /// The first pair that is the same file, with both names; the first name that is a link to nothing; the first file that is in the
    /// way, and how to replace it.
    pub(crate) fn check(&self, overwrite: OverwriteArguments) -> Result<(), CommandError> {
        self.check_different()?;
        if let Some((output, target)) =
            self.outputs.iter().find_map(|output| Some((output, nowhere(&output.path)?)))
        {
            return Err(format!(
                "{} {} is a link to {}, which is not there: remove the link, or choose another name",
                output.option,
                output.path.display(),
                target.display()
            )
            .into());
        }
        let in_the_way = self.outputs.iter().find(|output| output.is_in_the_way && !overwrite.overwrite);
        match in_the_way {
            None => Ok(()),
            Some(output) => {
                let key = match output.option.strip_prefix('[').and_then(|option| option.strip_suffix(']')) {
                    Some(table) => format!(", set {table}.if_exists = \"overwrite\""),
                    None => String::new(),
                };
                let path = output.path.display();
                let option = &output.option;
                Err(format!(
                    "{option} {path} exists: give --overwrite to replace it{key}, or choose another name"
                )
                .into())
            }
        }
    }

    /// Makes sure that no output is an input or another output.
    ///
    /// # Errors
    /// The first pair that is the same file, with both names.
    pub(crate) fn check_different(&self) -> Result<(), CommandError> {
        for (index, output) in self.outputs.iter().enumerate() {
            let path = output.path.display();
            if let Some(input) = self.inputs.iter().find(|input| input.is(output)) {
                return Err(format!(
                    "{} {path} is the file that {} reads ({}), and would replace it: choose another name",
                    output.option,
                    input.option,
                    input.path.display()
                )
                .into());
            }
            if let Some(other) = self.outputs[..index].iter().find(|other| other.is(output)) {
                return Err(format!(
                    "{} {path} is the file that {} writes, too ({}): choose another name for one of them",
                    output.option,
                    other.option,
                    other.path.display()
                )
                .into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &Path, output: &Path) -> Result<(), CommandError> {
        let (input, output) = (input.to_owned(), output.to_owned());
        NamedFiles::default()
            .input("--input", Some(&input))
            .output("--events", Some(&output))
            .check_different()
    }

    /// A file and a link to one are in the way; a link to nothing is refused; what is no file is not replaced but written to, or refused
    /// where it is opened.
    #[test]
    fn a_file_that_exists_is_refused_unless_it_is_to_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let check = |path: &Path, overwrite| {
            let files = NamedFiles::default().output("[outputs.csv]", Some(&path.to_owned()));
            files.check(OverwriteArguments { overwrite }).map_err(|error| error.to_string())
        };
        std::fs::write(path("a.csv"), "old").unwrap();
        std::os::unix::fs::symlink(path("a.csv"), path("link.csv")).unwrap();
        for name in ["a.csv", "link.csv"] {
            let said = check(&path(name), false).unwrap_err();
            assert!(
                said.contains("exists: give --overwrite") && said.contains("outputs.csv.if_exists"),
                "{said}"
            );
            assert_eq!(check(&path(name), true), Ok(()));
        }
        std::os::unix::fs::symlink(path("nowhere"), path("dangling.csv")).unwrap();
        for overwrite in [false, true] {
            let said = check(&path("dangling.csv"), overwrite).unwrap_err();
            assert!(said.contains("is a link to ") && said.contains("nowhere, which is not there"), "{said}");
        }
        assert_eq!((check(&path("new.csv"), false), check(Path::new("/dev/null"), false)), (Ok(()), Ok(())));
        let kept = NamedFiles::default().kept_output("--nexus", Some(&path("a.csv")));
        assert!(kept.check(OverwriteArguments::default()).is_ok());
    }

    #[test]
    fn a_file_is_the_same_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let input = path("run.pcapng");
        std::fs::write(&input, "packets").unwrap();
        std::fs::create_dir(path("sub")).unwrap();
        std::os::unix::fs::symlink("run.pcapng", path("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), path("sub/folder")).unwrap();
        std::fs::hard_link(&input, path("second")).unwrap();
        for name in
            ["run.pcapng", "./run.pcapng", "sub/../run.pcapng", "sub/folder/run.pcapng", "link", "second"]
        {
            let error = check(&input, &path(name)).unwrap_err().to_string();
            assert!(error.contains("--events") && error.contains("--input"), "{name}: {error}");
        }
        for name in ["run", "sub/run.pcapng", "absent/run.pcapng"] {
            assert!(check(&input, &path(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn two_outputs_are_compared_before_either_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let (one, same) = (folder.path().join("out"), folder.path().join("sub/../out"));
        let other = folder.path().join("sub/out");
        let outputs = |second: &PathBuf| {
            NamedFiles::default()
                .output("--report", Some(&one))
                .output("--image", Some(second))
                .check_different()
        };
        assert!(outputs(&same).unwrap_err().to_string().contains("--image"));
        assert!(outputs(&other).is_ok());
        // What is no plain file, such as /dev/null, may be read and written by all: it is refused elsewhere, if at all.
        assert!(check(Path::new("/dev/null"), Path::new("/dev/zero")).is_ok());
    }
}
