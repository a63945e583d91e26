//! The report of a result: one HTML file that needs nothing else, to be read from the top.
//!
//! Verdict and findings, plots, tables, what it cannot show, the command, the fingerprint. Plots are in it as SVG; in a dark window their
//! colours follow. A policy in the file forbids a browser to load anything.

use crate::drawing;
use crate::error::MeasureError;
use crate::fingerprint::Fingerprint;
use crate::measurement::Measurement;
use crate::plot::Plot;
use crate::table::{Cell, Table};
use crate::text::shown;
use std::fmt::Write as _;

const STYLE: &str = include_str!("report.css");
/// Nothing is loaded from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The report.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn html(result: &Measurement) -> Result<String, MeasureError> {
    let title = escaped(&result.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    let (class, word) = if result.verdict.is_good { ("", "Good") } else { (" bad", "Not good") };
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "<p class=\"when\">evforge measure {}, {}, {:.1} s</p>\n<p class=\"verdict{class}\"><b>{word}.</b> {}</p>",
        escaped(&result.kind),
        escaped(&result.began),
        result.seconds,
        escaped(&result.verdict.sentence)
    );
    sentences(&mut page, "Findings", &result.findings);
    if !result.plots.is_empty() {
        page += "<h2>Plots</h2>\n";
    }
    for plot in &result.plots {
        page += &figure(plot)?;
    }
    if !result.tables.is_empty() {
        page += "<h2>Tables</h2>\n";
    }
    for table in &result.tables {
        page += &of_table(table);
    }
    sentences(&mut page, "What this cannot show", &result.limits);
    let _ = writeln!(page, "<h2>Command</h2>\n<pre>{}</pre>", escaped(&result.command_line()));
    if !result.settings.is_empty() {
        let settings =
            result.settings.iter().map(|setting| [setting.name.as_str(), "", setting.value.as_str()]);
        page += &facts("What was asked for", settings);
    }
    page += &of_fingerprint(&result.fingerprint);
    page += "</body>\n</html>\n";
    Ok(page)
}

fn sentences(page: &mut String, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h2>{title}</h2>\n<ul>");
    for sentence in sentences {
        let class = if sentence.starts_with("LOADED") { " class=\"warning\"" } else { "" };
        let _ = writeln!(page, "<li{class}>{}</li>", escaped(sentence));
    }
    *page += "</ul>\n";
}

fn figure(plot: &Plot) -> Result<String, MeasureError> {
    let drawn = drawing::svg(plot)?;
    // Within a page an SVG needs no name space, and has a description.
    let label = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(&plot.title));
    let drawn = drawn.replacen("<svg ", &label, 1).replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    Ok(format!("<figure>\n{drawn}<figcaption>{}</figcaption>\n</figure>\n", escaped(&plot.caption)))
}

fn of_table(table: &Table) -> String {
    let is_text = |place: usize| table.rows.iter().any(|row| matches!(row.get(place), Some(Cell::Text(_))));
    let classes: Vec<&str> =
        (0..table.columns.len()).map(|place| if is_text(place) { " class=\"text\"" } else { "" }).collect();
    let mut text =
        format!("<div class=\"scroll\"><table>\n<caption>{}</caption>\n<tr>", escaped(&table.title));
    for (column, class) in table.columns.iter().zip(&classes) {
        let _ = write!(text, "<th{class}>{}</th>", escaped(&column.heading()));
    }
    text += "</tr>\n";
    for row in &table.rows {
        text += "<tr>";
        for ((cell, column), class) in row.iter().zip(&table.columns).zip(&classes) {
            let _ = write!(text, "<td{class}>{}</td>", escaped(&shown(cell, column)));
        }
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

fn of_fingerprint(fingerprint: &Fingerprint) -> String {
    let mut text = String::from("<h2>Fingerprint</h2>\n");
    if let Some(load) = &fingerprint.load {
        let _ = writeln!(text, "<p>{}</p>", escaped(&load.sentence()));
    }
    let rows =
        fingerprint.facts.iter().map(|fact| [fact.part.as_str(), fact.name.as_str(), fact.value.as_str()]);
    text + &facts("What the result depends on", rows)
}

/// Rows of what, which and its value. What is the same as above is not repeated.
fn facts<'a>(title: &str, rows: impl Iterator<Item = [&'a str; 3]>) -> String {
    let mut text = format!("<div class=\"scroll\"><table>\n<caption>{title}</caption>\n");
    let mut before = "";
    for [part, name, value] in rows {
        let shown = if part == before { "" } else { part };
        before = part;
        let [shown, name, value] = [shown, name, value].map(escaped);
        let _ = writeln!(
            text,
            "<tr><th class=\"text\">{shown}</th><td class=\"text\">{name}</td><td class=\"value\">{value}</td></tr>"
        );
    }
    text + "</table></div>\n"
}

/// A text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            // Nothing that a page can have.
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{LinkSettings, measure};
    use crate::measurement::Verdict;
    use crate::plot::{Axis, Line, Look, Point};
    use crate::session::Session;

    #[test]
    fn a_report_needs_nothing_else_and_is_read_from_the_top() {
        let session = Session::without_host("link", "Link", &["evforge".to_owned()]);
        let settings = LinkSettings { bits_per_second: 10_000_000_000, mtus: vec![9000], sizes: vec![] };
        let page = html(&measure(session, &settings).unwrap()).unwrap();
        for elsewhere in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script"] {
            let found = page.find(elsewhere).map(|at| &page[at.saturating_sub(60)..at + 20]);
            assert_eq!(found, None, "{elsewhere}");
        }
        let places = [
            "class=\"verdict\"",
            ">Findings<",
            "<svg",
            "<table",
            ">What this cannot show<",
            ">Command<",
            ">Fingerprint<",
        ]
        .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part}")));
        assert!(places.is_sorted(), "{places:?}");
    }

    /// Whatever is in a result, foreign ones included, is text.
    #[test]
    fn nothing_in_a_result_becomes_part_of_the_page() {
        let evil = "</title><script>alert(1)</script>\" onload='x'";
        let mut result = Session::without_host("link", evil, &[evil.to_owned()])
            .setting(evil, evil)
            .end(Verdict::bad(evil));
        result.findings.push(evil.to_owned());
        result.limits.push(evil.to_owned());
        result.fingerprint.facts[0].value = evil.to_owned();
        let axis = || Axis::linear(evil, evil);
        let plot = crate::plot::Plot::new("p", evil, axis(), axis()).captioned(evil);
        result.plots.push(plot.with(Line::new(evil, Look::Measured, vec![Point::at(1.0, 1.0)])));
        let page = html(&result).unwrap();
        assert!(!page.contains("<script") && !page.contains("\" onload"), "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("verdict bad"));
    }
}
