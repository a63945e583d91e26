//! How fast trains get into files, beside the disk's own rate: `write_trains FOLDER [MEGABYTES [ROUNDS [IMAGES [DEFLATE]]]]`.
//!
//! Each round writes the same bytes three times, each until the disk says that it has them (fsync): a plain file with the images, one
//! behind the other; the same while a thread asks the disk all the time to keep what is there (fdatasync), which is faster and what the
//! writer of trains does, too; and a run of one module. Which comes first changes with each round. All files are removed.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evforge_train::file::{ArrivedTrain, TrainFileOptions, TrainFiles};
use evforge_wire::train::{ImageDescriptor, Train, TrainDetector, TrainHeader, TrainLayout, TrainTrailer};

const LPD: TrainDetector = TrainDetector::Lpd;
/// Trains with contents of their own, which are written in turn.
const KINDS: usize = 4;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("write_trains FOLDER [MEGABYTES [ROUNDS [IMAGES [DEFLATE]]]]");
        std::process::exit(2);
    };
    let folder = Path::new(&folder);
    let mut number = |usually: u64| arguments.next().map_or(usually, |text| text.parse().unwrap());
    let (megabytes, rounds, images) = (number(2048), number(3).max(1), number(64) as u32);
    let deflate = arguments.next().map(|text| text.parse().unwrap());
    let layout = TrainLayout::of(LPD, images);
    let trains = (megabytes * 1_000_000).div_ceil(layout.all_images().len() as u64);
    let bytes = trains * layout.all_images().len() as u64;
    println!(
        "{trains} trains of {images} images of {} bytes: {:.2} GB",
        LPD.image_bytes(),
        bytes as f64 * 1e-9
    );
    let kinds: Vec<_> = (0..KINDS as u64).map(|kind| train(&layout, images, kind)).collect();

    let mut options = TrainFileOptions::new(folder, LPD, 9999);
    options.deflate = deflate;
    let run = folder.join("r9999");
    let ways: [(&str, &dyn Fn()); 3] = [
        ("plain", &|| write_plain(&folder.join("plain"), &layout, &kinds, trains, false)),
        ("plain, synchronised along the way", &|| {
            write_plain(&folder.join("plain"), &layout, &kinds, trains, true);
        }),
        ("files", &|| write_files(&options, &kinds, trains)),
    ];
    let mut rates = [const { Vec::new() }; 3];
    for round in 0..rounds as usize {
        for way in 0..ways.len() {
            let at = (round + way) % ways.len();
            let (name, write) = ways[at];
            let rate = bytes as f64 * 1e-6 / seconds(write);
            rates[at].push(rate);
            println!("round {round}: {name}: {rate:.0} MB/s");
            let _ = fs::remove_dir_all(&run);
        }
    }
    for rates in &mut rates {
        rates.sort_by(f64::total_cmp);
    }
    let both = |at: usize| (rates[at][rates[at].len() / 2], rates[at][rates[at].len() - 1]);
    let (median, best) = both(2);
    for (at, (name, _)) in ways.iter().enumerate() {
        let (its_median, its_best) = both(at);
        let (of_median, of_best) = (median / its_median * 100.0, best / its_best * 100.0);
        println!(
            "{name}: median {its_median:.0} MB/s, of which files reach {of_median:.0} %; best {its_best:.0} MB/s, {of_best:.0} %"
        );
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

/// The images, one behind the other.
fn write_plain(path: &Path, layout: &TrainLayout, kinds: &[Vec<u8>], trains: u64, along_the_way: bool) {
    let mut file = File::create(path).unwrap();
    let is_written = Arc::new(AtomicBool::new(!along_the_way));
    let syncer = thread::spawn({
        let (file, is_written) = (file.try_clone().unwrap(), Arc::clone(&is_written));
        move || {
            while !is_written.load(Ordering::Relaxed) {
                file.sync_data().unwrap();
                thread::sleep(Duration::from_millis(10));
            }
        }
    });
    for kind in kinds.iter().cycle().take(trains as usize) {
        for image in 0..layout.images() {
            file.write_all(&kind[layout.image(image)]).unwrap();
        }
    }
    is_written.store(true, Ordering::Relaxed);
    syncer.join().unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::remove_file(path).unwrap();
}

fn write_files(options: &TrainFileOptions, kinds: &[Vec<u8>], trains: u64) {
    let mut files = TrainFiles::create(options.clone()).unwrap();
    let mut numbered: Vec<_> = kinds.to_vec();
    for number in 1..=trains {
        let bytes = &mut numbered[(number % KINDS as u64) as usize];
        bytes[16..24].copy_from_slice(&number.to_le_bytes());
        let train = Train::parse(bytes, LPD.image_bytes()).unwrap();
        files
            .write(&ArrivedTrain { module: 0, train, not_whole: &[], rejected: &[], arrival_ns: number })
            .unwrap();
    }
    files.finish().unwrap();
}

/// A train with 12-bit noise in its images.
fn train(layout: &TrainLayout, images: u32, kind: u64) -> Vec<u8> {
    let mut bytes = vec![0; layout.total()];
    let header = TrainHeader {
        major_version: 2,
        minor_version: 1,
        train: 1,
        data: 0,
        detector_link: 0,
        builder_link: u32::MAX,
        images: images.into(),
        specific_bytes: LPD.specific_bytes() as u32,
        builder_bytes: 0,
        reserved: [0; 8],
    };
    let mut random = kind + 1;
    for value in bytes[layout.all_images()].chunks_exact_mut(2) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        value.copy_from_slice(&((random >> 52) as u16).to_le_bytes());
    }
    let descriptors = vec![ImageDescriptor::default(); images as usize];
    layout.write_ends(&header, &descriptors, &TrainTrailer::default(), &mut bytes);
    bytes
}
