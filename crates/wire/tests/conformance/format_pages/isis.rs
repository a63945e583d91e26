//! Messages of the ISIS streaming readout to text.

use crate::format_pages::fields::{Fields, rejected};
use evforge_wire::isis::event::{self, v1, v2};
use evforge_wire::isis::{Messages, Rules, Version};

pub(crate) fn isis(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let mut messages = Messages::new(bytes, Rules::default());
    for (number, message) in messages.by_ref().enumerate() {
        let message = message.map_err(rejected)?;
        let header = message.header;
        let name = format!("message[{number}]");
        out.put(&name, format!("{:?} {:?}, time {} ns", header.version, header.kind, header.gps_ns));
        let text = format!(
            "{}, streamed {}, repeat {}, period {}, events in frame {}",
            header.frame, header.streamed_frame, header.repeat, header.period, header.events_in_frame
        );
        out.put(format!("{name}.frame"), text);
        out.put(format!("{name}.protons"), format!("{}, vetoes {:#x}", header.protons, header.vetoes));
        let board = header.board.unwrap_or_default();
        if header.version == Version::V2 {
            let text = format!(
                "{}, address {}, delay {}, offset {}",
                header.pcb, board.address, header.frame_sync_delay, board.detector_id_offset
            );
            out.put(format!("{name}.board"), text);
        }
        for (place, (first, second)) in message.events().iter().map(event::words).enumerate() {
            let text = if header.version == Version::V1 {
                format!("time {}, word {second:#010x}", v1::raw_time(first))
            } else {
                assert!(v2::is_event(first));
                let parts = v2::SelfDescribed::of(second, &board);
                format!(
                    "time {}, channel {}, diagnostic {}, position {}, pixel {}",
                    v2::raw_time25(first),
                    parts.channel,
                    parts.diagnostic,
                    parts.position,
                    parts.pixel(&board)
                )
            };
            out.put(format!("{name}.event[{place}]"), text);
        }
    }
    out.put("left", messages.rest().len());
    Ok(())
}
