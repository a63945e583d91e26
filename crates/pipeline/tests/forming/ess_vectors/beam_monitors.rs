//! Section 2.4.

use super::Bytes::{Changed, Packet, Records};
use super::{Case, Detector, Pulses};

/// FENs and channels as the tests use them; FEN 1, channel 1 is the one that they leave out.
const CONFIGURATION: &str = r#"
name = "vectors"
[ess]
type = "cbm"
max_time_of_flight = "1428571420ns"
[ess_beam_monitors]
ring = 11
monitor = [
    { name = "zero_a", fen = 0, channel = 0, kind = "event_0d" },
    { name = "zero_b", fen = 0, channel = 1, kind = "event_0d" },
    { name = "zero_c", fen = 3, channel = 3, kind = "event_0d" },
    { name = "flat", fen = 3, channel = 0, kind = "event_2d", nx = 512, ny = 512 },
    { name = "sum_a", fen = 1, channel = 1, kind = "integrating" },
    { name = "sum_b", fen = 2, channel = 1, kind = "integrating" },
    { name = "sum_c", fen = 3, channel = 4, kind = "integrating" },
]
"#;

/// Readouts at 1 s and 100 001 ticks or a little later.
const BEFORE_1_S: Pulses = [(1, 100_000), (0, 82_000_000)];

pub(super) const DETECTOR: Detector = Detector {
    prefix: "cbm",
    configuration: CONFIGURATION,
    cases: &[
        Case {
            test: "CbmBaseTest.DataReceive",
            given: &[Packet("cbm_CbmBaseTest_BadTestPacket")],
            counters: &[("readouts", 2), ("impossible_fibre", 1)],
            events: &[((0, 0), 1)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmBaseTest.DataReceiveBadHeader",
            given: &[Changed("cbm_CbmBaseTest_BadTestPacket", 0, 0xFF)],
            counters: &[("readouts", 0), ("packets_wrong_padding", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmBaseTest.DataReceiveGoodPacket",
            given: &[Packet("cbm_CbmBaseTest_GoodTestPacket")],
            counters: &[("readouts", 3), ("impossible_fibre", 1), ("integrated", 1)],
            events: &[((0, 0), 1)],
            monitors: &[("sum_a", 255)],
            differs: "the reference counts messages sent when time was up beside this",
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestProcessingErrorPrevention",
            given: &[Records("cbm_CbmInstrumentTest_FenAndChannelNotInCfgReadout", [(0, 16), (0, 0)])],
            counters: &[("readouts", 4), ("unknown_kind", 1), ("unmapped_channel", 2), ("events_filed", 1)],
            events: &[((0, 16), 2)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestIBMNormalizeReadouts",
            given: &[Records("cbm_CbmInstrumentTest_IBMNormalizeReadouts", BEFORE_1_S)],
            counters: &[("readouts", 3), ("integrated", 3), ("events_filed", 0), ("without_samples", 1)],
            monitors: &[("sum_b", 8192)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestIBMDisableNormalizeReadouts",
            given: &[Records("cbm_CbmInstrumentTest_IBMNormalizeReadouts", BEFORE_1_S)],
            settings: &["ess_beam_monitors.monitor[5].normalise=false"],
            counters: &[("readouts", 3), ("integrated", 3)],
            monitors: &[("sum_b", 16384)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestPreTofFallback",
            given: &[Records(TIMING_ERROR, [(2, 100_000), (2, 80_000)])],
            counters: &[("readouts", 1), ("readouts_before_pulse", 1), ("readouts_before_previous_pulse", 0)],
            events: &[((2, 80_000), 1)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestNegativePrevTofError",
            given: &[Records(TIMING_ERROR, [(2, 120_000), (2, 100_000)])],
            counters: &[
                ("readouts", 1),
                ("readouts_before_pulse", 1),
                ("readouts_before_previous_pulse", 1),
                ("before_first_pulse", 1),
            ],
            events: &[(super::NO_PULSE, 1)],
            differs: "an event that is too long after its pulse is kept with its time; the reference discards it",
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.HighTofErrorDefaultValue",
            given: &[Records("cbm_CbmInstrumentTest_TofToHighReadout", [(1, 0), (0, 82_000_000)])],
            counters: &[("readouts", 1), ("time_of_flight_too_long", 1)],
            events: &[(super::NO_PULSE, 1)],
            differs: "an event that is too long after its pulse is kept with its time; the reference discards it",
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestEvent0DSchemas",
            given: &[Records("cbm_CbmInstrumentTest_ValidEvent0DReadouts", BEFORE_1_S)],
            counters: &[("readouts", 2), ("hits", 2)],
            events: &[(BEFORE_1_S[0], 1), (BEFORE_1_S[0], 3)],
            monitors: &[("zero_a", 1), ("zero_b", 0), ("zero_c", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestEvent2DSchemas",
            given: &[Records("cbm_CbmInstrumentTest_ValidEvent2DReadouts", BEFORE_1_S)],
            counters: &[("readouts", 1), ("hits", 1)],
            // x = 256, y = 257 behind the three monitors without positions.
            events: &[(BEFORE_1_S[0], 3 + 257 * 512 + 256 + 1)],
            monitors: &[("flat", 1)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestIBMSchemas",
            given: &[Records("cbm_CbmInstrumentTest_ValidIBMReadouts", BEFORE_1_S)],
            counters: &[("readouts", 2), ("integrated", 2)],
            monitors: &[("sum_a", 10), ("sum_c", 1000)],
            ..Case::PLAIN
        },
        Case {
            test: "CbmInstrumentTest.TestValidationErrorsAcrossTypes",
            given: &[Records("cbm_CbmInstrumentTest_ValidationErrorsAcrossTypes", BEFORE_1_S)],
            counters: &[("readouts", 3), ("wrong_ring", 2), ("unmapped_channel", 1)],
            ..Case::PLAIN
        },
    ],
    not_reproducible: &[],
};

const TIMING_ERROR: &str = "cbm_CbmInstrumentTest_TimingErrorReadout";
