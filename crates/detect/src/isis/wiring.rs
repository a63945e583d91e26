//! The wiring table of version 1: a CSV file, read as ISIS writes it (ISIS streaming readout, section 2).

use csv::{ReaderBuilder, StringRecord, Trim};
use evforge_core::pixel_ids::{IdRange, PixelIds};
use std::net::Ipv4Addr;
use std::str::FromStr;

/// The columns, in their order. The ninth is misspelt in the tables of ISIS, and so it is here.
pub const COLUMNS: [&str; 10] = [
    "BRD_NUM",
    "BRD_Ref",
    "BRD_Type",
    "Packet_Type",
    "SW_Pos",
    "StreamingIP",
    "CH",
    "Mantid_DetectorID_Start",
    "Mantid_Detector_ID_Lenght",
    "Comment",
];

/// Channels of an MADC board that a table can name.
pub const CHANNELS: u8 = 8;

/// Positions that a tube of an MADC board has at most: 12 bits.
pub const MOST_POSITIONS: u32 = 1 << 12;

/// Positions of a WLSF board: 16 bits.
const WLSF_POSITIONS: u32 = 1 << 16;

/// Channels of an LVDS board.
const LVDS_CHANNELS: u32 = 128;

/// The largest id that messages can express.
pub const LARGEST_ID: u32 = i32::MAX as u32;

/// Rows that a table has at most: sixteen times the largest one of today.
const MOST_ROWS: usize = 1 << 14;

/// A board, and which part of its events the pixel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, get_size2::GetSize)]
pub enum BoardType {
    /// PC3877MS, fibres: the position.
    WlsfPosition,
    /// PC3877MS, fibres: the pulse height.
    WlsfHeight,
    /// PC3544MS, tubes: the position along the tube.
    MadcPosition,
    /// PC3544MS, tubes: the pulse height.
    MadcHeight,
    /// PC3634M1S: the number of a discriminator's channel.
    Lvds,
}

/// Types of boards and packets as the table has them.
const TYPES: [(&str, &str, BoardType); 5] = [
    ("PC3877MS", "Position", BoardType::WlsfPosition),
    ("PC3877MS", "PulseHeight", BoardType::WlsfHeight),
    ("PC3544MS", "Position", BoardType::MadcPosition),
    ("PC3544MS", "PulseHeight", BoardType::MadcHeight),
    ("PC3634M1S", "DIM_OUT", BoardType::Lvds),
];

impl BoardType {
    /// True if the channel is a part of the pixel.
    pub fn has_channels(self) -> bool {
        matches!(self, Self::MadcPosition | Self::MadcHeight)
    }
}

/// A row: a board, or a channel of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiringRow {
    /// Line of the file, from 1.
    pub line: u64,
    /// Name of the board, e.g. `ADC0-S1`.
    pub board: String,
    /// What it is.
    pub board_type: BoardType,
    /// Where its datagrams come from.
    pub address: Ipv4Addr,
    /// The channel, where a pixel is made of it; 0 elsewhere.
    pub channel: u8,
    /// Its first id.
    pub first_id: u32,
    /// How many ids it has. Boards other than MADC may send more: they are handed on.
    pub ids: u32,
}

/// The fields of a row.
struct Fields<'a> {
    record: &'a StringRecord,
    line: u64,
}

impl<'a> Fields<'a> {
    fn text(&self, column: usize) -> &'a str {
        self.record.get(column).unwrap_or_default()
    }

    fn value<T: FromStr>(&self, column: usize, expected: &str) -> Result<T, String> {
        self.text(column).parse().or_else(|_| self.refuse(column, expected))
    }

    fn refuse<T>(&self, column: usize, expected: &str) -> Result<T, String> {
        let (line, name, found) = (self.line, COLUMNS[column], self.text(column));
        Err(format!("line {line}, column {name}: found {found:?}, expected {expected}"))
    }
}

/// Reads a table.
///
/// # Errors
/// What is wrong in which line and column, and what is expected there.
pub fn read(text: &str) -> Result<Vec<WiringRow>, String> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| explain(&error))?.clone();
    if let Some((place, expected)) =
        COLUMNS.iter().enumerate().find(|(place, name)| header.get(*place) != Some(name))
    {
        let found = header.get(place).unwrap_or("nothing");
        return Err(format!("line 1, column {}: found {found:?}, expected {expected:?}", place + 1));
    }
    if header.len() > COLUMNS.len() {
        let found = header.get(COLUMNS.len()).unwrap_or_default();
        return Err(format!(
            "line 1, column {}: found {found:?}, expected no more columns",
            COLUMNS.len() + 1
        ));
    }
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) if rows.len() < MOST_ROWS => rows.push(row(&record)?),
            Ok(true) => return Err(format!("has more than {MOST_ROWS} rows")),
            Ok(false) => break,
            Err(error) => return Err(explain(&error)),
        }
    }
    if rows.is_empty() {
        return Err("has no rows: no board would be known".into());
    }
    check_addresses(&rows)?;
    give_ids(&mut rows);
    check_ids(&rows)?;
    Ok(rows)
}

fn row(record: &StringRecord) -> Result<WiringRow, String> {
    let line = record.position().map_or(0, csv::Position::line);
    let fields = Fields { record, line };
    let _number: u8 = fields.value(0, "a number from 0 to 255")?;
    let board_type = board_type(&fields)?;
    let _switch: u8 = fields.value(4, "a number from 0 to 255")?;
    let address: Ipv4Addr = fields.value(5, "an address of IPv4, as in 192.168.1.3")?;
    let channel: u8 = fields.value(6, "a number from 0 to 255")?;
    let first_id: u32 = fields.value(7, "a number from 0 to 2147483647")?;
    let ids: u32 = fields.value(8, "a number from 0 on")?;
    if board_type.has_channels() {
        if channel >= CHANNELS {
            return fields.refuse(6, "a channel from 0 to 7");
        }
        if !ids.is_power_of_two() || ids > MOST_POSITIONS {
            return fields.refuse(8, "a power of two from 1 to 4096");
        }
    }
    let most = LARGEST_ID - ids.saturating_sub(1).min(LARGEST_ID);
    if first_id > most {
        return fields.refuse(7, &format!("at most {most}: ids have 31 bits, and here are {ids} of them"));
    }
    let channel = if board_type.has_channels() { channel } else { 0 };
    Ok(WiringRow { line, board: fields.text(1).to_owned(), board_type, address, channel, first_id, ids })
}

fn board_type(fields: &Fields<'_>) -> Result<BoardType, String> {
    let (board, packets) = (fields.text(2), fields.text(3));
    let of_board = || TYPES.iter().filter(|of| of.0 == board);
    if of_board().next().is_none() {
        return fields.refuse(2, "PC3634M1S, PC3544MS or PC3877MS");
    }
    match of_board().find(|of| of.1 == packets) {
        Some(&(_, _, board_type)) => Ok(board_type),
        None => {
            let names: Vec<&str> = of_board().map(|of| of.1).collect();
            fields.refuse(3, &format!("{} for a {board}", names.join(" or ")))
        }
    }
}

/// An address is of one board, and a channel is wired once.
fn check_addresses(rows: &[WiringRow]) -> Result<(), String> {
    let mut order: Vec<&WiringRow> = rows.iter().collect();
    order.sort_by_key(|row| (row.address, row.channel, row.line));
    for pair in order.windows(2).filter(|pair| pair[0].address == pair[1].address) {
        let (one, other) = if pair[0].line < pair[1].line { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
        let (address, line) = (other.address, one.line);
        if (&one.board, one.board_type) != (&other.board, other.board_type) {
            return Err(format!(
                "line {}, column StreamingIP: found {address} again, which is that of board {} in line {line}: an address is of \
                 one board and one type of packets",
                other.line, one.board
            ));
        }
        if pair[0].channel == pair[1].channel {
            let channel = other.channel;
            return Err(format!(
                "line {}, column CH: found channel {channel} of {address} again, which is in line {line}",
                other.line
            ));
        }
    }
    Ok(())
}

/// Rows without a length, which only MADC boards need, have as many ids as their electronics, or as there are up to those of the
/// next row.
fn give_ids(rows: &mut [WiringRow]) {
    let mut starts: Vec<u32> = rows.iter().map(|row| row.first_id).collect();
    starts.sort_unstable();
    for row in rows.iter_mut().filter(|row| row.ids == 0) {
        let of_board = match row.board_type {
            BoardType::WlsfPosition => WLSF_POSITIONS,
            BoardType::WlsfHeight | BoardType::MadcPosition | BoardType::MadcHeight => MOST_POSITIONS,
            BoardType::Lvds => LVDS_CHANNELS,
        };
        let next = starts.iter().find(|start| **start > row.first_id).copied().unwrap_or(LARGEST_ID + 1);
        row.ids = of_board.min(next - row.first_id);
    }
}

/// No two rows have ids in common.
fn check_ids(rows: &[WiringRow]) -> Result<(), String> {
    let range = |row: &WiringRow| IdRange { first_id: row.first_id, count: row.ids, first_pixel: 1 };
    let ranges: Vec<IdRange> = rows.iter().map(range).collect();
    PixelIds::new(&ranges).map(drop).map_err(|overlap| {
        let (one, other) = (&rows[overlap.one.min(overlap.other)], &rows[overlap.one.max(overlap.other)]);
        let of = |row: &WiringRow| format!("{} to {}", row.first_id, row.first_id + (row.ids - 1));
        format!(
            "line {}, column Mantid_DetectorID_Start: found ids {}, which overlap those of line {}, {}",
            other.line,
            of(other),
            one.line,
            of(one)
        )
    })
}

/// An error of the CSV reader for a person, with line and column.
fn explain(error: &csv::Error) -> String {
    use csv::ErrorKind as Kind;
    let line = error.position().map_or_else(String::new, |position| format!("line {}", position.line()));
    match error.kind() {
        Kind::UnequalLengths { expected_len, len, .. } => {
            format!("{line}: found {len} columns, expected {expected_len}")
        }
        Kind::Utf8 { err, .. } => format!("{line}, column {}: is not text in UTF-8", err.field() + 1),
        _ => format!("cannot be read as CSV: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "BRD_NUM,BRD_Ref,BRD_Type,Packet_Type,SW_Pos,StreamingIP,CH,Mantid_DetectorID_Start,Mantid_Detector_ID_Lenght,Comment";

    fn table(rows: &[&str]) -> Result<Vec<WiringRow>, String> {
        read(&format!("{HEADER}\n{}\n", rows.join("\n")))
    }

    #[test]
    fn section_2_rows_of_all_boards() {
        let rows = table(&[
            "0,ADC0-S0,PC3544MS,Position,0,192.168.1.3,0,11101001,256,\"Pack 1, tube 1\"",
            "0,ADC0-S0,PC3544MS,Position,0,192.168.1.3,5,11106001,256,",
            "1,LVDS0-S0,PC3634M1S,DIM_OUT,1,192.168.1.4,0,5,0,",
            "1,LVDS0-S1,PC3634M1S,DIM_OUT,1,192.168.1.6,0,69,64,",
            "2,WLSF0,PC3877MS,Position,2,192.168.1.5,0,2000000,0,",
        ])
        .unwrap();
        let short: Vec<_> =
            rows.iter().map(|row| (row.line, row.board_type, row.channel, row.first_id, row.ids)).collect();
        assert_eq!(
            short,
            [
                (2, BoardType::MadcPosition, 0, 11_101_001, 256),
                (3, BoardType::MadcPosition, 5, 11_106_001, 256),
                (4, BoardType::Lvds, 0, 5, 64),
                (5, BoardType::Lvds, 0, 69, 64),
                (6, BoardType::WlsfPosition, 0, 2_000_000, 65_536),
            ]
        );
        assert_eq!((rows[0].board.as_str(), rows[0].address), ("ADC0-S0", Ipv4Addr::new(192, 168, 1, 3)));
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_column() {
        let good = "0,A,PC3544MS,Position,0,10.0.0.1,0,100,256,";
        for (rows, expected) in [
            (
                vec![good, "0,A,PC3544MS,Position,0,10.0.0.1,1,1000,300,"],
                "line 3, column Mantid_Detector_ID_Lenght: found \"300\", expected a power of two",
            ),
            (
                vec!["0,A,PC3544MS,Position,0,10.0.0.1,1,1000,0,"],
                "line 2, column Mantid_Detector_ID_Lenght: found \"0\", expected a power of two",
            ),
            (
                vec!["0,A,PC3544MS,Position,0,10.0.0.1,1,1000,8192,"],
                "found \"8192\", expected a power of two from 1 to 4096",
            ),
            (
                vec!["0,A,PC3544MS,Position,0,10.0.0.1,8,1000,256,"],
                "line 2, column CH: found \"8\", expected a channel from 0 to 7",
            ),
            (
                vec!["0,A,PC1,Position,0,10.0.0.1,1,1000,256,"],
                "column BRD_Type: found \"PC1\", expected PC3634M1S",
            ),
            (
                vec!["0,A,PC3544MS,DIM_OUT,0,10.0.0.1,1,1000,256,"],
                "column Packet_Type: found \"DIM_OUT\", expected Position or PulseHeight for a PC3544MS",
            ),
            (
                vec!["0,A,PC3544MS,Position,0,10.0.0.300,1,1000,256,"],
                "line 2, column StreamingIP: found \"10.0.0.300\", expected an address",
            ),
            (
                vec!["0,A,PC3544MS,Position,0,10.0.0.1,1,-5,256,"],
                "line 2, column Mantid_DetectorID_Start: found \"-5\", expected a number",
            ),
            (vec!["0,A,PC3544MS,Position,0,10.0.0.1,1,2147483400,256,"], "expected at most 2147483392"),
            (
                vec![good, "0,A,PC3544MS,Position,0,10.0.0.1,0,1000,256,"],
                "line 3, column CH: found channel 0 of 10.0.0.1 again, which is in line 2",
            ),
            (
                vec![good, "0,B,PC3544MS,Position,0,10.0.0.1,1,1000,256,"],
                "line 3, column StreamingIP: found 10.0.0.1 again",
            ),
            (
                vec![good, "0,B,PC3544MS,Position,0,10.0.0.2,0,300,256,"],
                "line 3, column Mantid_DetectorID_Start: found ids 300 to 555, which overlap those of line 2, 100 to 355",
            ),
            (vec![good, "0,A,PC3544MS"], "line 3: found 3 columns, expected 10"),
            (vec![], "has no rows"),
        ] {
            let error = table(&rows).unwrap_err();
            assert!(error.contains(expected), "{error}\nexpected: {expected}");
        }
        let spelt = read(&HEADER.replace("Lenght", "Length")).unwrap_err();
        assert_eq!(
            spelt,
            "line 1, column 9: found \"Mantid_Detector_ID_Length\", expected \"Mantid_Detector_ID_Lenght\""
        );
    }
}
