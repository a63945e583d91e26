//! Section 3, "FREIA / ESTIA / AMOR / TBLMB", with the configuration of FREIA.

use super::Bytes::{Changed, Packet, Records};
use super::{Case, Detector};

/// A wire and a strip 16 ticks apart on ring 2, FEN 0, hybrid 0, just after second 0.
const GOOD_EVENT: &str = "freia_FreiaInstrumentTest_GoodEvent";

/// Cassette 8; wire 47 − 16, strip 63 − 16.
const PIXEL: u32 = (8 * 32 + 31) * 64 + 47 + 1;

/// The tests of the reference have wires on the even VMM; recordings of FREIA have them on the odd one (section 7).
const WIRES: &str = "ess_multiblade.wires=even";
const PLAIN: Case = Case { settings: &[WIRES], ..Case::PLAIN };

pub(super) const DETECTOR: Detector = Detector {
    prefix: "freia",
    configuration: "freia.toml",
    cases: &[
        Case {
            test: "FreiaBaseTest.DataReceive",
            given: &[Packet("freia_FreiaBaseTest_BadTestPacket")],
            counters: &[("readouts", 2), ("unmapped_channel", 1), ("unmapped_fen", 1)],
            differs: "the reference counts attempts to match, one for each of its 32 cassettes",
            ..PLAIN
        },
        Case {
            test: "FreiaBaseTest.DataReceiveBadHeader",
            given: &[Changed("freia_FreiaBaseTest_BadTestPacket", 0, 0xFF)],
            counters: &[("readouts", 0), ("packets_wrong_padding", 1)],
            ..PLAIN
        },
        Case {
            test: "FreiaInstrumentTest.NegativeTOFFallback",
            given: &[Records(GOOD_EVENT, [(0, 20_000), (0, 1)])],
            counters: &[
                ("readouts", 2),
                ("readouts_before_pulse", 2),
                ("readouts_before_previous_pulse", 0),
                ("events", 1),
                ("events_filed", 1),
            ],
            events: &[((0, 1), PIXEL)],
            differs: "the pulses of the test are seconds 200 and 0: too far from each other for the rules of the \
                      header, and 0 is no pulse",
            ..PLAIN
        },
        Case {
            test: "FreiaInstrumentTest.NegativePrevTOFError",
            given: &[Records(GOOD_EVENT, [(0, 40_000), (0, 20_000)])],
            counters: &[
                ("readouts", 2),
                ("readouts_before_previous_pulse", 2),
                ("events", 1),
                ("before_first_pulse", 1),
            ],
            events: &[(super::NO_PULSE, PIXEL)],
            differs: "an event without a pulse is kept with its time; the reference does not count it",
            ..PLAIN
        },
        Case {
            test: "FreiaInstrumentTest.InvalidWireChannels",
            given: &[Records("freia_FreiaInstrumentTest_InvalidChannel", [(0, 0), (0, 0)])],
            counters: &[
                ("readouts", 4),
                ("impossible_channel", 1),
                ("unmapped_channel", 2),
                ("only_strips", 1),
            ],
            differs: "the test changes the channel of the last readout, a strip, once it has been decoded",
            ..PLAIN
        },
        Case {
            test: "FreiaInstrumentTest.MappingError",
            given: &[Records("freia_FreiaInstrumentTest_MappingError", [(0, 0), (0, 0)])],
            // A front end that has one hybrid, but not the one that sends.
            settings: &[WIRES, "ess_multiblade.cassettes[3].fen=2"],
            counters: &[("readouts", 3), ("unmapped_ring", 1), ("unmapped_fen", 1), ("unmapped_hybrid", 1)],
            ..PLAIN
        },
        Case {
            test: "FreiaInstrumentTest.MaxRingMaxFENErrors",
            given: &[Records("freia_FreiaInstrumentTest_MaxRingMaxFENErrors", [(0, 0), (0, 0)])],
            counters: &[("readouts", 2), ("impossible_fibre", 1), ("impossible_fen", 1), ("hits", 0)],
            ..PLAIN
        },
    ],
    not_reproducible: &[],
};
