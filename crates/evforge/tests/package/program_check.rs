//! What `make package` asks of the programs that it packs.

use super::workspace;
use std::process::Command;

fn check(glibc: &str, absent: &str) -> (bool, String) {
    let python = std::env::var("EVFORGE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python)
        .arg(workspace().join("scripts/check-package-program.py"))
        .args(["--glibc", glibc, "--absent", absent, "/bin/sh"])
        .output()
        .expect("python3");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn symbols_of_a_newer_glibc_and_folders_of_the_build_are_found() {
    if Command::new("objdump").arg("--version").output().is_err() {
        let test = "symbols_of_a_newer_glibc_and_folders_of_the_build_are_found";
        evforge_testkit::skip(test, "objdump (binutils)");
        return;
    }
    assert_eq!(check("99.0", "no such text in a shell"), (true, String::new()));
    let (is_good, said) = check("2.0", "no such text in a shell");
    assert!(!is_good && said.contains("of glibc 2.") && said.contains("expected 2.0 or older"), "{said}");
    let (is_good, said) = check("99.0", "/bin");
    assert!(!is_good && said.contains("has a folder of the build in it: /bin"), "{said}");
    if cfg!(feature = "bundled") {
        return;
    }
    // Libraries that the base of a system may lack.
    let output = Command::new("python3")
        .arg(workspace().join("scripts/check-package-program.py"))
        .args(["--glibc", "99.0", env!("CARGO_BIN_EXE_evforge")])
        .output()
        .expect("python3");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("needs the library libhdf5"), "{said}");
}
