//! Hard links.

use hdf5_metno::File;

use super::content::step_down;
use super::content::{Group, Node, Structure};
use super::create::check_depth;
use super::error::CreateError;

/// How often all links are gone through, so that those to other links find them.
const ROUNDS: usize = 8;

/// A link with full paths.
struct Wanted {
    group: String,
    link: String,
    target: String,
}

/// Makes the links of a structure. After the modules have made their datasets, and before others may follow the file.
///
/// A link may lead to another one, through up to eight of them.
///
/// # Errors
/// If what a link leads to is not there, contains it, or HDF5 refuses. Links made by then stay.
pub fn create_links(file: &File, structure: &Structure) -> Result<(), CreateError> {
    let mut wanted = Vec::new();
    collect(&structure.root, &mut String::new(), 0, &mut wanted)?;
    for _ in 0..ROUNDS {
        let before = wanted.len();
        let mut missing = Vec::new();
        for link in wanted {
            if is_there(file, &link.target) {
                make(file, &link)?;
            } else {
                missing.push(link);
            }
        }
        wanted = missing;
        if wanted.is_empty() || wanted.len() == before {
            break;
        }
    }
    match wanted.into_iter().next() {
        Some(Wanted { link, target, .. }) => Err(CreateError::NoTarget { link, target }),
        None => Ok(()),
    }
}

fn make(file: &File, wanted: &Wanted) -> Result<(), CreateError> {
    let Wanted { group, link, target } = wanted;
    let is_around = target == "/" || group == target || group.starts_with(&format!("{target}/"));
    if is_around {
        return Err(CreateError::Circle { link: link.clone(), target: target.clone() });
    }
    if is_there(file, link) {
        return Err(CreateError::Exists { path: link.clone(), found: "something" });
    }
    file.link_hard(target, link).map_err(CreateError::at(link))
}

fn collect(
    group: &Group,
    path: &mut String,
    depth: usize,
    wanted: &mut Vec<Wanted>,
) -> Result<(), CreateError> {
    check_depth(depth, path)?;
    for child in &group.children {
        match child {
            Node::Group(child) => {
                let length = step_down(path, &child.name);
                collect(child, path, depth + 1, wanted)?;
                path.truncate(length);
            }
            Node::Link(link) => {
                let full = format!("{path}/{}", link.name);
                let target = resolved(path, &link.source).ok_or_else(|| CreateError::NoTarget {
                    link: full.clone(),
                    target: link.source.clone(),
                })?;
                wanted.push(Wanted { group: path.clone(), link: full, target });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The path that a source means in a group; none if it climbs above the root.
fn resolved(group: &str, source: &str) -> Option<String> {
    let start = if source.starts_with('/') { "" } else { group };
    let mut names: Vec<&str> = start.split('/').filter(|name| !name.is_empty()).collect();
    for name in source.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(format!("/{}", names.join("/")))
}

/// True if there is something at a full path. HDF5 looks for one name only in groups that are there.
fn is_there(file: &File, path: &str) -> bool {
    let mut at = 1;
    while at < path.len() {
        let end = path[at..].find('/').map_or(path.len(), |length| at + length);
        if !file.link_exists(&path[..end]) {
            return false;
        }
        at = end + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::resolved;

    #[test]
    fn sources_are_paths_from_the_group_or_from_the_root() {
        for (group, source, path) in [
            ("/entry/a", "b", Some("/entry/a/b")),
            ("/entry/a", "../b", Some("/entry/b")),
            ("/entry/a", "../../x/y", Some("/x/y")),
            ("/entry/a", "./b//c/", Some("/entry/a/b/c")),
            ("/entry/a", "/b/../c", Some("/c")),
            ("/entry/a", "../..", Some("/")),
            ("/entry/a", "../../..", None),
            ("", "..", None),
        ] {
            assert_eq!(resolved(group, source).as_deref(), path, "{group} {source}");
        }
    }
}
