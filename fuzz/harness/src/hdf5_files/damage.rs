//! Damage to a file, from a seed.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Numbers that lengths and addresses are read from with the worst outcome.
const WORST: [u64; 10] =
    [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX >> 1, u64::MAX - 1, u64::MAX];

/// Signatures of what HDF5 files are made of: damage begins behind them more often than by chance.
const SIGNATURES: [&[u8; 4]; 12] = [
    b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTLF", b"BTIN", b"FADB", b"EAHD", b"TREE",
    b"SNOD",
];

/// The bytes of a file with one to eight things wrong with it.
pub fn damaged(original: &[u8], seed: u64) -> Vec<u8> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut bytes = original.to_vec();
    let marks: Vec<usize> = original
        .windows(4)
        .enumerate()
        .filter(|(_, window)| SIGNATURES.iter().any(|signature| *window == *signature))
        .map(|(place, _)| place)
        .collect();
    for _ in 0..random.random_range(1..=8) {
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        let place = if !marks.is_empty() && random.random_bool(0.6) {
            marks[random.random_range(0..marks.len())] + random.random_range(0..128)
        } else if random.random_bool(0.3) {
            random.random_range(0..length.min(2048))
        } else {
            random.random_range(0..length)
        };
        let place = place.min(length - 1);
        match random.random_range(0..8) {
            0 | 1 => bytes[place] ^= 1 << random.random_range(0..8),
            2 => bytes[place] = random.random(),
            3 | 4 => {
                let worst = WORST[random.random_range(0..WORST.len())].to_le_bytes();
                let width = [1, 2, 4, 8][random.random_range(0..4)].min(length - place);
                bytes[place..place + width].copy_from_slice(&worst[..width]);
            }
            5 => {
                let from = random.random_range(0..length);
                let width = random.random_range(1..=64).min(length - place).min(length - from);
                bytes.copy_within(from..from + width, place);
            }
            6 => {
                let width = random.random_range(1..=256).min(length - place);
                bytes[place..place + width].fill(0);
            }
            _ => {
                if random.random_bool(0.25) {
                    bytes.truncate(place);
                }
            }
        }
    }
    bytes
}
