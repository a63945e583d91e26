//! This program.

use super::gathered::Gathered;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

/// Digits of the checksum that are kept: enough to tell builds apart.
const DIGITS: usize = 16;

pub(super) fn add(gathered: &mut Gathered) {
    let build = if cfg!(debug_assertions) { "for development: slow" } else { "release" };
    gathered
        .part("program")
        .add("version", Some(concat!("evforge ", env!("CARGO_PKG_VERSION"))))
        .add("build", Some(build))
        .add("target", Some(format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)))
        .add("checksum (SHA-256)", checksum());
}

/// The beginning of the checksum of the program's file: packages of one commit have the same to the last bit.
fn checksum() -> Option<String> {
    static CHECKSUM: OnceLock<Option<String>> = OnceLock::new();
    CHECKSUM
        .get_or_init(|| {
            let mut file = File::open("/proc/self/exe").ok()?;
            let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
            loop {
                match file.read(&mut piece).ok()? {
                    0 => break,
                    bytes => hash.update(&piece[..bytes]),
                }
            }
            let text: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            text.get(..DIGITS).map(str::to_owned)
        })
        .clone()
}
