//! Plugins, built for tests: with the C compiler, without which Rust itself links nothing, and with cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a command that must succeed; what it has printed on standard output.
///
/// # Panics
/// If it does not succeed, with what it said.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The C compiler, strict, with the project's headers.
pub fn c_compiler() -> Command {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    command.arg(workspace().join("include"));
    command
}

/// Builds the shared library `lib<name>.so` in `folder` of one file in C, with further `arguments`.
///
/// # Panics
/// If it cannot be built.
pub fn c_library(source: &Path, folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let library = folder.join(format!("lib{name}.so"));
    succeed(c_compiler().args(["-fPIC", "-shared"]).args(arguments).arg(source).arg("-o").arg(&library));
    library
}

/// Builds `examples/plugin-c` in `folder`: its library.
///
/// # Panics
/// If it cannot be built.
pub fn c_example(folder: &Path) -> PathBuf {
    c_library(&workspace().join("examples/plugin-c/detector.c"), folder, "pixel_stream_c", &[])
}

/// Builds `examples/plugin-rust` in `folder`, with further `arguments` for cargo (`--release`): its library.
///
/// # Panics
/// If it cannot be built.
pub fn rust_example(folder: &Path, arguments: &[&str]) -> PathBuf {
    let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    cargo.args(["build", "--quiet", "--locked", "--offline", "--package", "evforge-example-plugin"]);
    // Not those of the outer cargo, which may be at work there.
    cargo.arg("--target-dir").arg(folder).args(arguments).current_dir(workspace());
    succeed(&mut cargo);
    let profile = if arguments.contains(&"--release") { "release" } else { "debug" };
    folder.join(profile).join("libpixel_stream.so")
}
