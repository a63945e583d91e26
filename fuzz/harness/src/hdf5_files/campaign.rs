//! Many damaged files, one after the other, and what came of them.

use super::{Outcome, Watched, damaged, originals, serve_child};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Crashes of the library that are kept as files.
const KEPT: usize = 20;

/// What came of all files.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// How often each outcome came, by its name.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// How the library crashed: signal and what was said last, with the times that it did.
    pub crashes: BTreeMap<String, u64>,
    /// Files that something of ours did not stand: a panic, no memory, no end.
    pub findings: Vec<PathBuf>,
}

impl Sums {
    /// Files in all.
    pub fn files(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// Damages sound files, each from a seed of its own from `seed` on, and has them read by `watched`, until it has been `seconds`, or
/// `most` were read. Findings, and some crashes of the library, stay in files whose names begin with `prefix`.
///
/// # Errors
/// If the sound files cannot be made, a sound one is not read, or no child can be started.
pub fn campaign(
    watched: &mut Watched,
    (seed, most, seconds): (u64, u64, Duration),
    prefix: &str,
) -> Result<Sums, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let all = originals(folder.path())?;
    let mut sums = Sums::default();
    let work = folder.path().join("damaged");
    fs::create_dir(&work)?;
    for original in &all {
        for reader in original.readers {
            let path = work.join(&original.file_name);
            fs::write(&path, &original.bytes)?;
            let outcome = watched.read(*reader, &path)?;
            if outcome != Outcome::Read {
                return Err(format!("{} is not read by {}: {outcome:?}", original.name, reader.name()).into());
            }
            clear(&work)?;
        }
    }
    let began = Instant::now();
    for number in seed.. {
        if sums.files() >= most || began.elapsed() >= seconds {
            break;
        }
        let original = &all[(number % all.len() as u64) as usize];
        let bytes = damaged(&original.bytes, number);
        for reader in original.readers {
            let path = work.join(&original.file_name);
            fs::write(&path, &bytes)?;
            let outcome = watched.read(*reader, &path)?;
            *sums.outcomes.entry(outcome.name()).or_default() += 1;
            let keep = |what: &str| -> std::io::Result<PathBuf> {
                let path = PathBuf::from(format!(
                    "{prefix}{what}-{}-{number}-{}",
                    reader.name(),
                    original.file_name
                ));
                fs::write(&path, &bytes)?;
                Ok(path)
            };
            match outcome {
                Outcome::Read | Outcome::Refused(_) => {}
                Outcome::Crashed { signal, said } => {
                    let how = format!("{}: signal {signal} {said}", reader.name());
                    let is_new = !sums.crashes.contains_key(&how);
                    *sums.crashes.entry(how).or_default() += 1;
                    if is_new && sums.crashes.len() <= KEPT {
                        keep("library")?;
                    }
                }
                Outcome::Panicked(said) => {
                    let path = keep("crash")?;
                    eprintln!("{}: {said}", path.display());
                    sums.findings.push(path);
                }
                Outcome::Hung => {
                    let path = keep("timeout")?;
                    eprintln!("{}: no end", path.display());
                    sums.findings.push(path);
                }
            }
            clear(&work)?;
        }
    }
    Ok(sums)
}

/// Files that readers have made, renamed or left go as well.
fn clear(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

/// The program: `-max_total_time=SECONDS`, `-runs=FILES`, `-seed=NUMBER` and `-artifact_prefix=FOLDER/`, as libFuzzer has them. Its last
/// lines are those of libFuzzer as well.
///
/// # Errors
/// As [`campaign`].
pub fn main() -> Result<i32, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "child") {
        serve_child()?;
        return Ok(0);
    }
    let value =
        |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(&format!("-{name}=")));
    let number = |name: &str, usually: u64| value(name).map_or(Ok(usually), str::parse);
    let (seconds, most) = (number("max_total_time", u64::MAX)?, number("runs", u64::MAX)?);
    let prefix = value("artifact_prefix").unwrap_or("./");
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap_or_default());
        command.arg("child");
        command
    };
    let began = Instant::now();
    let time = Duration::from_secs(seconds.min(1 << 30));
    let sums = campaign(&mut Watched::new(child), (number("seed", 1)?, most, time), prefix)?;
    for (how, times) in &sums.crashes {
        println!("the HDF5 library crashed {times} times: {how}");
    }
    for (outcome, files) in &sums.outcomes {
        println!("stat::files_{outcome}: {files}");
    }
    println!("stat::number_of_executed_units: {}", sums.files());
    println!("stat::average_exec_per_sec: {}", sums.files() / began.elapsed().as_secs().max(1));
    Ok(i32::from(!sums.findings.is_empty()))
}
