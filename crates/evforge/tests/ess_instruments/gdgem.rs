//! Neutrons in the Gd-GEM of NMX: strips worked out by hand from section 3 of the ESS readout formats and the wiring of
//! the example.

use super::{Neutron, Neutrons, Signal};
use evforge_wire::ess::detector_type;

const SIDE: u32 = 1280;

/// Signals of a FEN: VMM and channel.
fn signals(fibre: u8, fen: u8, channels: &[(u8, u8)]) -> Vec<Signal> {
    channels.iter().map(|&(vmm, channel)| Signal { fibre, fen, vmm, channel, adc: 200 }).collect()
}

/// The id of a pixel: those of a panel follow those of the panel before.
fn pixel(panel: u32, x: u32, y: u32) -> u32 {
    panel * SIDE * SIDE + y * SIDE + x + 1
}

pub(crate) fn nmx() -> Neutrons {
    Neutrons {
        detector_type: detector_type::NMX,
        neutrons: vec![
            // Panel 0, ring 0: strips 638 to 641 of x, the latest at 641; ring 1: strips 5 and 3 of y.
            Neutron {
                signals: [
                    signals(0, 0, &[(9, 62), (9, 63)]),
                    signals(2, 0, &[(0, 5)]),
                    signals(1, 1, &[(0, 0), (0, 1)]),
                    signals(3, 0, &[(0, 3)]),
                ]
                .concat(),
                pixel: pixel(0, 641, 3),
            },
            // Panel 3, rings 6 and 7: the last strips of both planes.
            Neutron {
                signals: [signals(13, 1, &[(9, 62), (9, 63)]), signals(15, 1, &[(9, 63)])].concat(),
                pixel: pixel(3, 1279, 1279),
            },
            // Panel 2, rings 4 and 5: strip 128 of x, strips 100 and 99 of y.
            Neutron {
                signals: [signals(10, 0, &[(1, 36), (1, 35)]), signals(8, 0, &[(2, 0)])].concat(),
                pixel: pixel(2, 128, 99),
            },
        ],
    }
}
