//! Neutrons in Multi-Grids: rows and columns worked out by hand from section 3 of the ESS readout formats.

use super::{Neutron, Neutrons, Signal};
use evforge_wire::ess::detector_type;

/// The id of a pixel (ESS readout formats, section 3): x runs fastest, then y, then z.
fn pixel([columns, rows]: [u32; 2], [x, y, z]: [u32; 3]) -> u32 {
    z * columns * rows + y * columns + x + 1
}

/// Signals of VMMs of the front end at `fibre` and `fen`: VMM, channel and amplitude.
fn signals(fibre: u8, fen: u8, of_vmms: &[(u8, u8, u16)]) -> Vec<Signal> {
    of_vmms.iter().map(|&(vmm, channel, adc)| Signal { fibre, fen, vmm, channel, adc }).collect()
}

pub(crate) fn trex() -> Neutrons {
    let pixel = |place| pixel([384, 140], place);
    Neutrons {
        detector_type: detector_type::TREX,
        neutrons: vec![
            // Wires 8 and 9 of column 0, the first three times as strong; grids 10 and 11 alike, which is 11.
            Neutron {
                signals: signals(0, 0, &[(0, 40, 300), (0, 41, 100), (3, 4, 200), (3, 5, 200)]),
                pixel: pixel([0, 11, 8]),
            },
            // Ring 1, FEN 3 is the second half of vessel 5, at x = 60: wire 96 + 32 is column 8. Grid 70.
            Neutron { signals: signals(3, 3, &[(1, 0, 500), (4, 0, 60)]), pixel: pixel([68, 70, 0]) },
            // Ring 6, FEN 3 is the second half of vessel 25, upside down at x = 300 with grid 0 in row 50.
            Neutron { signals: signals(12, 3, &[(2, 7, 90), (1, 1, 800)]), pixel: pixel([303, 43, 1]) },
            // Ring 6, FEN 4 is the first half of vessel 26, above it from row 89 on. The last grid.
            Neutron { signals: signals(13, 4, &[(0, 63, 90), (2, 50, 80)]), pixel: pixel([301, 139, 15]) },
        ],
    }
}

pub(crate) fn let_demonstrator() -> Neutrons {
    let pixel = |place| pixel([12, 51], place);
    Neutrons {
        detector_type: detector_type::LOKI,
        neutrons: vec![
            // Ring 1 has the first half of the wires: channel 33 is wire 0, at the far end of a vessel upside down.
            Neutron { signals: signals(2, 0, &[(2, 33, 300), (0, 0, 100)]), pixel: pixel([11, 50, 0]) },
            // Ring 0: channel 10 of the second VMM is 11, wire 11 + 64 - 32 + 96 = 139, column 8 from the far end.
            Neutron {
                signals: signals(1, 0, &[(3, 10, 300), (0, 20, 25), (0, 21, 75)]),
                pixel: pixel([3, 29, 11]),
            },
        ],
    }
}
