//! Single packets of CAEN digitisers.

use super::Seed;
use super::packets::spoilt;
use evforge_wire::caen::{Element, ElementType, JadaqEncoder, Record, RecordEncoder};

const TYPES: [(&str, ElementType); 3] = [
    ("june-2018", ElementType::OfJune2018),
    ("list422", ElementType::List422),
    ("list8222", ElementType::List8222),
];

/// Good packets of every format, and packets with one fault each.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = of_records();
    for (name, element_type) in TYPES {
        let good = jadaq(element_type, 3);
        seeds.extend([
            Seed::new(format!("{name}-good"), good.clone()),
            Seed::new(format!("{name}-full"), jadaq(element_type, 2000)),
            Seed::new(format!("{name}-header-only"), jadaq(element_type, 0)),
            Seed::new(format!("{name}-cut-in-header"), &good[..31]),
            Seed::new(format!("{name}-cut-in-element"), &good[..good.len() - 1]),
            Seed::new(format!("{name}-fewer-than-announced"), spoilt(good.clone(), 22, &[4, 0])),
            Seed::new(format!("{name}-of-another-version"), spoilt(good, 24, &[2, 3])),
        ]);
    }
    for (name, number) in [("waveform", 3_u16), ("list422-with-waveform", 0x101), ("unknown-type", 9)] {
        let bytes = spoilt(jadaq(ElementType::List422, 3), 20, &number.to_le_bytes());
        seeds.push(Seed::new(name, bytes));
    }
    seeds.push(Seed::new("nothing", []));
    seeds
}

fn of_records() -> Vec<Seed> {
    let good = records(&[record(0), record(1), record(40)]);
    let full: Vec<_> = (0..200).map(record).collect();
    vec![
        Seed::new("records-good", good.clone()),
        Seed::new("records-full", records(&full)),
        Seed::new("records-ragged", &good[..good.len() - 3]),
        Seed::new("records-end-of-run", records(&[Record::END_OF_RUN])),
        Seed::new("records-end-of-run-between", records(&[record(0), Record::END_OF_RUN, record(1)])),
    ]
}

/// A record that is like any other.
fn record(number: u32) -> Record {
    Record {
        digitizer: [137, 143, 142, 31, 34, 33][number as usize % 6],
        channel: (number % 64) as u8,
        adc: 100 + number as u16,
        time: number.wrapping_mul(50),
    }
}

fn records(records: &[Record]) -> Vec<u8> {
    let mut encoder = RecordEncoder::default();
    encoder.begin();
    for record in records {
        assert!(encoder.push(record), "more records than a packet holds");
    }
    encoder.packet().to_vec()
}

/// A packet of jadaq with so many elements, or as many as fit.
fn jadaq(element_type: ElementType, elements: u16) -> Vec<u8> {
    let mut encoder = JadaqEncoder::new(element_type);
    encoder.begin(0x0123_4567_89AB_CDEF, 1_528_800_000_000, 137, 7);
    let element = |n: u16| Element { time: u64::from(n) * 50, channel: n % 64, charge: 100 + n, baseline: 0 };
    let _fitting = (0..elements).map(element).take_while(|element| encoder.push(element)).count();
    encoder.packet().to_vec()
}
