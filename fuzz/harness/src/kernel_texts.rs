//! Texts of the kernel about the host: `/proc` of any version, and names of threads and folders that anybody may give.

use evforge_metrics::parse;

/// Reads `bytes` by every parser of the host's metrics. What is not UTF-8 is replaced.
///
/// # Panics
/// If a parser finds more than the text can have.
pub fn kernel_texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().count();
    assert!(parse::interfaces(&text).len() <= lines, "an interface without a line");
    assert!(parse::softnet(&text).len() <= lines, "a core without a line");
    assert!(parse::core_times(&text).len() <= lines, "times of a core without a line");
    assert!(parse::disks(&text).len() <= lines, "a disk without a line");
    assert!(parse::per_core(&text, |_| true).len() <= text.len(), "more cores than letters");
    assert!(
        parse::load(&text).is_none_or(|load| load >= 0.0 && load.is_finite()),
        "a load that is no number"
    );
    let numbers = [
        parse::memory(&text, "MemTotal"),
        parse::in_table(&text, "Udp", "InDatagrams"),
        parse::in_list(&text, "Udp6InDatagrams"),
        parse::udp_pages(&text),
        parse::thread_ticks(&text),
        parse::resident_pages(&text),
        parse::most_descriptors(&text),
    ];
    assert!(!text.is_empty() || numbers.iter().all(Option::is_none), "a number from nothing");
}
