//! `evforge score` as a user meets it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A neutron of the SoNDe every 100 µs, in one pixel after the other, and those of the numbers in `unresolvable`.
fn truth(neutrons: u64, unresolvable: &[u64]) -> String {
    let line = |n: u64| {
        let (x, y, resolvable) = (n % 160, n / 160 % 160, !unresolvable.contains(&n));
        let (time, pixel) = (100_000 * (n + 1), y * 160 + x + 1);
        format!("{n},{time},{pixel},0,{x}.500,{y}.250,0.500,{}\n", u8::from(resolvable))
    };
    "neutron,time_ns,pixel_id,module,x,y,z,resolvable\n".to_owned()
        + &(0..neutrons).map(line).collect::<String>()
}

/// The events of these neutrons, 30 ns late, and a ghost.
fn events(neutrons: impl Iterator<Item = u64>) -> String {
    let line = |n: u64| format!("{},{}\n", 100_000 * (n + 1) + 30, n % 25_600 + 1);
    "time_ns,pixel_id\n".to_owned() + &neutrons.map(line).collect::<String>() + "50000,25600\n"
}

struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new(truth: &str, events: &str) -> Self {
        let case = Self { folder: tempfile::tempdir().expect("a folder for the test") };
        case.write("truth.csv", truth);
        case.write("events.csv", events);
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).expect("a file in the folder of the test");
    }

    fn json(&self, name: &str) -> Value {
        let text = std::fs::read(self.path(name)).expect("a file that was written");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Scores the files; `further` arguments are split at blanks.
    fn score(&self, further: &str) -> Output {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sonde.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_evforge"));
        command.current_dir(self.folder.path()).arg("score").arg("--config").arg(config);
        if !further.contains("--truth") {
            command.args(["--truth", "truth.csv", "--events", "events.csv"]);
        }
        command.args(further.split_whitespace()).output().expect("the program starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_is_scored_as_text_json_and_picture() {
    let case = Case::new(&truth(1000, &[3, 4]), &events((0..1000).filter(|n| ![3, 7].contains(n))));
    let output = case.score("--json score.json --plot score.svg");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(
        report.starts_with("1000 neutrons at 10 kHz, 99.800 % of them resolvable; 999 events\n"),
        "{report}"
    );
    for line in ["  resolvable     998    997  99.900 % ± 0.112 %", "  ghosts        1   0.100 %"] {
        assert!(report.contains(line), "{line} in\n{report}");
    }
    let json = case.json("score.json");
    assert_eq!((&json["configuration"], &json["runs"][0]["truth"]), (&"sonde".into(), &"truth.csv".into()));
    let score = &json["runs"][0]["score"];
    assert_eq!((&score["all"]["found"], &score["resolvable"]["found"]), (&998.into(), &997.into()));
    assert_eq!(
        (&score["all"]["position"][1]["mean"], &score["all"]["time_ns"]["mean"]),
        (&0.25.into(), &30.0.into())
    );
    assert_eq!(score["all"]["position"][2], Value::Null);
    let picture = std::fs::read_to_string(case.path("score.svg")).unwrap();
    assert!(
        picture.starts_with("<svg")
            && picture.contains("of resolvable")
            && picture.contains("found (% of the neutrons)")
    );
}

#[test]
fn what_is_demanded_decides_the_exit_status() {
    let case = Case::new(&truth(1000, &[]), &events(0..995));
    let met = case.score("--min-efficiency 99.5% --max-ghosts 0.2%");
    assert!(met.status.success(), "{}", text(&met.stderr));
    let unmet = case.score("--min-efficiency 99.6% --max-ghosts 0.1%");
    assert_eq!(unmet.status.code(), Some(1));
    let complaints = text(&unmet.stderr);
    assert_eq!(
        complaints.lines().collect::<Vec<_>>(),
        [
            "evforge: events.csv: 99.500 % of the resolvable neutrons were found, less than 99.6 %",
            "evforge: events.csv: 0.100 % of the events are ghosts, more than 0.1 %"
        ]
    );
    let unmet = case.score("--max-time-residual 29ns --max-rms 0");
    assert_eq!(
        text(&unmet.stderr),
        "evforge: events.csv: events are late, on average, by 30.0 ns, more than 29 ns\n"
    );
    assert!(case.score("--max-time-residual 30ns").status.success());
    // An offset that is known is no reason to miss anything; one that is not is.
    assert!(case.score("--time 10ns --offset 30ns --min-efficiency 99.5%").status.success());
    let early = case.score("--time 10ns --offset -30ns --min-efficiency 99.5%");
    assert!(text(&early.stderr).contains("0.000 % of the resolvable neutrons"), "{}", text(&early.stderr));

    let case = Case::new(&truth(100, &[1, 2, 3]), &events(0..100));
    let unmet = case.score("--max-not-resolvable 2%");
    assert!(text(&unmet.stderr).contains("3.000 % of the neutrons are not resolvable, more than 2 %"));
    let nobody = Case::new(&truth(0, &[]), &events(0..0)).score("--min-efficiency 1%");
    assert!(text(&nobody.stderr).contains("there are no resolvable neutrons"));
}

#[test]
fn several_runs_are_a_table_against_their_rates() {
    let case = Case::new(&truth(1000, &[]), &events(0..1000));
    case.write("fewer.csv", &events(0..500));
    let output = case
        .score("--truth truth.csv truth.csv --events events.csv fewer.csv --json score.json --plot a.svg");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    let efficiencies: Vec<_> = report.lines().filter(|line| line.contains("10 kHz")).collect();
    assert!(efficiencies[0].contains("  events.csv") && efficiencies[0].contains("100.000 %"), "{report}");
    assert!(efficiencies[1].contains("  fewer.csv") && efficiencies[1].contains("50.000 %"), "{report}");
    assert_eq!(case.json("score.json")["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    let case = Case::new(&truth(3, &[]), &events(0..3));
    case.write("short.csv", "time_ns,pixel_id\n7\n");
    case.write("foreign.csv", "time_ns,pixel_id\n1,25601\n");
    for (further, problem) in [
        (
            "--truth events.csv --events events.csv",
            "events.csv: line 1: no column `neutron` in `time_ns,pixel_id`",
        ),
        (
            "--truth truth.csv --events short.csv",
            "short.csv: line 2: `7` is not a line of `time_ns,pixel_id`",
        ),
        (
            "--truth truth.csv --events foreign.csv",
            "event 0 has pixel 25601, but the detector has pixels 1 to 25600",
        ),
        ("--truth truth.csv --events none.csv", "none.csv: No such file"),
        ("--truth truth.csv truth.csv --events events.csv", "2 files of truth and 1 of events"),
        ("--report nowhere/score.json", "the score cannot be written to nowhere/score.json"),
        ("--distance 0.4", "at least 0.5: 3 or 3,3,0.5"),
        ("--distance 1,2", "one number of pixels, or three"),
        ("--min-efficiency 0.995", "such as 99.5%"),
        ("--time 3", "a time with its unit, such as"),
    ] {
        let output = case.score(further);
        assert!(!output.status.success(), "{further}");
        assert!(text(&output.stderr).contains(problem), "{further}: {}", text(&output.stderr));
    }
}

#[test]
fn accuracy_fills_a_document_and_judges_the_low_rate() {
    let case = Case::new("", "");
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sonde-module.toml");
    let accuracy = |further: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evforge"));
        command.current_dir(case.folder.path()).arg("accuracy").arg("--config").arg(&config);
        command.args(["--rates", "1kHz", "1MHz", "--neutrons", "2000"]);
        command.args(further.split_whitespace()).output().expect("the program starts")
    };
    case.write("a.md", "Before.\n<!-- accuracy of sonde-module -->\nold\n<!-- end -->\nAfter.\n");
    let output =
        accuracy("--document a.md --json a.json --plot a.svg --min-efficiency 99% --max-not-resolvable 50%");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 3);
    let document = std::fs::read_to_string(case.path("a.md")).unwrap();
    let lines: Vec<&str> = document.lines().collect();
    assert_eq!((lines[0], lines[1]), ("Before.", "<!-- accuracy of sonde-module -->"));
    assert!(
        lines[2].starts_with("| mean rate | rate at neutrons |") && lines[3].starts_with("| ---:"),
        "{document}"
    );
    assert!(lines[4].starts_with("| 1 kHz |") && lines[5].starts_with("| 1 MHz |"), "{document}");
    assert_eq!(&lines[6..], ["<!-- end -->", "After."]);
    assert!(std::fs::read_to_string(case.path("a.svg")).unwrap().starts_with("<svg"));
    let runs = case.json("a.json")["runs"].clone();
    assert_eq!(runs[1]["neutrons_per_second"], 1e6);
    let found = |run: usize| runs[run]["score"]["all"]["efficiency"].as_f64().unwrap();
    assert!(found(0) > found(1), "{runs}");

    // Written anew, the document is the same; another instrument has no place in it.
    assert!(accuracy("--document a.md").status.success());
    assert_eq!(std::fs::read_to_string(case.path("a.md")).unwrap(), document);
    case.write("b.md", "<!-- accuracy of sonde -->\n<!-- end -->\n");
    let output = accuracy("--document b.md");
    assert!(text(&output.stderr).contains("b.md: no line `<!-- accuracy of sonde-module -->`"));
    let output = accuracy("--max-not-resolvable 0%");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("sonde-module: "), "{}", text(&output.stderr));
}
