//! Figures as text for people.

/// What stands for nothing.
pub fn none() -> String {
    "–".to_owned()
}

/// A share in percent; a dash for a share of nothing.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(none, |share| format!("{:.3} %", 100.0 * share))
}

/// A number with this many decimals; a dash for none.
pub fn decimals(value: Option<f64>, count: usize) -> String {
    value.map_or_else(none, |value| format!("{value:.count$}"))
}

/// A rate with a prefix: "20 kHz".
pub fn rate(hertz: f64) -> String {
    match hertz {
        hertz if hertz >= 1e6 => format!("{} MHz", rounded(hertz / 1e6)),
        hertz if hertz >= 1e3 => format!("{} kHz", rounded(hertz / 1e3)),
        hertz => format!("{} Hz", rounded(hertz)),
    }
}

/// Three digits, without zeros at the end.
fn rounded(value: f64) -> String {
    let count = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.count$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
