//! Conversations with the command port.

use super::Seed;
use evforge_control::commands::{COMMANDS, LARGEST_REQUEST};

/// All replies are taken.
const ALL: u8 = 127 << 1;

/// A conversation: the pieces, each of which is what comes at once.
fn conversation(choice: u8, pieces: &[&[u8]]) -> Vec<u8> {
    super::pieces::joined([choice].to_vec(), pieces)
}

/// Every command in both generations, several in one piece, one in several, and what is too long.
pub fn seeds() -> Vec<Seed> {
    let requests: Vec<String> = COMMANDS
        .iter()
        .map(|command| match command.name {
            "CALIB_MODE_SET" | "CMD_GET" | "STAT_GET" => format!("{} 1", command.name),
            "STAT_GET_NAME" => format!("{} efu.in\n", command.name),
            name => format!("{name}\n"),
        })
        .collect();
    let all: Vec<&[u8]> = requests.iter().map(|request| request.as_bytes()).collect();
    let in_one: &[&[u8]] = &[b"VERSION_GET\nCMD_GET_COUNT\nEXIT\n", b"EXIT"];
    let in_pieces: &[&[u8]] = &[b"VERS", b"", b"ION_GET", b"\n", b"", b"STAT_GET", b" 1"];
    let wrong: &[&[u8]] = &[
        b"STAT_GET -1",
        b"STAT_GET 99999999999999999999",
        b"CALIB_MODE_SET 2",
        b"CMD_GET 1 2",
        b"STAT_GET_NAME \xFF\x1b[2J",
        b"stat_get 1",
        b"\n \n",
        b"\0",
    ];
    let long = vec![b'A'; 2 * LARGEST_REQUEST + 3];
    let spaced = [b"EXIT".as_slice(), &vec![b' '; LARGEST_REQUEST - 4]].concat();
    let many = vec![b"RUNTIMESTATS".as_slice(); 140];
    vec![
        Seed::new("all-of-2026", conversation(ALL | 1, &all)),
        Seed::new("all-of-2018", conversation(ALL, &all)),
        Seed::new("several-in-a-piece", conversation(ALL | 1, in_one)),
        Seed::new("one-in-pieces", conversation(ALL | 1, in_pieces)),
        Seed::new("wrong", conversation(ALL | 1, wrong)),
        Seed::new("too-long", conversation(ALL | 1, &[&long, b"VERSION_GET"])),
        Seed::new("longest", conversation(ALL | 1, &[&spaced])),
        Seed::new("takes-no-reply", conversation(1, &all)),
        Seed::new("takes-two-replies", conversation(2 << 1 | 1, &all)),
        Seed::new("many", conversation(ALL | 1, &many)),
        Seed::new("silent", conversation(ALL | 1, &[])),
    ]
}
