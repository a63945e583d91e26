//! What `run` and `serve` say about the host before they begin: the two or three things that matter most.

use evforge_config::CommonConfig;
use evforge_host::rows::RECEIVE_BUFFER;
use evforge_host::{LocalHost, Profile, Verdict, check_host, most_important};
use evforge_log::group;
use evforge_pipeline::host_needs::host_needs;

/// More would not be read.
const MOST: usize = 3;
/// What matters less is for `doctor`.
const LEAST_WEIGHT: u8 = 5;

/// Says what matters most, if packets come from outside: nothing is lost on the way to oneself that this would change.
pub(crate) fn tell_what_matters(config: &CommonConfig) {
    if config.receive.address.ip().is_loopback() && config.receive.interface.is_none() {
        return;
    }
    let needs = host_needs(config);
    let mut findings = check_host(&LocalHost::new(), &needs, Profile::Evforge);
    findings.retain(|finding| finding.verdict != Verdict::Good);
    // The receiver itself says what it has got, with its helper and for the port that it has in the end.
    findings.retain(|finding| finding.subject != RECEIVE_BUFFER);
    let all = findings.len();
    findings.retain(|finding| finding.verdict == Verdict::Missing || finding.weight >= LEAST_WEIGHT);
    let shown = most_important(&findings, MOST);
    for finding in &shown {
        let wanted =
            finding.wanted.as_deref().map(|wanted| format!(", wanted: {wanted}")).unwrap_or_default();
        let fix = finding.fix.as_deref().unwrap_or_default();
        tracing::warn!(
            target: group::RUN,
            lead = "host",
            always = true,
            "{}: {}{wanted}. Fix: {fix}", finding.subject, finding.found
        );
    }
    if !shown.is_empty() {
        let others = all - shown.len();
        tracing::info!(target: group::RUN, lead = "host", "evforge doctor says why, and shows {others} more");
    }
}
