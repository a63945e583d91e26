//! Readouts of VMMR modules to `mgmesytec_hits`.

use super::Recorder;
use crate::counters::RecordingCounters;
use crate::rows::MesytecHit;
use evforge_core::packet::Packet;
use evforge_wire::mesytec::{Datagram, LOW_TIME_BITS, TriggerClock, VmmrReadout};

/// Takes the readouts out of datagrams of the SIS3153.
///
/// Triggers are counted from 1, those that are of no use too. An external trigger is a row of its own, before
/// the hits of the trigger. Triggers without hits leave no row.
#[derive(Debug)]
pub struct MesytecRecorder {
    clock: TriggerClock,
    triggers: u64,
}

impl MesytecRecorder {
    /// A recorder. `spoof_high_time`: extended time stamps are not to be trusted, the turns of the low time are
    /// counted.
    pub fn new(spoof_high_time: bool) -> Self {
        let clock = if spoof_high_time { TriggerClock::counted() } else { TriggerClock::extended() };
        Self { clock, triggers: 0 }
    }
}

impl Recorder for MesytecRecorder {
    type Row = MesytecHit;

    fn take(&mut self, packet: &Packet<'_>, rows: &mut Vec<MesytecHit>, counters: &mut RecordingCounters) {
        let datagram = match Datagram::parse(packet.bytes) {
            Ok(datagram) if !packet.is_cut() => datagram,
            _ => {
                counters.packets_rejected += 1;
                return;
            }
        };
        for trigger in datagram.triggers() {
            self.triggers += 1;
            let Ok(trigger) = trigger else {
                counters.triggers_rejected += 1;
                continue;
            };
            let keep = |readouts: &mut Vec<_>, word, context| readouts.extend(VmmrReadout::of(word, context));
            let (readouts, end) = trigger.read(&mut self.clock, Vec::new(), keep);
            let Ok(end) = end else {
                counters.triggers_rejected += 1;
                continue;
            };
            let mark = MesytecHit {
                trigger_count: self.triggers,
                external_trigger: 1,
                module: readouts.first().map_or(0, |readout| readout.module),
                high_time: (end.time >> LOW_TIME_BITS) as u32,
                low_time: (end.time & ((1 << LOW_TIME_BITS) - 1)) as u32,
                total_time: end.time,
                ..MesytecHit::default()
            };
            if end.external_trigger {
                counters.external_triggers += 1;
                rows.push(mark);
            }
            counters.readouts_in += readouts.len() as u64;
            rows.extend(readouts.into_iter().map(
                |VmmrReadout { module, bus, channel, adc, time_difference }| MesytecHit {
                    external_trigger: 0,
                    module,
                    bus,
                    channel,
                    adc,
                    time_diff: time_difference,
                    ..mark
                },
            ));
        }
    }
}
