//! Section 3, "TREX / LET", with the configuration of TREX.

use super::Bytes::{Changed, Packet, Records};
use super::{Case, Detector};

/// Where the neutrons of the tests are. FEN 1 is the second half of vessel 0, so that channel 60 is wire
/// 96 + 60 − 32: column 7, layer 12. Grids count from channel 58 on.
const fn pixel(grid: u32) -> u32 {
    12 * 384 * 140 + grid * 384 + 7 + 1
}

/// Grids 2 and 3 with the same amplitude at ticks 1 and 2, and a wire at tick 5.
const GOOD_EVENT: &str = "trex_TREXInstrumentTest_GoodEvent";

/// A pulse at the first tick: a previous pulse at time 0 is none.
const PULSE: (u32, u32) = (0, 1);

pub(super) const DETECTOR: Detector = Detector {
    prefix: "trex",
    configuration: "trex.toml",
    cases: &[
        Case {
            test: "TREXBaseTest.DataReceive",
            given: &[Packet("trex_TREXBaseTest_BadTestPacket")],
            counters: &[("readouts", 2), ("hits", 2), ("events_formed", 1), ("events_filed", 1)],
            events: &[((0, 0), pixel(2))],
            ..Case::PLAIN
        },
        Case {
            test: "TREXBaseTest.DataReceiveBadHeader",
            given: &[Changed("trex_TREXBaseTest_BadTestPacket", 0, 0xFF)],
            counters: &[("readouts", 0), ("packets_wrong_padding", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.GoodEvent",
            given: &[Records(GOOD_EVENT, [PULSE, PULSE])],
            counters: &[("readouts", 3), ("hits", 3), ("events_formed", 1), ("events_filed", 1)],
            events: &[(PULSE, pixel(3))],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.NegativeTOFFallback",
            given: &[Records(GOOD_EVENT, [(0, 20_000), PULSE])],
            counters: &[("readouts", 3), ("readouts_before_pulse", 3), ("events_filed", 1)],
            events: &[(PULSE, pixel(3))],
            differs: "the pulses of the test are further from each other than the rules of the header allow",
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.NegativePrevTOFError",
            given: &[Records(GOOD_EVENT, [(0, 40_000), (0, 20_000)])],
            counters: &[
                ("readouts", 3),
                ("readouts_before_previous_pulse", 3),
                ("events_formed", 1),
                ("before_first_pulse", 1),
            ],
            events: &[(super::NO_PULSE, pixel(3))],
            differs: "an event without a pulse is kept with its time; the reference does not count it",
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.HighTOFError",
            given: &[Records("trex_TREXInstrumentTest_HighTOFError", [PULSE, PULSE])],
            // A second after the pulse.
            settings: &["ess.max_time_of_flight=999ms"],
            counters: &[("readouts", 3), ("events_formed", 1), ("time_of_flight_too_long", 1)],
            events: &[(super::NO_PULSE, pixel(3))],
            differs: "an event that is too long after its pulse is kept with its time; the reference discards it",
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.EventCrossPackets",
            given: &[
                Records("trex_TREXInstrumentTest_SplitEventA", [PULSE, PULSE]),
                Records("trex_TREXInstrumentTest_SplitEventB", [PULSE, PULSE]),
            ],
            counters: &[("readouts", 3), ("events_filed", 1)],
            events: &[(PULSE, pixel(3))],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.BadEventLargeGridSpan",
            given: &[Records("trex_TREXInstrumentTest_BadEventLargeGridSpan", [PULSE, PULSE])],
            counters: &[("readouts", 5), ("grid_span_too_large", 5), ("events_formed", 0)],
            differs: "the reference counts events of this kind, and this is 1; here it is their hits",
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.BadEventLargeTimeSpan",
            given: &[Records("trex_TREXInstrumentTest_BadEventLargeTimeSpan", [PULSE, PULSE])],
            // One of the four is a neutron of its own, 1259 ticks after the others, and has no wire.
            counters: &[("readouts", 4), ("windows", 2), ("only_grids", 1), ("events_filed", 1)],
            events: &[(PULSE, pixel(3))],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.BadMappingError",
            given: &[Records("trex_TREXInstrumentTest_BadMappingError", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("unmapped_channel", 2)],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.BadRingAndFENError",
            given: &[Records("trex_TREXInstrumentTest_BadRingAndFENError", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("impossible_fibre", 1), ("impossible_fen", 1), ("hits", 0)],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.MaxADC",
            given: &[Records("trex_TREXInstrumentTest_MaxADC", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("impossible_amplitude", 1), ("only_grids", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.MinADC",
            given: &[Records("trex_TREXInstrumentTest_MinADC", [PULSE, PULSE])],
            settings: &["ess_multigrid.vessels[2].min_adc=100"],
            counters: &[("readouts", 3), ("below_threshold", 2), ("only_wires", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.NoEventGridOnly",
            given: &[Records("trex_TREXInstrumentTest_NoEventGridOnly", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("windows", 1), ("only_grids", 2)],
            ..Case::PLAIN
        },
        Case {
            test: "TREXInstrumentTest.NoEventWireOnly",
            given: &[Records("trex_TREXInstrumentTest_NoEventWireOnly", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("windows", 1), ("only_wires", 2)],
            ..Case::PLAIN
        },
    ],
    not_reproducible: &[],
};
