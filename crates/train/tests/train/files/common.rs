//! Trains whose values follow a rule, which `tests/python/test_train_readback.py` has, too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use evforge_train::file::{ArrivedTrain, FileError, Filed, TrainFileOptions, TrainFiles};
use evforge_wire::train::{ImageDescriptor, Train, TrainDetector, TrainHeader, TrainLayout, TrainTrailer};

/// When the first train arrives.
pub(crate) const ARRIVAL: u64 = 1_790_000_000_000_000_000;

/// A train of so many images.
pub(crate) fn train_bytes(detector: TrainDetector, module: u8, number: u64, images: u32) -> Vec<u8> {
    let layout = TrainLayout::of(detector, images);
    let mut bytes = vec![0; layout.total()];
    let header = TrainHeader {
        major_version: 2,
        minor_version: 1,
        train: number,
        data: number * 11,
        detector_link: module.into(),
        builder_link: u32::MAX,
        images: images.into(),
        specific_bytes: detector.specific_bytes() as u32,
        builder_bytes: 0,
        reserved: [1, 2, 3, 4, 5, 6, 7, 8],
    };
    let descriptor = |image: u32| ImageDescriptor {
        cell: (image * 2) as u16 + u16::from(module),
        pulse: u64::from(image) * 5 + 3,
        status: 0,
        length: detector.image_bytes() as u32,
    };
    let descriptors: Vec<_> = (0..images).map(descriptor).collect();
    let trailer = TrainTrailer { checksum: std::array::from_fn(|k| k as u8), status: number % 251 };
    layout.write_ends(&header, &descriptors, &trailer, &mut bytes);
    for image in 0..images {
        let start = number * 7 + u64::from(module) * 131 + u64::from(image) * 1009;
        let values = bytes[layout.image(image as usize)].chunks_exact_mut(2);
        for (index, value) in values.enumerate() {
            value.copy_from_slice(&((start + index as u64 * 3) as u16).to_le_bytes());
        }
    }
    for (index, byte) in bytes[layout.specific()].iter_mut().enumerate() {
        *byte = ((index as u64 + number) % 251) as u8;
    }
    bytes
}

pub(crate) fn parsed(bytes: &[u8], detector: TrainDetector) -> Train<'_> {
    Train::parse(bytes, detector.image_bytes()).unwrap()
}

/// Offers a train.
pub(crate) fn offer(
    files: &mut TrainFiles,
    detector: TrainDetector,
    (module, number, images): (u8, u64, u32),
    not_whole: &[usize],
) -> Result<Filed, FileError> {
    let bytes = train_bytes(detector, module, number, images);
    let arrival_ns = ARRIVAL + number * 100_000_000;
    files.write(&ArrivedTrain {
        module,
        train: parsed(&bytes, detector),
        not_whole,
        rejected: &[],
        arrival_ns,
    })
}

pub(crate) fn options(folder: &Path, detector: TrainDetector) -> TrainFileOptions {
    let mut options = TrainFileOptions::new(folder, detector, 1);
    (options.proposal, options.sample) = (4711, "gold".to_owned());
    options
}

/// The program that reads, in an environment of its own; none, with `test` reported as skipped.
pub(crate) fn reader(test: &str, script: &str) -> Option<Command> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = workspace.join(".venv/bin/python");
    let import = "import extra_data, karabo_bridge";
    // Importing takes a second.
    static IMPORTS: OnceLock<bool> = OnceLock::new();
    let probe = || Command::new(&interpreter).args(["-c", import]).output();
    if !*IMPORTS.get_or_init(|| probe().is_ok_and(|output| output.status.success())) {
        let missing = format!("{} cannot {import}: `make test-tools` installs it", interpreter.display());
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(workspace.join("tests/python").join(script));
    Some(command)
}

/// Runs the reader on a run; `spec` says what must be in it.
pub(crate) fn read_back(reader: Command, folder: &Path, spec: &serde_json::Value) {
    read_all_back(reader, &[(folder.to_owned(), spec.clone())]);
}

/// The same with several runs.
pub(crate) fn read_all_back(mut reader: Command, runs: &[(PathBuf, serde_json::Value)]) {
    for (folder, spec) in runs {
        reader.arg(folder).arg(spec.to_string());
    }
    let output = reader.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{runs:?}\n{}\n{said}", String::from_utf8_lossy(&output.stdout));
}
