//! What happens in the run of a seed.

use crate::instruments::{Instrument, all};
use evforge_simulated_host::random::Random;
use std::fmt::Write;
use std::path::Path;

const MS: u64 = 1_000_000;
/// Ports of the program; each run has a network of its own.
pub(crate) const DATA: u16 = 9000;
const PAGE: u16 = 8080;
const COMMANDS: u16 = 8888;
/// The program is up by then: packets that come before nobody listens are not the matter here.
const UP: u64 = 100 * MS;
const FIRST_PACKET: u64 = 200 * MS;

/// The run of a seed.
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) instrument: &'static Instrument,
    /// What arrives, and when (nanoseconds since the start): packets that were lost, doubled and reordered on the way.
    pub(crate) packets: Vec<(u64, Vec<u8>)>,
    /// Lost, doubled and reordered packets.
    pub(crate) on_the_way: [u64; 3],
    outputs: Vec<&'static [&'static str]>,
    /// Lines of the plan.
    lines: Vec<String>,
    /// The run is asked to end then.
    pub(crate) ends: u64,
    /// It is asked a second time, which ends it at once.
    pub(crate) is_hurried: bool,
    pub(crate) every_turn: bool,
}

/// Outputs besides CSV and the report, and how often they are there, of ten.
const OUTPUTS: [(u64, &[&str]); 7] = [
    (8, &["--nexus", "run.nxs"]),
    (7, &["--record", "packets.pcapng"]),
    (2, &["--rotate-size", "16kB"]),
    (5, &["--view", "127.0.0.1:8080"]),
    (3, &["--image", "image.png"]),
    (3, &["--command-port", "127.0.0.1:8888"]),
    (2, &["--log-file", "log.jsonl"]),
];

/// Parts of names of files that rules are about, if they are not about all.
const NAMES: [&str; 6] = ["events.csv", "run", "packets", "image", "report", "log"];

impl Scenario {
    /// The one of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5eed_0000_0000);
        let instrument = random.one_of(all()).unwrap();
        let mut outputs: Vec<&[&str]> = Vec::new();
        for (of_ten, words) in OUTPUTS {
            let needs_record =
                words[0] == "--rotate-size" && !outputs.iter().any(|words| words[0] == "--record");
            if random.below(10) < of_ten && !needs_record {
                outputs.push(words);
            }
        }
        let (packets, on_the_way) = arrivals(&mut random, &instrument.packets);
        let last = packets.last().map_or(FIRST_PACKET, |(at, _)| *at);
        let ends =
            if random.once_in(8) { UP + random.below(last) } else { last + 50 * MS + random.below(700) * MS };
        let mut scenario = Self {
            seed,
            instrument,
            packets,
            on_the_way,
            outputs,
            lines: Vec::new(),
            ends,
            is_hurried: false,
            every_turn: false,
        };
        let signal = [15, 15, 15, 2, 1][random.below(5) as usize];
        scenario.lines.push(format!("at {ends} signal {signal}"));
        // Few, so that one is seen by itself, or many.
        let most = if random.once_in(2) { 4 } else { 16 };
        for _ in 0..random.below(most) {
            scenario.add_fault(&mut random);
        }
        scenario
    }

    fn add_fault(&mut self, random: &mut Random) {
        // Half of them when everything is brought to its end.
        let begins = if random.once_in(2) { self.ends.saturating_sub(50 * MS).max(UP) } else { UP };
        let from = begins + random.below(self.ends + 100 * MS - begins);
        let lasts = [5 * MS, 50 * MS, 300 * MS, 2000 * MS, u64::MAX / 4][random.below(5) as usize];
        let window = format!("from {from} to {}", from + lasts);
        let name = if random.once_in(2) { "*" } else { random.one_of(&NAMES).unwrap() };
        let once_in = [1, 1, 2, 5, 20][random.below(5) as usize];
        let tail = format!("{name} {once_in}");
        let line = match random.below(20) {
            // A disk that is full, for a while or for good: what exists of the file is left.
            0..=2 => format!("{window} fail {} write,room,open {name} 1", libc::ENOSPC),
            3 => format!("{window} fail {} write,room {tail}", libc::EDQUOT),
            4 => format!("{window} fail {} write,sync {tail}", libc::EIO),
            5 => format!("{window} fail {} sync {tail}", libc::EIO),
            6 => format!("{window} short 0 write {tail}"),
            7 => format!("{window} slow {} write,sync,open {tail}", (1 + random.below(400)) * MS),
            8 => format!("{window} fail {} open,descriptor {tail}", libc::EMFILE),
            9 => format!(
                "{window} fail {} rename {tail}",
                [libc::EACCES, libc::EIO, libc::ENOSPC][random.below(3) as usize]
            ),
            10 => format!("{window} fail {} read {tail}", libc::EIO),
            11 => format!(
                "{window} fail {} read,write,receive,send,sync {name} {}",
                libc::EINTR,
                once_in.max(2)
            ),
            // Often, as it needs a file that is there.
            12 | 17 | 18 => {
                let verb = if random.once_in(2) { "remove" } else { "replace" };
                let file = *random.one_of(&["events.csv", "run.nxs", "packets.pcapng", "log.jsonl"]).unwrap();
                format!("at {from} {verb} {file}")
            }
            13 => {
                let step = [1, 60, 3600, 86_400, 1_000_000_000][random.below(5) as usize] * 1_000_000_000_i64;
                format!("at {from} clock {}", if random.once_in(2) { step } else { -step })
            }
            14 => {
                let signal = *random.one_of(&[1, 10, 12, 13, 14, 15, 2, 28]).unwrap();
                // A second one ends the process at once.
                self.is_hurried |= [15, 2].contains(&signal);
                format!("at {from} signal {signal}")
            }
            // Often, as most threads are there before.
            15 | 19 => format!("{window} fail {} thread * {once_in}", libc::EAGAIN),
            _ => return self.add_client(random, from),
        };
        self.lines.push(line);
        if self.lines.last().is_some_and(|line| line.contains("descriptor")) {
            self.add_client(random, from);
        }
    }

    /// A client of the page or of the command port: it asks, reads or does not, and leaves or stays.
    fn add_client(&mut self, random: &mut Random, from: u64) {
        const REQUESTS: [&str; 8] = [
            r"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
            r"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
            r"GET /api/v1/state HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
            r"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            r"GET /\x00\xff HTTP/1.1\r\n\r\n",
            r"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nabc",
            r"GET / HTTP/1.1\r\nHost:",
            r"\x16\x03\x01\x00",
        ];
        const TEXTS: [&str; 5] =
            [r"STAT_GET_COUNT\n", r"VERSION_GET\n", r"EXIT\n", r"STAT_GET 1\nSTAT_GET 2\n", r"\xff\xfe"];
        let client = random.below(60);
        let is_page = !random.once_in(3);
        let (port, text) = if is_page {
            (PAGE, random.one_of(&REQUESTS).unwrap())
        } else {
            (COMMANDS, random.one_of(&TEXTS).unwrap())
        };
        self.lines.push(format!("at {from} connect {client} {port}"));
        self.lines.push(format!("at {} send {client} {text}", from + MS));
        if !random.once_in(3) {
            self.lines.push(format!("at {} read {client} 300000", from + random.below(200) * MS + 2 * MS));
        }
        if random.once_in(2) {
            self.lines.push(format!("at {} close {client}", from + random.below(400) * MS + 3 * MS));
        }
    }

    /// The detector, and each kind of fault and of client, without times and names of files.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let of_line = |line: &String| {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["from", _, "to", _, "slow", ..] => "slow".to_owned(),
                ["from", _, "to", _, verb, number, calls, ..] => format!("{verb} {number} {calls}"),
                [_, _, "signal", number] => format!("signal {number}"),
                _ => words[2].to_owned(),
            }
        };
        let ends = [format!("hurried {}", self.is_hurried), format!("lost {}", self.on_the_way[0] > 0)];
        let outputs = self.outputs.iter().map(|words| words[0].to_owned());
        let faults = self.lines.iter().map(of_line);
        faults.chain(ends).chain(outputs).chain([self.instrument.capture.to_owned()]).collect()
    }

    /// When the run is asked to end for the first time, by a signal or a client. From then on its files may be complete.
    pub(crate) fn asked_to_end(&self) -> u64 {
        const ENDS: [&str; 4] = ["signal 1", "signal 2", "signal 15", r"EXIT\n"];
        let asks = |line: &str| {
            let (at, rest) = line.strip_prefix("at ")?.split_once(' ')?;
            ENDS.iter().any(|end| rest.ends_with(end)).then(|| at.parse().ok())?
        };
        self.lines.iter().filter_map(|line| asks(line)).min().unwrap_or(self.ends)
    }

    /// What the program is called with.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let configuration = evforge_testkit::own_data::configuration_path(self.instrument.capture);
        let configuration = configuration.canonicalize().unwrap();
        let mut arguments: Vec<String> = ["run", "--config"].map(str::to_owned).to_vec();
        arguments.push(configuration.display().to_string());
        arguments.push("--set".into());
        arguments.push(format!("receive.address=\"127.0.0.1:{DATA}\""));
        arguments.extend(["--events", "events.csv", "--report", "report.json"].map(str::to_owned));
        arguments.extend(self.outputs.iter().flat_map(|words| words.iter().map(|&word| word.to_owned())));
        arguments
    }

    /// Whether it has this output.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.outputs.iter().any(|words| words[0] == option)
    }

    /// The packets as the simulated host reads them.
    pub(crate) fn packet_file(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for (at, packet) in &self.packets {
            file.extend(at.to_le_bytes());
            file.extend((packet.len() as u32).to_le_bytes());
            file.extend(packet);
        }
        file
    }

    /// The plan, as text.
    pub(crate) fn plan(&self, folder: &Path, packets: &Path, trace: &Path) -> String {
        let mut text = format!(
            "seed {}\nwall 1700000000000000000\nlimit 3000000000000\nfolder {}\npackets {}\ntrace {}\nport {DATA}\n",
            self.seed,
            folder.display(),
            packets.display(),
            trace.display()
        );
        if self.every_turn {
            text.push_str("full\n");
        }
        for line in &self.lines {
            // Texts take any line.
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// When packets arrive, if some are lost, doubled and reordered on the way.
fn arrivals(random: &mut Random, packets: &[Vec<u8>]) -> (Vec<(u64, Vec<u8>)>, [u64; 3]) {
    let is_rough = random.once_in(2);
    let step = (500 * MS / packets.len() as u64).clamp(100_000, 3 * MS);
    let (mut arriving, mut counts) = (Vec::new(), [0; 3]);
    for (index, packet) in packets.iter().enumerate() {
        let mut at = FIRST_PACKET + index as u64 * step;
        if is_rough {
            match random.below(30) {
                0 => {
                    counts[0] += 1;
                    continue;
                }
                1 => {
                    counts[1] += 1;
                    arriving.push((at + random.below(4 * step), packet.clone()));
                }
                2 => {
                    counts[2] += 1;
                    at += step + random.below(3 * step);
                }
                _ => {}
            }
        }
        arriving.push((at, packet.clone()));
    }
    arriving.sort_by_key(|(at, _)| *at);
    (arriving, counts)
}
