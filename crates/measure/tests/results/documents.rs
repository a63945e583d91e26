//! The results in docs/measurements: what is calculated is what this evforge calculates, and of what was measured every file says the same.
//! With EVFORGE_UPDATE=1 their plots and reports are drawn again from their `result.json`.

use evforge_measure::compare::{Comparison, Difference};
use evforge_measure::link::{LinkSettings, measure, paper};
use evforge_measure::{Session, result_file};
use std::path::Path;

#[test]
fn the_table_of_the_documents_is_that_of_this_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements/link");
    let kept = result_file::read(&folder).expect("docs/measurements/link: run `make measurements`");
    let settings = LinkSettings { bits_per_second: paper::SPEED, mtus: vec![paper::MTU], sizes: Vec::new() };
    let now = measure(Session::without_host("link", &kept.title, &[]), &settings).unwrap();
    assert_eq!((&kept.verdict, &kept.findings, &kept.limits), (&now.verdict, &now.findings, &now.limits));
    let compared = Comparison::of(&kept, &now).expect("the same measurement");
    let figures = compared.count(Difference::Equal);
    assert!(figures > 100 && compared.count(Difference::Different) == 0, "run `make measurements`");
    assert_eq!(compared.only_one, [""; 0]);
    for table in &now.tables {
        let file = folder.join(format!("{}.csv", table.name));
        assert_eq!(std::fs::read_to_string(file).unwrap(), evforge_measure::csv::of(table));
    }
    for plot in &now.plots {
        let drawn = evforge_measure::drawing::svg(plot).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join(format!("{}.svg", plot.name))).unwrap(), drawn);
    }
}

/// The same texts and numbers, but for what reading a number can change of it.
fn are_the_same(one: &str, other: &str) -> bool {
    let cells = |text: &str| text.split([',', '\n']).map(str::to_owned).collect::<Vec<_>>();
    let is_same = |(one, other): (&String, &String)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 1e-12 * one.abs(),
        _ => one == other,
    };
    let (one, other) = (cells(one), cells(other));
    one.len() == other.len() && one.iter().zip(&other).all(is_same)
}

/// What is drawn, wherever a digit of a coordinate is rounded to.
fn without_digits(drawing: &str) -> String {
    drawing.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// Tables and plots of each result are those of its `result.json`, drawn by this program, and the index names it with its verdict.
#[test]
fn every_kept_result_is_whole_and_in_the_index() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements");
    let index = std::fs::read_to_string(folder.join("README.md")).expect("docs/measurements/README.md");
    let mut found = 0;
    for entry in std::fs::read_dir(&folder).expect("results") {
        let path = entry.expect("a result").path();
        if !path.is_dir() {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let kept = result_file::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        for table in &kept.tables {
            let file = std::fs::read_to_string(path.join(format!("{}.csv", table.name)));
            let (file, now) = (file.expect(&name), evforge_measure::csv::of(table));
            assert!(are_the_same(&file, &now), "{name}/{}: {file}{now}", table.name);
        }
        if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
            for plot in &kept.plots {
                let drawn = evforge_measure::drawing::svg(plot).expect(&name);
                std::fs::write(path.join(format!("{}.svg", plot.name)), drawn).expect(&name);
            }
            std::fs::write(path.join("report.html"), evforge_measure::report::html(&kept).expect(&name))
                .expect(&name);
        }
        for plot in &kept.plots {
            let file = std::fs::read_to_string(path.join(format!("{}.svg", plot.name)));
            let (file, now) = (file.expect(&name), evforge_measure::drawing::svg(plot).expect(&name));
            assert_eq!(without_digits(&file), without_digits(&now), "{name}/{}", plot.name);
        }
        assert!(
            index.contains(&format!("({name}/report.html)")),
            "{name} is not in the index: run `scripts/measurements-index.py`"
        );
        assert!(index.contains(&kept.verdict.sentence), "{name}: the index has another verdict");
        found += 1;
    }
    assert!(found > 0, "docs/measurements has results");
}
