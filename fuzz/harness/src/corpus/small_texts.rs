//! Options, lines, tables and views.

use super::Seed;
use std::path::Path;

/// Those of the documents, those that are shipped, and some with something wrong.
pub fn seeds() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = [
        ("brokers", "localhost,10.0.0.1:9093,[::1]:9092"),
        ("brokers-protocol", "SASL_SSL://a:1"),
        ("place-offset", "1200"),
        ("place-time", "2026-11-23T09:00:00+01:00"),
        ("place-too-large", "99999999999999999999"),
        ("drop-layout", "P1"),
        ("drop-layout-own", "offset=8,width=4,order=big,header=16"),
        ("drop-order", "random:7"),
        ("fault-rates", "lost=0.1,displaced-by=3"),
        ("fault", "wrong-number:train=3,number=5"),
        ("forward", "tcp://10.0.0.2:9000"),
        ("log-lines", "# a comment\nmotor 3.5\nvalve 1,2,3 2026-11-23T08:00:00Z\nx\nx y z w\nx NaN\n"),
        ("empty", ""),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .to_vec();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (folder, ending, kind) in [("views", "toml", "view"), ("configs/isis", "csv", "wiring")] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|own| own == ending) {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let mut bytes = std::fs::read(&path).expect("a shipped file");
                // A table goes on as it begins.
                bytes.truncate(4096);
                seeds.push(Seed::new(format!("{kind}-{stem}"), bytes));
            }
        }
    }
    seeds
}
