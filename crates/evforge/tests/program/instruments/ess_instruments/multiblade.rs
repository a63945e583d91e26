//! Neutrons in Multi-Blades: columns and rows worked out by hand from section 3 of the ESS readout formats.

use super::{Neutron, Neutrons, Signal};
use evforge_wire::ess::detector_type;

/// A neutron on channels of a hybrid's wires and strips, each with its amplitude.
fn neutron(
    [fibre, fen, wire_vmm, strip_vmm]: [u8; 4],
    wires: &[(u8, u16)],
    strips: &[(u8, u16)],
    pixel: u32,
) -> Neutron {
    let of_vmm = |vmm: u8, channels: &[(u8, u16)]| {
        let signal = |&(channel, adc)| Signal { fibre, fen, vmm, channel, adc };
        channels.iter().map(signal).collect::<Vec<_>>()
    };
    Neutron { signals: [of_vmm(wire_vmm, wires), of_vmm(strip_vmm, strips)].concat(), pixel }
}

/// The id of the pixel at this column and row.
fn pixel(columns: u32, [column, row]: [u32; 2]) -> u32 {
    row * columns + column + 1
}

pub(crate) fn freia() -> Neutrons {
    let pixel = |place| pixel(64, place);
    Neutrons {
        detector_type: detector_type::FREIA,
        neutrons: vec![
            // Cassette 8: wire 47 - 16; strips 47 and 46, the latter three times as strong: 46.25.
            neutron([4, 0, 1, 0], &[(16, 80)], &[(16, 100), (17, 300)], pixel([46, 8 * 32 + 31])),
            // The last cassette, on an odd fibre: wire 0; strips 0 and 1 alike, which is 1.
            neutron([15, 1, 3, 2], &[(47, 500)], &[(63, 90), (62, 90)], pixel([1, 31 * 32])),
            // Cassette 0: wires 7 and 6 alike, which is 7; strip 63.
            neutron([0, 0, 1, 0], &[(40, 70), (41, 70)], &[(0, 333)], pixel([63, 7])),
        ],
    }
}

pub(crate) fn estia() -> Neutrons {
    let pixel = |place| pixel(1536, place);
    Neutrons {
        detector_type: detector_type::ESTIA,
        neutrons: vec![
            // Cassette 48 begins the upper row: the first wire, the last channel of the strips.
            neutron([8, 1, 7, 6], &[(16, 400)], &[(63, 200)], pixel([0, 64])),
            // The last cassette: the last wire; strips 63 and 62, the latter three times as strong: 62.25.
            neutron([18, 1, 1, 0], &[(47, 400)], &[(0, 100), (1, 300)], pixel([1535, 64 + 62])),
            // Cassette 3 of the lower row.
            neutron([1, 0, 7, 6], &[(20, 60), (21, 20)], &[(13, 50)], pixel([3 * 32 + 4, 50])),
        ],
    }
}

/// Cassettes with wires on the odd VMM, at AMOR and on the test beamline.
fn amor_of(detector_type: u8) -> Neutrons {
    let pixel = |place| pixel(64, place);
    Neutrons {
        detector_type,
        neutrons: vec![
            // Both corners: the first cassette, and the last one.
            neutron([0, 0, 1, 0], &[(47, 100)], &[(63, 100)], pixel([0, 0])),
            neutron([2, 0, 13, 12], &[(16, 100)], &[(0, 100)], pixel([63, 14 * 32 - 1])),
        ],
    }
}

pub(crate) fn amor() -> Neutrons {
    amor_of(detector_type::FREIA)
}

pub(crate) fn tblmb() -> Neutrons {
    amor_of(detector_type::TBLMB)
}
