//! How fast a disk takes what is recorded.

use evforge_host::Finding;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

/// Bytes that are written at once, as a recording is.
const BLOCK: usize = 1 << 20;
/// How many of them: enough for a cache of the disk not to be all of it, and no more than some seconds of a slow one.
const BLOCKS: usize = 512;

/// Writes 512 MB into a file of `folder`, until the disk says that it has them, and removes it: what it took, against what comes
/// over a link of `link_speed` megabits per second, if that is known.
pub fn disk_speed(folder: &Path, link_speed: Option<u64>) -> Finding {
    let subject = format!("disk of {}", folder.display());
    match measured(folder) {
        Err(error) => {
            Finding::missing(&subject, error.to_string(), "name a folder in which 512 MB can be written")
        }
        Ok(speed) => judged(&subject, speed, link_speed),
    }
}

fn judged(subject: &str, bytes_per_second: f64, link_speed: Option<u64>) -> Finding {
    let found = format!("takes {:.0} MB/s", bytes_per_second / 1e6);
    let Some(megabits) = link_speed else { return Finding::good(subject, found) };
    let wanted = megabits as f64 / 8.0;
    if bytes_per_second / 1e6 >= wanted {
        return Finding::good(subject, found);
    }
    let fix = "record onto faster disks (several as one), or less of the data: docs/recording.md";
    let why = "What comes faster than the disk takes it waits in memory (record.queue), and is then lost to the recording, not to the events.";
    let source = "10GE network tests with UDP: a train in 0.1 s, and 0.7 s for the others";
    Finding::advice(subject, format!("{found}; the link can bring {wanted:.0} MB/s"), fix).because(
        &format!("{wanted:.0} MB/s"),
        why,
        source,
    )
}

/// Bytes per second.
fn measured(folder: &Path) -> io::Result<f64> {
    let path = folder.join(format!(".evforge-disk-speed-{}", std::process::id()));
    let written = write_blocks(&path);
    let removed = std::fs::remove_file(&path);
    let speed = written?;
    removed.map(|()| speed)
}

fn write_blocks(path: &Path) -> io::Result<f64> {
    let mut file = File::create_new(path)?;
    // Not zeros: some disks do not store those.
    let block: Vec<u8> =
        (0..BLOCK as u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let started = Instant::now();
    for _ in 0..BLOCKS {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok((BLOCK * BLOCKS) as f64 / started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_host::Verdict;

    #[test]
    fn a_disk_is_compared_with_the_link_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let finding = disk_speed(folder.path(), None);
        assert_eq!(finding.verdict, Verdict::Good, "{finding:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(judged("disk", 1.3e9, Some(10_000)).verdict, Verdict::Good);
        let slow = judged("disk", 1.2e9, Some(10_000));
        assert!(slow.verdict == Verdict::Advice && slow.found.contains("1250 MB/s"), "{slow:?}");
        assert_eq!(disk_speed(Path::new("/no/such/folder"), None).verdict, Verdict::Missing);
    }
}
