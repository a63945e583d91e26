//! Writes what the encoders make today into `fuzz/corpus`, and the dictionaries: `cargo run -p evforge-fuzz-harness --example write_corpus`.
//!
//! Only the files that the encoders make are written; inputs that were found by fuzzing stay as they are.

use evforge_fuzz_harness::{TARGETS, corpus, dictionaries};

fn main() -> std::io::Result<()> {
    for target in TARGETS {
        let folder = corpus::folder().join(target.name);
        std::fs::create_dir_all(&folder)?;
        let seeds = (target.seeds)();
        for seed in &seeds {
            std::fs::write(folder.join(&seed.name), &seed.bytes)?;
        }
        let bytes: usize = seeds.iter().map(|seed| seed.bytes.len()).sum();
        println!("{}: {} inputs, {bytes} bytes", target.name, seeds.len());
    }
    std::fs::create_dir_all(dictionaries::folder())?;
    for dictionary in dictionaries::dictionaries() {
        let file = dictionaries::folder().join(format!("{}.dict", dictionary.target));
        std::fs::write(file, dictionary.text())?;
        println!("{}: {} words", dictionary.target, dictionary.words.len());
    }
    Ok(())
}
