//! What a run tells besides the counters of its stages.

use crate::metric::metrics;

metrics! {
    ELAPSED: Gauge, "run", "elapsed_seconds", Some("seconds"), [], "Time since the start of the run.";
    FEED: Gauge, "run", "feed", None, ["state"], "What comes in: 1 for the state that holds (waiting, live, stalled, rejecting, ended), 0 for the others.";
    PACKET_AGO: Gauge, "run", "since_packet_seconds", Some("seconds"), [], "Time since the newest packet; absent before the first.";
    EVENT_AGO: Gauge, "run", "since_event_seconds", Some("seconds"), [], "Time since the newest event; absent before the first.";
    ALARMS: Gauge, "run", "alarms", None, ["alarm"], "What needs a person at this moment: how many alarms of each kind are raised.";
    HINTS: Gauge, "run", "hints", None, [], "What the pattern of losses suggests: the number of sentences.";
    UNACCOUNTED: Gauge, "run", "unaccounted", None, [], "What the laws of the counters leave over: 0 unless the program has a fault.";
    DETECTOR_FAILED: Gauge, "run", "detector_failed", None, [], "1 if the detector forms no events any more.";
    PACKETS: Counter, "run", "packets", Some("packets"), [], "Packets handed to the detector.";
    READOUTS: Counter, "run", "readouts", Some("readouts"), [], "Readouts found in them; absent where the detector does not count them.";
    HITS: Counter, "run", "hits", Some("hits"), [], "Readouts with a place and a time; absent where the detector does not count them.";
    EVENTS: Counter, "run", "events", Some("events"), [], "Events handed out.";
    HELD: Gauge, "run", "held", None, [], "What waits at this moment, in whichever stage: hits and events.";
    DISCARDED: Counter, "run", "discarded", None, ["of", "reason"], "What was thrown away, by reason: the counters of the detector that discard, under one name.";
    VETOED: Counter, "run", "vetoed_events", Some("events"), ["veto"], "Events that a veto has marked.";
    LOST: Gauge, "loss", "packets", Some("packets"), ["location"], "Packets lost, by where: exact, or inferred from counters that hold other traffic too. One that is found elsewhere later moves, so this is no counter.";
    LOST_KNOWN: Gauge, "loss", "known_packets", Some("packets"), [], "Packets that are known to be lost, wherever; absent where nobody can know, because packets have no numbers.";
    LOSS_BOUND: Gauge, "loss", "upper_bound_ratio", Some("ratio"), [], "The share of packets lost, or its upper limit with 95 % confidence if none was lost; absent without numbers.";
    SOURCE_SENT: Gauge, "source", "sent_packets", Some("packets"), ["source"], "Packets sent, by their numbers; absent where they have none.";
    SOURCE_RECEIVED: Counter, "source", "received_packets", Some("packets"), ["source"], "Packets received from a source.";
    SOURCE_LOST: Gauge, "source", "lost_packets", Some("packets"), ["source"], "Packets missing in the numbers of a source; one that comes late is not missing any more. Absent without numbers.";
    SOURCE_REORDERED: Counter, "source", "reordered_packets", Some("packets"), ["source"], "Packets that arrived after a later one.";
    SOURCE_DUPLICATED: Counter, "source", "duplicated_packets", Some("packets"), ["source"], "Packets that arrived a second time.";
    SOURCE_UNCONFIRMED: Gauge, "source", "unconfirmed_packets", Some("packets"), ["source"], "Packets with a number far from all others that no next one has followed.";
    SOURCE_RESTARTS: Counter, "source", "restarts", None, ["source"], "How often the numbering started over.";
    MONITOR_TOTAL: Counter, "beam_monitor", "counted", None, ["monitor"], "What a beam monitor has counted, or the sum of its values.";
    MONITOR_PULSES: Counter, "beam_monitor", "pulses", None, ["monitor"], "Pulses of a beam monitor.";
    FRAMES_RAW: Counter, "frames", "raw", None, [], "Frames (pulses of which the readout says more than their time) that were handed on: the raw frames. Absent where the readout tells none.";
    FRAMES_GOOD: Counter, "frames", "good", None, [], "Those without a veto that counts: the good frames.";
    FRAMES_IN_STATE: Counter, "frames", "by_state", None, ["state"], "Frames by whether all that was announced of them has come: complete, incomplete, late, or unknown where nobody has compared.";
    FRAMES_LIVE: Gauge, "frames", "live_ratio", Some("ratio"), [], "The share of frames that are known to be complete, of those that were compared; absent before the first.";
    FRAMES_CHARGE_RAW: Counter, "frames", "raw_charge_microampere_hours", None, [], "Charge of the protons of all frames.";
    FRAMES_CHARGE_GOOD: Counter, "frames", "good_charge_microampere_hours", None, [], "Charge of the protons of the good frames.";
    FRAMES_EVENTS_GOOD: Counter, "frames", "good_events", Some("events"), [], "Events of the good frames.";
    FRAMES_WITH_VETO: Counter, "frames", "with_veto", None, ["bit", "veto"], "Frames in which a veto was present, whether it counts or not.";
    FRAMES_OF_PERIOD: Counter, "frames", "of_period", None, ["period"], "Raw frames of a period, counted from 1.";
    FRAMES_GOOD_OF_PERIOD: Counter, "frames", "good_of_period", None, ["period"], "Good frames of a period, counted from 1.";
    FRAMES_PERIOD: Gauge, "frames", "period", None, [], "The period of the newest frame, counted from 1; absent before the first, and if nobody has said it.";
    OUTPUT_WAITING: Gauge, "output", "waiting", None, ["output"], "1 while an output waits for a cause to pass: no space, no connection.";
    OUTPUT_FAILED: Gauge, "output", "broken", None, ["output"], "1 if an output has failed and gets no more events.";
    OUTPUT_WHOLE: Gauge, "output", "whole", None, ["output"], "1 as long as everything that an output was offered is, or will be, where it belongs.";
    LEFT_OUT: Gauge, "run", "readings_left_out", None, [], "Readings that are not here because there were too many sources, vetoes, monitors or outputs.";
}
