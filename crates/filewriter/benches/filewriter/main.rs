//! The file writer against its two halves: how fast what topics hold comes into a file.
//!
//! Nothing can be faster than the slower of (a) reading the topics with librdkafka's own consumer, nothing done with the messages,
//! and (b) writing the same columns with the same commits and the same compression, the messages decoded in memory. The whole job (c)
//! does both. Rounds of the three alternate; the ratio is that of each round. Then the same job with logs, and without.
//!
//! Everything, the broker included, is on the cores of one machine. Times begin when the file is there with its structure and end
//! when it is complete, with its checksum.
//!
//! `cargo bench -p evforge-filewriter --bench filewriter [-- ROUNDS [only plain|deflate|logs|growth|idle]]`

mod filling;
mod growth;
mod measured;
mod work;

use filling::{Filling, LOG_RATE, LOG_SOURCES};
use measured::{Measured, spread};
use std::error::Error;
use work::{Layout, bare_reading, job, whole_job, writing_alone};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(15);
    let only = std::env::args().skip_while(|argument| argument != "only").nth(1);
    let is_asked = |what: &str| only.as_deref().is_none_or(|only| only == what);
    if !evforge_testkit::kafka_broker::is_possible("filewriter") {
        return Ok(());
    }
    for (name, deflate) in [("plain", None), ("deflate", Some(2))] {
        if is_asked(name) {
            halves(name, deflate, rounds)?;
        }
    }
    if is_asked("logs") {
        for deflate in [Some(2), None] {
            logs(deflate, rounds)?;
        }
    }
    if is_asked("growth") {
        growth::partitions_and_sources(rounds.min(5))?;
    }
    if is_asked("idle") {
        growth::idle_logs()?;
    }
    Ok(())
}

/// (a), (b) and (c).
fn halves(name: &str, deflate: Option<u8>, rounds: usize) -> Outcome<()> {
    let filling = Filling::events(50_000_000, 1, 1)?;
    let events = filling.events as f64;
    println!(
        "{name}: {} messages, {:.0} million events, {:.0} MB; {rounds} rounds",
        filling.messages.len(),
        events / 1e6,
        filling.bytes() as f64 / 1e6
    );
    println!(
        "{:>28} {:>28} {:>36}",
        "reading: M ev/s, cores", "writing: M ev/s, cores", "job: M ev/s, MB/s, cores, ratio"
    );
    let layout = Layout { sources: 1, logs: 0 };
    // The files of the broker and the memory of this process are warm then.
    bare_reading(&filling)?;
    whole_job(&filling, layout, deflate)?;
    let (mut ratios, mut rates, mut cores) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut all = [Measured::default(); 3];
        for place in 0..3 {
            let which = (place + round) % 3;
            if let Some(measured) = all.get_mut(which) {
                *measured = match which {
                    0 => bare_reading(&filling)?,
                    1 => writing_alone(&filling, deflate)?,
                    _ => whole_job(&filling, layout, deflate)?,
                };
            }
        }
        let [reading, writing, job] = all;
        let rate = |measured: Measured| events / measured.wall / 1e6;
        let ratio = reading.wall.max(writing.wall) / job.wall;
        println!(
            "{:>19.1} {:>8.2} {:>19.1} {:>8.2} {:>14.1} {:>6.0} {:>6.2} {ratio:>7.3}",
            rate(reading),
            reading.cores(),
            rate(writing),
            writing.cores(),
            rate(job),
            filling.bytes() as f64 / job.wall / 1e6,
            job.cores()
        );
        ratios.push(ratio);
        rates.push(rate(job));
        cores.push(job.cores());
    }
    println!("{name}: job / the slower of the two: {}", spread(&mut ratios));
    println!("{name}: M events/s: {}", spread(&mut rates));
    println!("{name}: cores: {}", spread(&mut cores));
    Ok(())
}

/// Events with and without 10 000 messages of logs a second, which last as long as the events are read alone. The rate is that of
/// reading: the end of a file with thousands of datasets takes a while of its own, however long the run was. So does the first row
/// of each log; the shorter run shows how much of the difference that is.
fn logs(deflate: Option<u8>, rounds: usize) -> Outcome<()> {
    for events in [100_000_000, 200_000_000] {
        let mut filling = Filling::events(events, 1, 1)?;
        let without = Layout { sources: 1, logs: 0 };
        let with = Layout { sources: 1, logs: LOG_SOURCES };
        whole_job(&filling, without, deflate)?;
        let (_, alone) = job(&filling, without, deflate)?;
        filling.add_logs((alone.wall * LOG_RATE) as usize)?;
        let what = format!("logs, deflate {deflate:?}, {} million events", events / 1_000_000);
        println!("{what}: {} messages of {LOG_SOURCES} sources next to {:.2} s", filling.logs, alone.wall);
        whole_job(&filling, with, deflate)?;
        let (mut rates, mut times, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let (first, second);
            if round % 2 == 0 {
                first = job(&filling, without, deflate)?;
                second = job(&filling, with, deflate)?;
            } else {
                second = job(&filling, with, deflate)?;
                first = job(&filling, without, deflate)?;
            }
            let end = |(whole, reading): (Measured, Measured)| whole.wall - reading.wall;
            println!(
                "{:>8.1} M ev/s without, {:>8.1} with; processor time {:.2} s and {:.2} s; the end {:.2} s and {:.2} s",
                filling.events as f64 / first.1.wall / 1e6,
                filling.events as f64 / second.1.wall / 1e6,
                first.1.cpu,
                second.1.cpu,
                end(first),
                end(second)
            );
            rates.push(first.1.wall / second.1.wall);
            times.push(first.1.cpu / second.1.cpu);
            ends.push(end(second) - end(first));
        }
        println!("{what}: rate with / without: {}", spread(&mut rates));
        println!("{what}: processor time of reading without / with: {}", spread(&mut times));
        println!("{what}: the end takes longer by, s: {}", spread(&mut ends));
    }
    Ok(())
}
