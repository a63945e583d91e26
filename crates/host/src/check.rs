//! What is found: the rows of the table, and what cannot be set from here.

use crate::card;
use crate::finding::Finding;
use crate::host::Host;
use crate::needs::HostNeeds;
use crate::processor;
use crate::profile::Profile;
use crate::rows::RECEIVE_BUFFER;
use crate::setting::{Setting, settings};
use std::path::Path;

/// The first versions of Linux that know what is needed.
const XDP_SINCE: (u32, u32) = (5, 10);

/// Checks all that matters for these needs: the kernel, the interfaces, the cores, the services.
pub fn check_host(host: &dyn Host, needs: &HostNeeds, profile: Profile) -> Vec<Finding> {
    let mut findings = vec![kernel_version(host, needs)];
    if let Some(granted) = &needs.buffer_granted_by {
        findings.push(Finding::good(RECEIVE_BUFFER, format!("{} bytes: {granted}", needs.buffer)));
    }
    findings.extend(needs.interfaces.iter().flat_map(|interface| card::check(host, interface, needs)));
    let settings = settings(host, needs, profile);
    // Of one row there may be one for each core: one finding for all of them.
    let of_one = |a: &Setting, b: &Setting| a.row.name == b.row.name && a.interface == b.interface;
    findings.extend(settings.chunk_by(of_one).filter_map(of_row));
    findings.extend(processor::check(host, needs));
    findings
}

/// One finding for all places of a row. None if nothing is wanted of it.
fn of_row(settings: &[Setting]) -> Option<Finding> {
    let first = settings.iter().find(|setting| setting.is_wrong()).or(settings.first())?;
    let row = first.row;
    let subject = match &first.interface {
        Some(interface) => format!("{interface}: {}", row.subject),
        None => row.subject.to_owned(),
    };
    let mut values: Vec<&str> = settings.iter().map(|setting| setting.reading.now.as_str()).collect();
    values.sort_unstable();
    values.dedup();
    let most = first.reading.most.map(|most| format!(" of at most {most}")).unwrap_or_default();
    let found = format!("{} is {}{most}", row.name, values.join(", ").replace('\t', " "));
    let wrong: Vec<_> = settings.iter().filter(|setting| setting.is_wrong()).collect();
    let Some((setting, wanted)) = wrong.first().and_then(|setting| Some((setting, setting.wanted.as_ref()?)))
    else {
        return settings
            .iter()
            .any(|setting| setting.wanted.is_some())
            .then(|| Finding::good(&subject, found));
    };
    let found = if wrong.len() > 1 {
        format!("{found} ({} of {} places)", wrong.len(), settings.len())
    } else {
        found
    };
    let mut fix = setting.value().map(|value| setting.place.command(&value)).unwrap_or_default();
    if wrong.len() > 1 {
        fix = format!(
            "{fix} (and the same for {} more: evforge tune --apply sets all of them)",
            wrong.len() - 1
        );
    }
    if setting.reading.is_fixed {
        fix = "the driver does not let it be changed".to_owned();
    }
    Some(Finding {
        verdict: row.verdict,
        wanted: Some(wanted.text().replace('\t', " ")),
        why: Some(row.why),
        source: Some(row.source),
        risk: Some(row.risk),
        fix: Some(fix),
        weight: row.weight,
        ..Finding::good(&subject, found)
    })
}

fn kernel_version(host: &dyn Host, needs: &HostNeeds) -> Finding {
    let subject = "kernel";
    let Ok(release) = host.read(Path::new("/proc/sys/kernel/osrelease")) else {
        return Finding::advice(subject, "its version cannot be read", "mount /proc");
    };
    let mut numbers = release.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if needs.xdp.is_asked_for() && version < XDP_SINCE {
        let found = format!("Linux {release}; AF_XDP is used from 5.10 on");
        let fix = "set receive.method = \"socket\", or install a newer kernel";
        return Finding::missing(subject, found, fix);
    }
    Finding::good(subject, format!("Linux {release}"))
}
