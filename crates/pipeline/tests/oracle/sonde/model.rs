//! What the reference does with packets of SoNDe, slowly and plainly: EFU formats of 2018, section 1. Shares no
//! code with production.

/// What became of one packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Number of events, or a negative error code.
    pub(crate) returned: i32,
    /// (time, pixel) in order.
    pub(crate) events: Vec<(u32, u32)>,
    /// Trigger times without a pixel.
    pub(crate) errors: usize,
    /// Amplitudes.
    pub(crate) samples: usize,
}

fn rejected(code: i32) -> Outcome {
    Outcome { returned: code, ..Outcome::default() }
}

/// Section 1.6: asic and channel to a pixel, 1..=64, or none.
fn map(asic: u8, channel: u8) -> Option<u32> {
    if asic > 3 || channel > 15 {
        return None;
    }
    let (x0, y0) = (i32::from(channel) % 4, i32::from(channel) / 4);
    let (x, y) = match asic {
        0 => (7 - x0, 3 - y0),
        1 => (x0, y0),
        2 => (7 - x0, 7 - y0),
        _ => (x0, y0 + 4),
    };
    u32::try_from(y * 8 + x + 1).ok()
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// Sections 1.2 to 1.5.
pub(crate) fn parse(packet: &[u8]) -> Outcome {
    if packet.len() < 11 {
        return rejected(-2);
    }
    if packet[0] / 32 != 0 {
        return rejected(-3);
    }
    let length = number(&packet[8..10]);
    if length + 10 != packet.len() {
        return rejected(-3);
    }
    let data = &packet[10..];
    let mut outcome = Outcome::default();
    match packet[1] {
        0xD6 => {
            let count = usize::from(data[0]);
            if 5 * count + 1 != length {
                return rejected(-3);
            }
            for entry in 0..count {
                let at = 1 + 5 * entry;
                let address = data[at + 4];
                match map(address / 64, address % 64) {
                    Some(pixel) => outcome.events.push((number(&data[at..at + 4]) as u32, pixel)),
                    None => outcome.errors += 1,
                }
            }
        }
        0xD5 => {
            if length < 7 || 2 * number(&data[5..7]) + 7 != length {
                return rejected(-3);
            }
            if let Some(pixel) = map(data[0], data[2] % 64) {
                outcome.events.push((number(&packet[4..8]) as u32, pixel));
            }
            outcome.samples = number(&data[5..7]);
        }
        0xD4 => {
            if length < 12 {
                return rejected(-2);
            }
            let (events, per_event) = (usize::from(data[0]), number(&data[1..3]));
            if (4 + 5 * per_event) * events + 3 > length {
                return rejected(-3);
            }
            for event in 0..events {
                let at = 3 + event * (4 + 5 * per_event);
                let time = number(&data[at..at + 4]) as u32;
                for sample in 0..per_event {
                    let at = at + 4 + 5 * sample;
                    outcome.events.extend(map(data[at + 1], data[at + 2]).map(|pixel| (time, pixel)));
                }
            }
            outcome.samples = events * per_event;
        }
        _ => return rejected(-4),
    }
    outcome.returned = outcome.events.len() as i32;
    outcome
}
