//! Streaming readout of ISIS: the boards of version 2 as they describe themselves, the addresses of those of version 1.

use super::needs::NEEDS;
use crate::content::{Content, IsisContent};
use crate::stream::Stream;
use evforge_wire::isis::BoardParameters;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;

/// Pixels that a picture is made of.
const MOST_PIXELS: u64 = 1 << 22;
/// Columns of a picture.
const COLUMNS: u64 = 256;
/// What the first line of a wiring table must be.
const WIRING: &str = "BRD_NUM,BRD_Ref,BRD_Type,Packet_Type,SW_Pos,StreamingIP,CH,Mantid_DetectorID_Start,Mantid_Detector_ID_Lenght,Comment";

pub(super) fn body(streams: &[&Stream]) -> Result<Vec<String>, String> {
    let contents = || {
        streams.iter().filter_map(|stream| match &stream.content {
            Content::Isis(content) => Some((stream.key.source, content.as_ref())),
            _ => None,
        })
    };
    if !contents().any(|(_, content)| content.has_events()) {
        return Err("there are frames without events only, so that no detector is known".to_owned());
    }
    let versions = [0, 1].map(|version| contents().any(|(_, content)| content.versions()[version]));
    let format = match versions {
        [true, false] => "v1",
        [false, _] => "v2",
        [true, true] => "auto",
    };
    let mut text = format!("[isis]\nformat = \"{format}\"\n");
    if versions[0] {
        text += &wiring(contents());
    }
    if versions[1] {
        text += &boards(contents());
    }
    Ok(vec![text])
}

/// The table that is needed, with a row for each sender. Messages of version 1 tell neither boards nor pixels.
fn wiring<'a>(contents: impl Iterator<Item = (IpAddr, &'a IsisContent)>) -> String {
    let of_version_1 = contents.filter(|(_, content)| content.versions()[0]);
    let (mut rows, mut control) = (String::new(), String::new());
    for (source, content) in of_version_1 {
        // Writing to a string cannot fail.
        let _ = if content.has_events() {
            writeln!(rows, "#   0,?,?,?,0,{source},0,?,?,")
        } else {
            writeln!(control, "#   control_board = \"{source}\"")
        };
    }
    if !control.is_empty() {
        control.insert_str(0, "# UNKNOWN: whether this is the control board; it sends no events.\n");
    }
    format!(
        "# {NEEDS} the wiring table: boards and pixels of these senders.\n#   {WIRING}\n{rows}wiring = \"wiring.csv\"\n{control}"
    )
}

/// The boards that frames wait for, and a picture of their pixels.
fn boards<'a>(contents: impl Iterator<Item = (IpAddr, &'a IsisContent)>) -> String {
    let all: BTreeSet<_> = contents
        .flat_map(|(source, content)| {
            content
                .boards_of_version_2()
                .map(move |(pcb, board)| (source, pcb, board.map(|board| (board.address, ids(&board)))))
        })
        .collect();
    let ranges = || all.iter().filter_map(|(.., board)| board.map(|(_, range)| range));
    let first = ranges().map(|(first, _)| first).min().unwrap_or(0);
    let end = ranges().map(|(_, end)| end).max().unwrap_or(0);
    let mut text = match end.saturating_sub(first) {
        0 => String::new(),
        pixels @ 1..=MOST_PIXELS => {
            let columns = pixels.min(COLUMNS);
            format!("pixels = {{ first_id = {first}, nx = {columns}, ny = {} }}\n", pixels.div_ceil(columns))
        }
        _ => "# UNKNOWN: which of the ids are shown: they are too far apart for a picture (isis.pixels).\n"
            .to_owned(),
    };
    for (source, pcb, board) in &all {
        let (address, name) = match board {
            Some((address, _)) => (format!("address = {address}\n"), format!("PC{pcb} {address}")),
            None => (String::new(), format!("PC{pcb}")),
        };
        // The file does not say who sent: then frames wait for whoever sends.
        if !source.is_unspecified() {
            text += &format!(
                "\n[[isis.board]]\nname = \"{name} ({source})\"\nsource = \"{source}\"\npcb = {pcb}\n{address}"
            );
        }
    }
    text
}

/// The ids that a board can send: the first one, and the one behind the last.
fn ids(board: &BoardParameters) -> (u64, u64) {
    let first = u64::from(board.detector_id_offset);
    (first, first + (1 << (board.position_bits + board.channel_bits).min(32)))
}
