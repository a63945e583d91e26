//! Section 3, "NMX": a panel with the limits of the reference's tests.

use super::Bytes::{Changed, Packet, Records};
use super::{Case, Detector};

/// Hybrid 0 has strips 0 to 127 of x, hybrid 1 those of y.
const CONFIGURATION: &str = r#"
name = "nmx-vectors"
[ess]
type = "nmx"
[ess_gdgem]
geometry = { nx = 1280, ny = 1280, panels = 4 }
hybrid = [
    { ring = 0, fen = 0, hybrid = 0, plane = "x", offset = 0 },
    { ring = 0, fen = 0, hybrid = 1, plane = "y", offset = 0 },
]
position.spans = { max_x = 3, min_x = 2, max_y = 3, min_y = 1 }
"#;

/// The pixel of two strips on panel 0.
const fn pixel(x: u32, y: u32) -> u32 {
    y * 1280 + x + 1
}

/// Strips 60 and 61 of x at ticks 1 and 2, strip 60 of y at tick 5.
const GOOD_EVENT: &str = "nmx_NMXInstrumentTest_GoodEvent";

/// A pulse at the first tick: a previous pulse at time 0 is none.
const PULSE: (u32, u32) = (0, 1);

pub(super) const DETECTOR: Detector = Detector {
    prefix: "nmx",
    configuration: CONFIGURATION,
    cases: &[
        Case {
            test: "NMXBaseTest.DataReceive",
            given: &[Packet("nmx_NMXBaseTest_BadTestPacket")],
            counters: &[("readouts", 2), ("unmapped_fen", 2)],
            differs: "the reference counts attempts to match, one for each of its 4 panels",
            ..Case::PLAIN
        },
        Case {
            test: "NMXBaseTest.DataReceiveBadHeader",
            given: &[Changed("nmx_NMXBaseTest_BadTestPacket", 0, 0xFF)],
            counters: &[("readouts", 0), ("packets_wrong_padding", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.BadRingAndFENError",
            given: &[Records("nmx_NMXInstrumentTest_BadRingAndFENError", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("impossible_fibre", 1), ("impossible_fen", 1), ("hits", 0)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.GoodEvent",
            given: &[Records(GOOD_EVENT, [PULSE, PULSE])],
            counters: &[("readouts", 3), ("hits", 3), ("events", 1), ("events_filed", 1)],
            events: &[(PULSE, pixel(61, 60))],
            differs: "the latest hit on x is at strip 61; the reference, which does not check the pixel, takes that of \
                      the first of the clusters that it has joined, strip 60",
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.NegativeTOFFallback",
            given: &[Records(GOOD_EVENT, [(0, 20_000), PULSE])],
            counters: &[
                ("readouts", 3),
                ("readouts_before_pulse", 3),
                ("readouts_before_previous_pulse", 0),
                ("events_filed", 1),
            ],
            events: &[(PULSE, pixel(61, 60))],
            differs: "the pulses of the test are further from each other than the rules of the header allow",
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.NegativePrevTOFError",
            given: &[Records(GOOD_EVENT, [(0, 40_000), (0, 20_000)])],
            counters: &[
                ("readouts", 3),
                ("readouts_before_previous_pulse", 3),
                ("events", 1),
                ("before_first_pulse", 1),
            ],
            events: &[(super::NO_PULSE, pixel(61, 60))],
            differs: "an event without a pulse is kept with its time; the reference does not count it",
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.HighTOFError",
            // It ends a second and four ticks after the pulse.
            given: &[Records("nmx_NMXInstrumentTest_HighTOFError", [PULSE, PULSE])],
            counters: &[("readouts", 3), ("events", 1), ("time_of_flight_too_long", 1)],
            events: &[(super::NO_PULSE, pixel(60, 60))],
            differs: "an event that is too long after its pulse is kept with its time; the reference discards it",
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.BadEventLargeXSpan",
            given: &[Records("nmx_NMXInstrumentTest_BadEventLargeXSpan", [PULSE, PULSE])],
            counters: &[("readouts", 5), ("hits", 5), ("events", 0), ("too_wide_x", 5)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.BadEventSmallXSpan",
            given: &[Records("nmx_NMXInstrumentTest_BadEventSmallXSpan", [PULSE, PULSE])],
            counters: &[("readouts", 3), ("hits", 3), ("events", 0), ("too_narrow_x", 3)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.BadEventLargeYSpan",
            given: &[Records("nmx_NMXInstrumentTest_BadEventLargeYSpan", [PULSE, PULSE])],
            counters: &[("readouts", 5), ("hits", 5), ("events", 0), ("too_wide_y", 5)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.BadEventLargeTimeSpan",
            // The second hit on y comes 14 us after the others.
            given: &[Records("nmx_NMXInstrumentTest_BadEventLargeTimeSpan", [PULSE, PULSE])],
            counters: &[("readouts", 4), ("events", 1), ("events_filed", 1), ("only_y", 1)],
            events: &[(PULSE, pixel(62, 60))],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.MaxADC",
            given: &[Records("nmx_NMXInstrumentTest_MaxADC", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("impossible_amplitude", 1), ("hits", 1), ("only_y", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.MinADC",
            given: &[Records("nmx_NMXInstrumentTest_MinADC", [PULSE, PULSE])],
            counters: &[("readouts", 3), ("below_threshold", 2), ("hits", 1), ("only_x", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.NoEventXOnly",
            given: &[Records("nmx_NMXInstrumentTest_NoEventXOnly", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("events", 0), ("only_x", 2)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.NoEventYOnly",
            given: &[Records("nmx_NMXInstrumentTest_NoEventYOnly", [PULSE, PULSE])],
            counters: &[("readouts", 2), ("events", 0), ("only_y", 2)],
            ..Case::PLAIN
        },
        Case {
            test: "NMXInstrumentTest.EventCrossPackets",
            given: &[
                Records("nmx_NMXInstrumentTest_SplitEventA", [PULSE, PULSE]),
                Records("nmx_NMXInstrumentTest_SplitEventB", [PULSE, PULSE]),
            ],
            // The latest hits on x are at strips 60 and 61: their centre is rounded up.
            counters: &[("readouts", 4), ("events", 1), ("hits_in_events", 4)],
            events: &[(PULSE, pixel(61, 61))],
            ..Case::PLAIN
        },
    ],
    not_reproducible: &[],
};
