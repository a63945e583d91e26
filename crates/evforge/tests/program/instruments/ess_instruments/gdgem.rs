//! Neutrons in the Gd-GEM of NMX: strips worked out by hand from section 3 of the ESS readout formats and the wiring of
//! the example.

use super::{Neutron, Neutrons, Signal};
use evforge_wire::ess::detector_type;

const SIDE: u32 = 1280;

/// Signals of a FEN: VMM and channel.
fn signals(fibre: u8, fen: u8, channels: &[(u8, u8)]) -> Vec<Signal> {
    channels.iter().map(|&(vmm, channel)| Signal { fibre, fen, vmm, channel, adc: 200 }).collect()
}

/// The id of a pixel: all sectors have those of the one area.
fn pixel(x: u32, y: u32) -> u32 {
    y * SIDE + x + 1
}

pub(crate) fn nmx() -> Neutrons {
    Neutrons {
        detector_type: detector_type::NMX,
        neutrons: vec![
            // Sector 0: strips 126 to 129 of x, whose channels run backwards (hybrids 4 and 3 of FEN 0), the latest at
            // 129; strips 5 and 3 of y.
            Neutron {
                signals: [
                    signals(0, 0, &[(8, 1), (8, 0)]),
                    signals(1, 1, &[(0, 5)]),
                    signals(0, 0, &[(7, 63), (7, 62)]),
                    signals(0, 1, &[(0, 3)]),
                ]
                .concat(),
                pixel: pixel(129, 3),
            },
            // Sector 3: the last strips of both planes; those of y run backwards.
            Neutron {
                signals: [signals(7, 0, &[(9, 62), (9, 63)]), signals(6, 1, &[(0, 0)])].concat(),
                pixel: pixel(1279, 1279),
            },
            // Sector 2, on both fibres of its ring: strip 128 of x, strips 740 and 739 of y.
            Neutron {
                signals: [signals(5, 1, &[(1, 36), (1, 35)]), signals(4, 0, &[(2, 0)])].concat(),
                pixel: pixel(128, 739),
            },
        ],
    }
}
