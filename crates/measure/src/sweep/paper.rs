//! The figures of the paper.

/// Packet error ratios of Table 3 (optimised settings, 400 GB for each size), by bytes of user data; 0: none lost.
pub const PAPER_ERROR_RATIOS: [(u32, f64); 16] = [
    (64, 4.0e-1),
    (128, 4.0e-1),
    (256, 4.1e-1),
    (472, 3.9e-1),
    (772, 3.8e-1),
    (1000, 3.8e-1),
    (1472, 2.0e-1),
    (1700, 7.1e-2),
    (1800, 3.2e-3),
    (1900, 6.1e-6),
    (2000, 1.3e-6),
    (2200, 0.0),
    (2972, 0.0),
    (4472, 0.0),
    (5972, 0.0),
    (8972, 0.0),
];
/// Bytes of user data that the paper has sent for each size.
pub const PAPER_BYTES: f64 = 400e9;
