//! Files of messages: what a spill consists of.
//!
//! A file begins with the eight bytes `evfspil1`. Each message: length of what follows after the checksum (u32), CRC-32 of
//! that (u32), then number of events (u64), id (i64), time in ms (i64), partition (i32, -1: none), then source, topic, key,
//! headers and payload, each as length (u32) and bytes; a missing key or value has the length 2^32 - 1, and the headers are their number
//! (u32) with name and value of each. All little-endian.

use crate::sending::record::{OwnedRecord, Record};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

pub(crate) const MAGIC: &[u8; 8] = b"evfspil1";
/// No message is longer: Kafka's own limit is below it.
const LONGEST_MESSAGE: u32 = 1 << 30;
const NONE: u32 = u32::MAX;

/// Appends a message.
pub(crate) fn encode(record: &Record<'_>, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&[0; 8]);
    buffer.extend_from_slice(&record.about.events.to_le_bytes());
    buffer.extend_from_slice(&record.about.id.to_le_bytes());
    buffer.extend_from_slice(&record.timestamp_ms.to_le_bytes());
    buffer.extend_from_slice(&record.partition.unwrap_or(-1).to_le_bytes());
    put(buffer, record.about.source.as_bytes());
    put(buffer, record.topic.as_bytes());
    put_or_none(buffer, record.key);
    buffer.extend_from_slice(&(record.headers.len() as u32).to_le_bytes());
    for (name, value) in record.headers {
        put(buffer, name.as_bytes());
        put_or_none(buffer, value.as_deref());
    }
    put(buffer, record.payload);
    let length = (buffer.len() - 8) as u32;
    let checksum = crc32fast::hash(&buffer[8..]);
    buffer[..4].copy_from_slice(&length.to_le_bytes());
    buffer[4..8].copy_from_slice(&checksum.to_le_bytes());
}

fn put_or_none(buffer: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => put(buffer, bytes),
        None => buffer.extend_from_slice(&NONE.to_le_bytes()),
    }
}

fn put(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    buffer.extend_from_slice(bytes);
}

/// Opens a file behind its first eight bytes.
pub(crate) fn open_segment(path: &Path) -> io::Result<BufReader<File>> {
    let mut file = BufReader::with_capacity(1 << 17, File::open(path)?);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic)?;
    if magic == *MAGIC { Ok(file) } else { Err(damaged("it is not a spill of evforge")) }
}

fn damaged(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

/// Messages and bytes of a file, and what is wrong behind them, if anything is.
pub(crate) fn count(path: &Path) -> io::Result<(u64, u64, Option<String>)> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes < MAGIC.len() as u64 {
        return Ok((0, bytes, None));
    }
    let mut file = match open_segment(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Ok((0, bytes, Some(error.to_string())));
        }
        Err(error) => return Err(error),
    };
    let mut messages = 0;
    loop {
        match read(&mut file) {
            Ok(Some(_)) => messages += 1,
            Ok(None) => return Ok((messages, bytes, None)),
            Err(error) => {
                let problem = format!(
                    "message {} is damaged ({error}): the run was ended while it was written",
                    messages + 1
                );
                return Ok((messages, bytes, Some(problem)));
            }
        }
    }
}

/// The next message; none at the end.
pub(crate) fn read(file: &mut impl Read) -> io::Result<Option<OwnedRecord>> {
    let mut head = [0; 8];
    let mut filled = 0;
    while filled < head.len() {
        match file.read(&mut head[filled..])? {
            0 if filled == 0 => return Ok(None),
            0 => return Err(damaged("it ends in the middle")),
            count => filled += count,
        }
    }
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let (length, checksum) = (word(&head), word(&head[4..]));
    if length > LONGEST_MESSAGE {
        return Err(damaged("its length is impossible"));
    }
    // Grows with what is there, and not with what a damaged length says.
    let mut body = Vec::new();
    file.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(damaged("it ends in the middle"));
    }
    if crc32fast::hash(&body) != checksum {
        return Err(damaged("its checksum is wrong"));
    }
    decode(&body).map(Some).ok_or_else(|| damaged("its lengths are impossible"))
}

fn decode(mut body: &[u8]) -> Option<OwnedRecord> {
    let events = u64::from_le_bytes(cut(&mut body, 8)?.try_into().ok()?);
    let id = i64::from_le_bytes(cut(&mut body, 8)?.try_into().ok()?);
    let timestamp_ms = i64::from_le_bytes(cut(&mut body, 8)?.try_into().ok()?);
    let partition = i32::from_le_bytes(cut(&mut body, 4)?.try_into().ok()?);
    let source = text(&mut body)?;
    let topic = text(&mut body)?;
    let key = or_none(&mut body)?;
    let headers = (0..number(&mut body)?)
        .map(|_| {
            let name = text(&mut body)?;
            Some((name.into(), or_none(&mut body)?))
        })
        .collect::<Option<Vec<_>>>()?;
    let length = number(&mut body)?;
    let payload = cut(&mut body, length)?.to_vec();
    let partition = (partition >= 0).then_some(partition);
    body.is_empty().then_some(OwnedRecord {
        topic,
        partition,
        key,
        timestamp_ms,
        payload,
        headers,
        events,
        source,
        id,
        arrival_ns: None,
    })
}

/// Bytes, or that there are none.
fn or_none(body: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    match number(body)? {
        NONE => Some(None),
        length => Some(Some(cut(body, length)?.to_vec())),
    }
}

fn cut<'a>(bytes: &mut &'a [u8], length: u32) -> Option<&'a [u8]> {
    let (cut, rest) = bytes.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(cut)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(cut(bytes, 4)?.try_into().ok()?))
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let length = number(bytes)?;
    String::from_utf8(cut(bytes, length)?.to_vec()).ok()
}
