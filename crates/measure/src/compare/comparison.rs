//! What two results have in common, and what not.

use crate::error::MeasureError;
use crate::fingerprint::Fingerprint;
use crate::measurement::{Measurement, Setting};
use crate::table::{Cell, Column, Role, Table};
use serde::Serialize;

/// Of calculated figures, the share that rounding explains.
const ROUNDING: f64 = 1e-9;

/// Two results, A and B, next to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Which measurement.
    pub kind: String,
    /// When each began.
    pub began: [String; 2],
    /// What is not the same of hosts, programs, settings; in the order of the fingerprint.
    pub facts: Vec<DifferentFact>,
    /// A host was loaded: whose, and how.
    pub loaded: Vec<String>,
    /// The tables that both have, with their differences.
    pub tables: Vec<ComparedTable>,
    /// Tables and columns that only one of them has, a sentence each.
    pub only_one: Vec<String>,
}

/// A fact that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentFact {
    /// Of what: `asked for`, `kernel`.
    pub part: String,
    /// Which.
    pub name: String,
    /// Its value in A; none if A does not have it.
    pub a: Option<String>,
    /// Its value in B.
    pub b: Option<String>,
}

/// A table that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedTable {
    /// Its name.
    pub name: String,
    /// Its title in B.
    pub title: String,
    /// The key columns.
    pub keys: Vec<Column>,
    /// The rows that both have, each column in which they could differ.
    pub rows: Vec<ComparedCell>,
    /// Rows that only one has: its keys.
    pub only_a: Vec<Vec<Cell>>,
    /// The same of B.
    pub only_b: Vec<Vec<Cell>>,
}

/// A figure that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCell {
    /// What its row is about.
    pub keys: Vec<Cell>,
    /// Its column.
    pub column: Column,
    /// In A.
    pub a: Cell,
    /// In B.
    pub b: Cell,
    /// B by A; none where that has no meaning.
    pub ratio: Option<f64>,
    /// What it means.
    pub difference: Difference,
}

/// Whether two figures differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// They are the same.
    Equal,
    /// The intervals of both explain the difference.
    WithinNoise,
    /// They do not, or there is no noise.
    Different,
    /// Measured without an interval: nobody can say.
    NoInterval,
}

impl Difference {
    /// As it is printed.
    pub fn words(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::WithinNoise => "within noise",
            Self::Different => "DIFFERENT",
            Self::NoInterval => "no interval: measure more than once",
        }
    }
}

impl Comparison {
    /// Compares two results.
    ///
    /// # Errors
    /// If they are of different measurements.
    pub fn of(a: &Measurement, b: &Measurement) -> Result<Self, MeasureError> {
        if a.kind != b.kind {
            return Err(MeasureError::Wrong(format!(
                "A is a result of `evforge measure {}`, B one of `evforge measure {}`: only results of the same measurement are compared",
                a.kind, b.kind
            )));
        }
        let mut facts = settings(&a.settings, &b.settings);
        facts.extend(fingerprints(&a.fingerprint, &b.fingerprint));
        let is_loaded = |(name, result): (&str, &Measurement)| {
            let load = result.fingerprint.load.filter(|load| load.is_loaded())?;
            Some(format!("{name}: {}", load.sentence()))
        };
        let mut only_one = Vec::new();
        let mut tables = Vec::new();
        for table in &b.tables {
            match a.table(&table.name) {
                Some(other) => tables.push(compared(other, table, &mut only_one)),
                None => only_one.push(format!("only B has the table `{}` ({})", table.name, table.title)),
            }
        }
        for table in a.tables.iter().filter(|table| b.table(&table.name).is_none()) {
            only_one.push(format!("only A has the table `{}` ({})", table.name, table.title));
        }
        Ok(Self {
            kind: a.kind.clone(),
            began: [a.began.clone(), b.began.clone()],
            facts,
            loaded: [("A", a), ("B", b)].into_iter().filter_map(is_loaded).collect(),
            tables,
            only_one,
        })
    }

    /// How many figures there are of this difference.
    pub fn count(&self, difference: Difference) -> usize {
        self.tables.iter().flat_map(|table| &table.rows).filter(|cell| cell.difference == difference).count()
    }
}

fn settings(a: &[Setting], b: &[Setting]) -> Vec<DifferentFact> {
    let facts = |settings: &[Setting]| -> Vec<[String; 3]> {
        settings.iter().map(|one| ["asked for".to_owned(), one.name.clone(), one.value.clone()]).collect()
    };
    different(&facts(a), &facts(b))
}

fn fingerprints(a: &Fingerprint, b: &Fingerprint) -> Vec<DifferentFact> {
    let facts = |of: &Fingerprint| -> Vec<[String; 3]> {
        of.facts.iter().map(|fact| [fact.part.clone(), fact.name.clone(), fact.value.clone()]).collect()
    };
    different(&facts(a), &facts(b))
}

/// What is not the same, in the order of B; then what only A has.
fn different(a: &[[String; 3]], b: &[[String; 3]]) -> Vec<DifferentFact> {
    let value = |of: &[[String; 3]], part: &str, name: &str| {
        of.iter().find(|fact| fact[0] == part && fact[1] == name).map(|fact| fact[2].clone())
    };
    let of_b = b.iter().map(|[part, name, in_b]| (part, name, value(a, part, name), Some(in_b.clone())));
    let of_a = a.iter().map(|[part, name, in_a]| (part, name, Some(in_a.clone()), value(b, part, name)));
    let of_a = of_a.filter(|(_, _, _, in_b)| in_b.is_none());
    of_b.chain(of_a)
        .filter(|(_, _, in_a, in_b)| in_a != in_b)
        .map(|(part, name, a, b)| DifferentFact { part: part.clone(), name: name.clone(), a, b })
        .collect()
}

/// Rows with the same keys; the n-th of several that have the same belongs to the n-th.
fn compared(a: &Table, b: &Table, only_one: &mut Vec<String>) -> ComparedTable {
    for (name, one, other) in [("A", a, b), ("B", b, a)] {
        for column in one.columns.iter().filter(|column| other.column(&column.name).is_none()) {
            only_one
                .push(format!("only {name} has the column `{}` of the table `{}`", column.name, one.name));
        }
    }
    let keys: Vec<Column> = b.columns.iter().filter(|column| column.role == Role::Key).cloned().collect();
    let key_of = |table: &Table, row: &[Cell]| -> Vec<Cell> {
        let cell = |column: &Column| table.column(&column.name).and_then(|place| row.get(place)).cloned();
        keys.iter().map(|column| cell(column).unwrap_or(Cell::Missing)).collect()
    };
    let mut waiting: Vec<(Vec<Cell>, &Vec<Cell>)> = a.rows.iter().map(|row| (key_of(a, row), row)).collect();
    let (mut rows, mut only_b) = (Vec::new(), Vec::new());
    for row in &b.rows {
        let keys = key_of(b, row);
        let Some(place) = waiting.iter().position(|(other, _)| *other == keys) else {
            only_b.push(keys);
            continue;
        };
        let (_, other) = waiting.remove(place);
        for (column, in_b) in b.columns.iter().zip(row).filter(|(column, _)| column.role != Role::Key) {
            let Some(in_a) = a.column(&column.name).and_then(|place| other.get(place)) else { continue };
            rows.push(ComparedCell {
                keys: keys.clone(),
                column: column.clone(),
                a: in_a.clone(),
                b: in_b.clone(),
                ratio: in_a.value().zip(in_b.value()).map(|(a, b)| b / a).filter(|ratio| ratio.is_finite()),
                difference: difference(in_a, in_b, column.role),
            });
        }
    }
    let only_a = waiting.into_iter().map(|(keys, _)| keys).collect();
    ComparedTable { name: b.name.clone(), title: b.title.clone(), keys, rows, only_a, only_b }
}

fn difference(a: &Cell, b: &Cell, role: Role) -> Difference {
    let (Some(of_a), Some(of_b)) = (a.value(), b.value()) else {
        return if a == b { Difference::Equal } else { Difference::Different };
    };
    if role == Role::Exact {
        let is_same = (of_a - of_b).abs() <= ROUNDING * of_a.abs().max(of_b.abs());
        return if is_same { Difference::Equal } else { Difference::Different };
    }
    let (Some(interval_a), Some(interval_b)) = (a.interval(), b.interval()) else {
        return if of_a == of_b { Difference::Equal } else { Difference::NoInterval };
    };
    if of_a == of_b {
        return if interval_a == interval_b { Difference::Equal } else { Difference::WithinNoise };
    }
    // The ends that face each other.
    let ((less, (_, high)), (more, (low, _))) = if of_a < of_b {
        ((of_a, interval_a), (of_b, interval_b))
    } else {
        ((of_b, interval_b), (of_a, interval_a))
    };
    match more - less > (high - less).hypot(more - low) {
        true => Difference::Different,
        false => Difference::WithinNoise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::to_text;
    use crate::fingerprint::Fact;
    use crate::measurement::Verdict;
    use crate::session::Session;
    use proptest::prelude::*;

    fn interval(value: f64, half: f64) -> Cell {
        Cell::Measured { value, low: value - half, high: value + half }
    }

    fn result(rows: Vec<Vec<Cell>>, kernel: &str) -> Measurement {
        let mut result =
            Session::without_host("sweep", "Sweep", &[]).setting("speed", "10 Gb/s").end(Verdict::good(""));
        let columns = vec![
            Column::key("size", "Size", "B").decimals(0),
            Column::measured("rate", "Rate", "1/s"),
            Column::exact("frame", "Frame", "B"),
        ];
        result.tables.push(Table { rows, ..Table::new("rates", "Rates", columns) });
        let fact = Fact { part: "kernel".to_owned(), name: "release".to_owned(), value: kernel.to_owned() };
        result.fingerprint.facts.push(fact);
        result
    }

    fn row(size: f64, rate: Cell) -> Vec<Cell> {
        vec![Cell::Number(size), rate, Cell::Number(size + 46.0)]
    }

    #[test]
    fn what_differs_comes_first_and_noise_is_told_from_a_difference() {
        let a = result(
            vec![
                row(64.0, interval(100.0, 10.0)),
                row(128.0, interval(50.0, 1.0)),
                row(256.0, Cell::Number(1.0)),
            ],
            "6.1",
        );
        let b = result(
            vec![
                row(64.0, interval(112.0, 10.0)),
                row(128.0, interval(60.0, 1.0)),
                row(512.0, Cell::Number(1.0)),
            ],
            "6.18",
        );
        let compared = Comparison::of(&a, &b).unwrap();
        let of_kernel = DifferentFact {
            part: "kernel".into(),
            name: "release".into(),
            a: Some("6.1".into()),
            b: Some("6.18".into()),
        };
        assert_eq!(compared.facts, [of_kernel]);
        let table = &compared.tables[0];
        let found: Vec<_> =
            table.rows.iter().map(|cell| (cell.column.name.as_str(), cell.difference)).collect();
        let expected = [
            ("rate", Difference::WithinNoise),
            ("frame", Difference::Equal),
            ("rate", Difference::Different),
            ("frame", Difference::Equal),
        ];
        assert_eq!(found, expected);
        assert!((table.rows[2].ratio.unwrap() - 1.2).abs() < 1e-12);
        assert_eq!(
            (&table.only_a, &table.only_b),
            (&vec![vec![Cell::Number(256.0)]], &vec![vec![Cell::Number(512.0)]])
        );
        let text = to_text(&compared);
        let places = ["6.18", "128", "DIFFERENT", "only A"]
            .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn results_of_different_measurements_are_refused() {
        let (a, mut b) = (result(Vec::new(), "1"), result(Vec::new(), "1"));
        b.kind = "soak".to_owned();
        let said = Comparison::of(&a, &b).unwrap_err().to_string();
        assert!(said.contains("measure sweep") && said.contains("measure soak"), "{said}");
    }

    #[test]
    fn none_seen_is_compared_by_its_upper_bound() {
        let none = |packets| Cell::counted_share(0, packets);
        // 1000 lost in 1e6 are more than none in 1e6, and 1 in 1e6 is not.
        let of = |a: &Cell, b: &Cell| difference(a, b, Role::Measured);
        assert_eq!(of(&none(1_000_000), &Cell::counted_share(1000, 1_000_000)), Difference::Different);
        assert_eq!(of(&none(1_000_000), &Cell::counted_share(1, 1_000_000)), Difference::WithinNoise);
        assert_eq!(of(&none(10), &none(1000)), Difference::WithinNoise);
        assert_eq!(of(&Cell::Number(1.0), &Cell::Number(1.1)), Difference::NoInterval);
        assert_eq!(of(&Cell::Missing, &none(10)), Difference::Different);
        assert_eq!(difference(&Cell::text("a"), &Cell::text("b"), Role::Exact), Difference::Different);
    }

    proptest! {
        /// A result compared with itself has no difference, and A against B is B against A.
        #[test]
        fn a_comparison_has_no_direction(a in 0.0..100.0_f64, b in 0.0..100.0_f64, half_a in 0.0..10.0_f64, half_b in 0.0..10.0_f64) {
            let (a, b) = (interval(a, half_a), interval(b, half_b));
            prop_assert_eq!(difference(&a, &b, Role::Measured), difference(&b, &a, Role::Measured));
            prop_assert_eq!(difference(&a, &a, Role::Measured), Difference::Equal);
            let separate = a.interval().unwrap().1 < b.interval().unwrap().0;
            prop_assert!(!separate || difference(&a, &b, Role::Measured) == Difference::Different);
        }
    }

    #[test]
    fn a_result_equals_itself() {
        let a = result(vec![row(64.0, interval(1.0, 0.5)), row(64.0, interval(2.0, 0.5))], "1");
        let compared = Comparison::of(&a, &a).unwrap();
        assert_eq!(compared.count(Difference::Equal), 4);
        assert!(
            compared.facts.is_empty() && to_text(&compared).contains("the same host, program and settings")
        );
    }
}
