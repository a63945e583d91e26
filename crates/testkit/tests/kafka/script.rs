//! `scripts/kafka.sh fetch` takes what is pinned and nothing else. The broker itself is in `kafka_broker.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script with a list of its own, and a repository of one jar.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new(content: &str, pinned: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka.sh");
        std::fs::copy(script, at("kafka.sh")).expect("the script");
        std::fs::create_dir_all(at("maven/org/some/part/1.2")).expect("folders");
        std::fs::write(at("maven/org/some/part/1.2/part-1.2.jar"), content).expect("a jar");
        std::fs::write(at("pinned"), pinned).expect("a file");
        let sum = Command::new("sha256sum").arg(at("pinned")).output().expect("sha256sum");
        let sum = String::from_utf8_lossy(&sum.stdout)[..64].to_owned();
        std::fs::write(at("kafka-jars.txt"), format!("# a comment\n{sum}  org.some:part:1.2\n"))
            .expect("a list");
        Self { folder }
    }

    fn jar(&self) -> PathBuf {
        self.folder.path().join("cache/part-1.2.jar")
    }

    fn run(&self, command: &str) -> (bool, String) {
        let Output { status, stdout, stderr } = Command::new(self.folder.path().join("kafka.sh"))
            .arg(command)
            .env("EVFORGE_KAFKA_CACHE", self.folder.path().join("cache"))
            .env("EVFORGE_MAVEN", format!("file://{}", self.folder.path().join("maven").display()))
            .output()
            .expect("the script starts");
        (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
    }
}

#[test]
fn a_jar_is_fetched_once_and_again_if_it_has_changed() {
    let repository = Repository::new("right", "right");
    let (is_good, said) = repository.run("fetch");
    assert!(is_good && said.contains("fetching"), "{said}");
    assert_eq!(std::fs::read(repository.jar()).unwrap(), b"right");
    assert_eq!(repository.run("fetch"), (true, String::new()));
    std::fs::write(repository.jar(), "changed").unwrap();
    let (is_good, said) = repository.run("fetch");
    assert!(!is_good && said.contains("part-1.2.jar has changed"), "{said}");
    assert!(repository.run("fetch").0);
    assert_eq!(std::fs::read(repository.jar()).unwrap(), b"right");
}

#[test]
fn a_jar_with_another_content_is_refused_by_name() {
    let repository = Repository::new("wrong", "right");
    let (is_good, said) = repository.run("fetch");
    assert!(!is_good && said.contains("part-1.2.jar is refused"), "{said}");
    assert!(!repository.jar().exists());
    let (is_good, said) = repository.run("check");
    // Without Java that is missed first.
    assert!(!is_good && (said.contains("kafka.sh fetch") || said.contains("Java")), "{said}");
}

#[test]
fn a_jar_that_cannot_be_had_is_no_success() {
    let repository = Repository::new("right", "right");
    std::fs::remove_dir_all(repository.folder.path().join("maven")).unwrap();
    let (is_good, said) = repository.run("fetch");
    assert!(!is_good && said.contains("EVFORGE_MAVEN names a mirror"), "{said}");
}
