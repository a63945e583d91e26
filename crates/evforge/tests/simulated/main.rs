//! The whole program on a simulated host (`crates/simulated-host`), with faults at random moments, from a seed.
//!
//! Each seed is a live run of the shipped program: packets that are lost, doubled and reordered on the way, disks that are full for a
//! while or for good, short writes, slow disks, errors of the system, no descriptors, no threads, files that are removed, a clock that
//! is set, signals, clients that stall. What it leaves is compared with the events that its packets make without any fault.
//!
//! ```text
//! cargo test -p evforge --test simulated                     the same few seeds each time: every detector, every kind of fault
//! EVFORGE_SEEDS=10000 cargo test -p evforge --test simulated no_seed -- --nocapture
//! EVFORGE_SEED=4711 cargo test -p evforge --test simulated no_seed -- --nocapture     one of them again, with its trace
//! ```
#![allow(clippy::unwrap_used)]

mod checks;
mod expected;
mod instruments;
mod left;
mod program;
mod scenario;
mod tally;

use program::Host;
use scenario::Scenario;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tally::Tally;

/// Of `make test`: with every detector and every kind of fault. `EVFORGE_SEEDS` (`make seeds`) takes as many as it is told.
const SEEDS: [u64; 30] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 63, 120,
    135, 198,
];

/// A number of the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Runs a seed: what is wrong with it, and what it survived.
fn run(host: &Host, seed: u64) -> (Vec<String>, Tally) {
    let scenario = Scenario::of(seed);
    let outcome = host.run(&scenario);
    let wrong = checks::of(&scenario, &outcome);
    let mut tally = Tally::of(&outcome.trace);
    for (kind, count) in ["lost", "doubled", "reordered"].iter().zip(scenario.on_the_way) {
        tally.packets(kind, count);
    }
    (wrong, tally)
}

/// Runs seeds on both cores, and says what was found.
fn campaign(seeds: &[u64]) -> (u64, Tally, Vec<(u64, Vec<String>)>) {
    let next = AtomicUsize::new(0);
    let (all, found) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let done = AtomicU64::new(0);
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (next, all, found, done, enough) = (&next, &all, &found, &done, &enough);
            scope.spawn(move || {
                let host = Host::new();
                while !enough.load(Ordering::Relaxed) {
                    let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let (wrong, tally) = run(&host, seed);
                    all.lock().unwrap().add(&tally);
                    let number = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if number.is_multiple_of(1000) {
                        eprintln!("{number} seeds, {} with findings", found.lock().unwrap().len());
                    }
                    if !wrong.is_empty() {
                        let mut found = found.lock().unwrap();
                        found.push((seed, wrong));
                        // Enough to look at.
                        if found.len() >= 20 {
                            enough.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    (done.into_inner(), all.into_inner().unwrap(), found.into_inner().unwrap())
}

#[test]
fn no_seed_loses_anything_without_a_word() {
    if !program::is_possible("no_seed_loses_anything_without_a_word") {
        return;
    }
    let one = number("EVFORGE_SEED");
    let first = number("EVFORGE_FIRST_SEED").unwrap_or(1);
    let seeds = match (one, number("EVFORGE_SEEDS")) {
        (Some(one), _) => vec![one],
        (None, Some(count)) => (first..first + count).collect(),
        (None, None) => SEEDS.to_vec(),
    };
    let (done, tally, found) = campaign(&seeds);
    println!("{done} seeds\n{tally}");
    for (seed, wrong) in &found {
        println!("seed {seed} (again: EVFORGE_SEED={seed}): {}", wrong.join("\n    "));
    }
    assert!(found.is_empty(), "{} of {done} seeds: see above", found.len());
    assert!(done >= 1 && (one.is_some() || tally.faults() > 0), "nothing was done to the program");
}

/// Detectors and kinds of faults of seeds.
fn kinds(seeds: impl IntoIterator<Item = u64>) -> BTreeSet<String> {
    seeds.into_iter().flat_map(|seed| Scenario::of(seed).kinds()).collect()
}

#[test]
fn the_seeds_of_a_test_run_have_every_detector_and_every_kind_of_fault() {
    let (all, those) = (kinds(1..400), kinds(SEEDS));
    assert!(all.len() > 40, "{all:?}");
    let missing: Vec<_> = all.difference(&those).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_seed_replays_exactly() {
    if !program::is_possible("a_seed_replays_exactly") {
        return;
    }
    let host = Host::new();
    for seed in [1, 2, 3] {
        let mut scenario = Scenario::of(seed);
        scenario.every_turn = true;
        let (first, second) = (host.run(&scenario), host.run(&scenario));
        assert!(first.trace.lines().count() > 500, "{}", first.trace);
        let pairs = first.trace.lines().zip(second.trace.lines()).enumerate();
        for (line, (first, second)) in pairs {
            assert_eq!(first, second, "line {line} of the traces of seed {seed}");
        }
        assert_eq!(first.trace.len(), second.trace.len(), "the traces of seed {seed}");
        let what = |outcome: &program::Outcome| (outcome.status, outcome.left.clone());
        assert_eq!(what(&first), what(&second));
    }
}
