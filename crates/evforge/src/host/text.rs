//! Findings, for people and for programs.

use evforge_host::{Finding, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Columns before what is found.
const INDENT: usize = 28;

/// One finding on its lines.
pub(super) fn to_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<8} {:<19} {}", finding.verdict.name(), finding.subject, finding.found);
        if finding.verdict == Verdict::Good {
            continue;
        }
        let because = finding.why.zip(finding.source).map(|(why, source)| format!("{why} ({source})"));
        for (label, line) in
            [("wanted:", finding.wanted.as_deref()), ("why:", because.as_deref()), ("risk:", finding.risk)]
        {
            if let Some(line) = line {
                let _ = writeln!(text, "{:<INDENT$} {label:<7} {line}", "");
            }
        }
        if let Some(fix) = &finding.fix {
            let _ = writeln!(text, "{:<INDENT$} -> {fix}", "");
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (missing, advice) = (count(Verdict::Missing), count(Verdict::Advice));
    let _ = writeln!(text, "{} checked: {missing} missing, {advice} could be better", findings.len());
    text
}

/// The same for programs.
pub(super) fn to_json(findings: &[Finding]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "subject": finding.subject,
            "verdict": finding.verdict.name().to_lowercase(),
            "found": finding.found,
            "wanted": finding.wanted,
            "why": finding.why,
            "source": finding.source,
            "risk": finding.risk,
            "fix": finding.fix,
            // Its former name, until release 0.3.
            "mend": finding.fix,
        })
    };
    findings.iter().map(finding).collect()
}
