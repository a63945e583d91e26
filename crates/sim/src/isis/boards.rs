//! The boards of a configuration, and which of them has which pixels.

use super::settings::{IsisSimulation, refuse};
use crate::error::SimulationError;
use evforge_core::pixel_ids::IdRange;
use evforge_detect::isis::settings::{IsisSettings, Ticks};
use evforge_detect::isis::wiring::{BoardType, WiringRow};
use evforge_wire::isis::event::{v1, v2};
use evforge_wire::isis::{BoardParameters, DETECTOR_BOARDS, Format, Version};
use std::net::{IpAddr, Ipv4Addr};

/// Pixels that can be simulated.
const MOST_PIXELS: u32 = 1 << 22;
/// Pixels of a part: the coordinates of a layout have 16 bits.
const MOST_OF_PART: u32 = 1 << 16;
/// Address of the control board in version 2, unless it is listed; detector boards that are not listed follow it.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);
/// Number of the control board's printed circuit board, unless it is listed. Made up: none is documented.
const CONTROL_PCB: u16 = 1;

/// Pixels that follow one another, of one board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The ids, and the pixels of the geometry.
    pub(super) range: IdRange,
    /// The board.
    pub(super) board: usize,
    /// How its events tell these pixels.
    code: Code,
}

#[derive(Clone, Copy, Debug)]
enum Code {
    /// Version 1.
    Wired { board_type: BoardType, channel: u8, shift: u32 },
    /// Version 2: the first of them has this number on the board.
    Described { first: u32, board: BoardParameters },
}

/// A board.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    pub(super) pcb: u16,
    pub(super) parameters: Option<BoardParameters>,
    pub(super) is_control: bool,
    /// A tick in picoseconds.
    pub(super) tick_ps: u64,
}

/// All boards, with their parts.
#[derive(Clone, Debug)]
pub struct Boards {
    pub(super) version: Version,
    pub(super) boards: Vec<Board>,
    /// In the order of their pixels.
    pub(super) parts: Vec<Part>,
}

impl Boards {
    /// Those of these settings.
    ///
    /// # Errors
    /// If they cannot be simulated.
    pub fn new(settings: &IsisSettings, simulation: &IsisSimulation) -> Result<Self, SimulationError> {
        let version = version(settings, simulation)?;
        if version == Version::V1 && simulation.frame_sync_delay.picoseconds > 0 {
            return refuse("frame_sync_delay", "boards of version 1 do not tell it: leave it out");
        }
        if version == Version::V1
            && let Some(veto) = simulation.vetoes.iter().find(|veto| veto.bit > 15)
        {
            return refuse("veto.bit", &format!("found {}, expected 0 to 15 in version 1", veto.bit));
        }
        let layout = settings.layout().map_err(|error| SimulationError(error.to_string()))?;
        let pixels: u32 = layout.ids.ranges().iter().map(|range| range.count).fold(0, u32::saturating_add);
        if pixels > MOST_PIXELS {
            let problem =
                format!("{pixels} pixels cannot be simulated, at most {MOST_PIXELS} can: give isis.pixels");
            return Err(SimulationError(problem));
        }
        let mut boards = match version {
            Version::V1 => wired(settings, layout.ids.ranges()),
            Version::V2 => described(settings, simulation, layout.ids.ranges())?,
        };
        boards.parts.sort_by_key(|part| part.range.first_pixel);
        if simulation.control {
            boards.boards.extend(control(settings, version)?);
        }
        Ok(boards)
    }

    /// The part that has a pixel of the geometry, and the place in it.
    pub(super) fn part(&self, pixel: u32) -> Option<(usize, u16)> {
        let after = self.parts.partition_point(|part| part.range.first_pixel <= pixel);
        let number = after.checked_sub(1)?;
        let IdRange { first_pixel, count, .. } = self.parts.get(number)?.range;
        let place = pixel - first_pixel;
        (place < count).then_some((number, place as u16))
    }
}

impl Part {
    /// The words of an event at a place in this part; none if the time is more than the board can tell.
    pub(super) fn words(&self, raw_time: u64, place: u16, height: u16) -> Option<(u32, u32)> {
        let bits = match self.code {
            Code::Wired { .. } => v1::TIME_BITS,
            Code::Described { .. } => v2::TIME_BITS,
        };
        let raw = u32::try_from(raw_time).ok().filter(|raw| raw >> bits == 0)?;
        Some(match self.code {
            Code::Wired { board_type, channel, shift } => {
                // Below the width of a pixel anything can be: the pulse height is as good as chance.
                let fine = place << shift | height & ((1 << shift) - 1);
                let second = match board_type {
                    BoardType::WlsfPosition => v1::Wlsf { position: place, height }.word(),
                    BoardType::WlsfHeight => v1::Wlsf { position: height, height: place }.word(),
                    BoardType::MadcPosition => v1::Madc { position: fine, height, channel }.word(),
                    BoardType::MadcHeight => v1::Madc { position: height, height: fine, channel }.word(),
                    BoardType::Lvds => u32::from(place),
                };
                (v1::first_word(raw), second)
            }
            Code::Described { first, board } => {
                let number = u64::from(first) + u64::from(place);
                let parts = v2::SelfDescribed {
                    position: (number & ((1 << board.position_bits) - 1)) as u32,
                    channel: (number >> board.position_bits) as u32,
                    diagnostic: u32::from(height),
                };
                (v2::first_word(raw), parts.word(&board))
            }
        })
    }

    /// Whether the board can tell a time of so many ticks.
    pub(super) fn tells(&self, raw_time: u64) -> bool {
        self.words(raw_time, 0, 0).is_some()
    }
}

fn version(settings: &IsisSettings, simulation: &IsisSimulation) -> Result<Version, SimulationError> {
    let version = match (settings.format, simulation.version) {
        (Format::V1, None) => Version::V1,
        (Format::V2, None) => Version::V2,
        (Format::Auto, None) if settings.rows.is_empty() => Version::V2,
        (Format::Auto, None) => Version::V1,
        (format, Some(sent)) if format.allows(sent.into()) => sent.into(),
        (format, Some(_)) => {
            return refuse("version", &format!("isis.format is {}, which does not allow it", format.name()));
        }
    };
    if version == Version::V1 && settings.rows.is_empty() {
        return refuse("version", "version 1 needs a wiring table (isis.wiring)");
    }
    Ok(version)
}

fn tick_ps(ticks: Ticks, board_type: BoardType) -> u64 {
    match board_type {
        BoardType::WlsfPosition | BoardType::WlsfHeight => ticks.wlsf,
        BoardType::MadcPosition | BoardType::MadcHeight => ticks.madc,
        BoardType::Lvds => ticks.lvds,
    }
}

/// Boards of version 1: one for each address of the table, a part for each row.
fn wired(settings: &IsisSettings, ranges: &[IdRange]) -> Boards {
    let mut all = Boards { version: Version::V1, boards: Vec::new(), parts: Vec::new() };
    for row in &settings.rows {
        let WiringRow { address, board_type, channel, first_id, ids, .. } = *row;
        let Some(range) = ranges.iter().find(|range| range.first_id == first_id) else { continue };
        let known = all.boards.iter().position(|board| board.address == address);
        let board = known.unwrap_or_else(|| {
            all.boards.push(Board {
                name: format!("{} ({address})", row.board),
                address,
                pcb: 0,
                parameters: None,
                is_control: false,
                tick_ps: tick_ps(settings.ticks(Version::V1), board_type),
            });
            all.boards.len() - 1
        });
        let shift = 12_u32.saturating_sub(ids.max(1).ilog2()).min(12);
        all.parts.push(Part { range: *range, board, code: Code::Wired { board_type, channel, shift } });
    }
    all
}

/// Boards of version 2, each with an equal share of the pixels.
fn described(
    settings: &IsisSettings,
    simulation: &IsisSimulation,
    ranges: &[IdRange],
) -> Result<Boards, SimulationError> {
    let mut all = Boards { version: Version::V2, boards: Vec::new(), parts: Vec::new() };
    let listed = settings.boards.iter().filter_map(|board| Some((board, board.address?)));
    let mut senders = Vec::new();
    for (board, address) in listed {
        let source = board.source.map_or(Ok(FIRST_ADDRESS), v4)?;
        senders.push((board.name.clone(), source, board.pcb, address));
    }
    if senders.is_empty() {
        senders.extend((0..simulation.boards).map(|number| {
            // WLSF, MADC, LVDS.
            let pcb = [DETECTOR_BOARDS[2], DETECTOR_BOARDS[0], DETECTOR_BOARDS[1]][number % 3];
            let source = Ipv4Addr::from(u32::from(FIRST_ADDRESS) + 1 + number as u32);
            (format!("PC{pcb} {} ({source})", number as u8), source, pcb, number as u8)
        }));
    }
    // Boards have an offset, so that the ids of one follow one another.
    let pixels: Vec<(IdRange, u32)> = shares(ranges, senders.len() as u32);
    for ((name, address, pcb, number), (range, _)) in senders.into_iter().zip(&pixels) {
        let parameters = parameters(pcb, number, range);
        let board = all.boards.len();
        let ticks = settings.ticks(Version::V2);
        all.boards.push(Board {
            name,
            address,
            pcb,
            parameters: Some(parameters),
            is_control: false,
            tick_ps: match pcb {
                3877 => ticks.wlsf,
                3544 => ticks.madc,
                _ => ticks.lvds,
            },
        });
        for first in (0..range.count).step_by(MOST_OF_PART as usize) {
            let range = IdRange {
                first_id: range.first_id + first,
                count: MOST_OF_PART.min(range.count - first),
                first_pixel: range.first_pixel + first,
            };
            all.parts.push(Part { range, board, code: Code::Described { first, board: parameters } });
        }
    }
    Ok(all)
}

/// The pixels in shares as equal as can be: one for each board, if there are as many pixels.
fn shares(ranges: &[IdRange], boards: u32) -> Vec<(IdRange, u32)> {
    // Without a wiring table there is one range; with one, boards take whole rows in turn.
    if let [range] = ranges {
        let share = range.count.div_ceil(boards.max(1));
        return (0..boards)
            .filter_map(|board| {
                let first = share.checked_mul(board).filter(|first| *first < range.count)?;
                let count = share.min(range.count - first);
                let share = IdRange {
                    first_id: range.first_id + first,
                    count,
                    first_pixel: range.first_pixel + first,
                };
                Some((share, board))
            })
            .collect();
    }
    ranges.iter().copied().zip(0..boards).collect()
}

/// How a board of this kind describes its events: bits of position as in the documents' examples, of channel as many as it takes,
/// and of pulse height 8 (WLSF), 12 (MADC) or none (LVDS), as far as there is room.
fn parameters(pcb: u16, address: u8, range: &IdRange) -> BoardParameters {
    let needed = range.count.saturating_sub(1).checked_ilog2().map_or(0, |bits| bits as u8 + 1);
    let (position, diagnostic) = match pcb {
        3877 => (6, 8),
        3544 => (8, 12),
        _ => (needed, 0),
    };
    let position_bits = needed.min(position);
    BoardParameters {
        position_bits,
        diagnostic_bits: diagnostic.min(32 - needed),
        channel_bits: needed - position_bits,
        address,
        detector_id_offset: range.first_id,
    }
}

/// The control board: in version 1 only if it has an address.
fn control(settings: &IsisSettings, version: Version) -> Result<Option<Board>, SimulationError> {
    let (name, source, pcb) = match version {
        Version::V1 => {
            let Some(source) = settings.control_board else { return Ok(None) };
            (format!("control board ({source})"), source, 0)
        }
        Version::V2 => match settings.boards.iter().find(|board| board.address.is_none()) {
            Some(board) => (board.name.clone(), board.source.unwrap_or(FIRST_ADDRESS.into()), board.pcb),
            None => (format!("PC{CONTROL_PCB} ({FIRST_ADDRESS})"), IpAddr::V4(FIRST_ADDRESS), CONTROL_PCB),
        },
    };
    let address = v4(source)?;
    Ok(Some(Board { name, address, pcb, parameters: None, is_control: true, tick_ps: 1 }))
}

fn v4(address: IpAddr) -> Result<Ipv4Addr, SimulationError> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => {
            Err(SimulationError(format!("boards at IPv6 addresses are not simulated: found {address}")))
        }
    }
}
