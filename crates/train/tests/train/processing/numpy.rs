//! All steps against NumPy.
//!
//! The Python with the packages of `tests/python/requirements.txt` is taken from `EVFORGE_PYTHON`, or else from `.venv` at the root of
//! the workspace.

use super::common::{SHAPE, VALUES, floats, images, numbers, run};
use evforge_train::processing::{Calibration, Integration, Region, Step, Threshold, ValueType, VetoList};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const IMAGES: usize = 200;
const PULSES: usize = 2000;
const LEVEL: f32 = 300.5;
const LEAST: usize = 12;
const LIMITS: [f64; 2] = [1800.25, 3500.5];
const VETOED: [u64; 3] = [100, 730, 1990];

#[test]
fn steps_do_what_numpy_does() {
    let _alone = crate::alone();
    let Some(mut python) = python("steps_do_what_numpy_does") else { return };
    let images = images(IMAGES, 999);
    let pedestals: Vec<f32> = (0..VALUES).map(|k| 40.3 + 1.7 * k as f32).collect();
    let mut gains: Vec<f32> = (0..VALUES).map(|k| 0.71 + 0.013 * k as f32).collect();
    gains[13] = f32::NAN;
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let raw: Vec<u8> = images.concat().iter().flat_map(|value| value.to_le_bytes()).collect();
    let input = [raw, bytes(&pedestals), bytes(&gains)].concat();
    let blocks = blocks(&mut python, &input);
    let [kept, values, rounded, sums, counts, largest, intensity] =
        <[Vec<u8>; 7]>::try_from(blocks).expect("seven results");

    let steps = || -> Vec<Box<dyn Step>> {
        vec![
            Box::new(VetoList::new(VETOED.to_vec())),
            Box::new(Calibration::new(VALUES, pedestals.clone(), gains.clone()).expect("constants")),
            Box::new(Threshold::new(LEVEL, LEAST).expect("a level")),
            Box::new(Region::new(SHAPE, 1..3, 1..5, LIMITS).expect("a region")),
            Box::new(Integration::new(VALUES, PULSES)),
        ]
    };
    let (out, chain) = run(&images, ValueType::F32, steps());
    let indices: Vec<u8> = out.indices().iter().flat_map(|index| (*index as u64).to_le_bytes()).collect();
    assert_eq!(indices, kept, "images kept");
    let counters = chain.counters();
    let reasons = [counters.images_vetoed, counters.images_too_dark, counters.images_below_limits];
    assert!(reasons.iter().all(|&count| count > 0) && counters.images_above_limits > 0, "{counters:?}");
    assert!(counters.images_kept > 10, "{counters:?}");
    // Bit by bit, but for those that are not numbers: their bits have no meaning.
    let number = |value: f32| if value.is_nan() { None } else { Some(value.to_bits()) };
    let expected: Vec<_> = read_f32(&values).into_iter().map(number).collect();
    assert_eq!(floats(&out).iter().map(|value| number(*value)).collect::<Vec<_>>(), expected, "values");
    let (as_numbers, _) = run(&images, ValueType::U16, steps());
    let found: Vec<u8> = numbers(&as_numbers).iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(found, rounded, "values of 16 bits");

    let integrated = chain.integrated().next().expect("sums");
    // Orders of additions differ.
    let is_near = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * expected.abs();
    for (what, found, expected) in [
        ("sums", integrated.sums().to_vec(), read_f64(&sums)),
        ("intensities", integrated.pulses().iter().map(|pulse| pulse.sum).collect(), read_f64(&intensity)),
    ] {
        assert_eq!(found.len(), expected.len(), "{what}");
        assert!(found.iter().zip(&expected).all(|(a, b)| is_near(*a, *b)), "{what}: {found:?} {expected:?}");
    }
    let found: Vec<u8> = integrated.counts().iter().flat_map(|count| count.to_le_bytes()).collect();
    assert_eq!(found, counts, "counts");
    assert_eq!(integrated.largest(), read_f32(&largest), "largest");
}

fn python(test: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = match std::env::var_os("EVFORGE_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => root.join(".venv/bin/python"),
    };
    let mut probe = Command::new(&interpreter);
    probe.args(["-c", "import numpy"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        let missing = format!(
            "{} cannot import numpy: python3 -m venv .venv && .venv/bin/pip install -r tests/python/requirements.txt",
            interpreter.display()
        );
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.args(["-c", include_str!("reference.py")]);
    let [_, rows, columns] = SHAPE;
    command.args([IMAGES, rows, columns, PULSES].map(|size| size.to_string()));
    command.args([LEVEL.to_string(), LEAST.to_string()]);
    command.args(["1", "3", "1", "5"]).args(LIMITS.map(|limit| limit.to_string()));
    command.args(VETOED.map(|pulse| pulse.to_string()));
    Some(command)
}

/// What the program writes: blocks, each after its length.
fn blocks(program: &mut Command, input: &[u8]) -> Vec<Vec<u8>> {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
    // It reads all before it writes anything.
    child.stdin.take().expect("its input").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("its output");
    assert!(output.status.success(), "{}", output.status);
    let mut rest = &*output.stdout;
    let mut blocks = vec![];
    while let Some((length, after)) = rest.split_first_chunk() {
        let (block, after) = after.split_at(u64::from_le_bytes(*length) as usize);
        blocks.push(block.to_vec());
        rest = after;
    }
    blocks
}

fn read_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}

fn read_f64(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|value| f64::from_le_bytes(*value)).collect()
}
