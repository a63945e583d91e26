//! What the page shows while no packets come: the findings of `evforge doctor` that matter most.

use evforge_config::CommonConfig;
use evforge_host::{HostNeeds, LocalHost, Profile, check_host, most_important};
use evforge_net::host_check::check_process;
use evforge_outputs::{HostAdvice, HostFinding};
use evforge_pipeline::host_needs::host_needs;
use std::sync::Arc;

/// More would not be read.
const MOST: usize = 5;

/// Looks at this host for a configuration.
#[derive(Debug)]
struct Doctor {
    needs: HostNeeds,
}

/// Advice for a run that receives; none if its packets come from this host itself, which no setting keeps from coming.
pub(crate) fn advice(config: &CommonConfig) -> Option<Arc<dyn HostAdvice>> {
    let is_own = config.receive.address.ip().is_loopback() && config.receive.interface.is_none();
    (!is_own).then(|| Arc::new(Doctor { needs: host_needs(config) }) as Arc<dyn HostAdvice>)
}

impl HostAdvice for Doctor {
    fn findings(&self) -> Vec<HostFinding> {
        let mut findings = check_host(&LocalHost::new(), &self.needs, Profile::Evforge);
        findings.extend(check_process(&self.needs));
        let shown = most_important(&findings, MOST).into_iter().cloned();
        let told = |finding: evforge_host::Finding| HostFinding {
            subject: finding.subject,
            found: finding.found,
            wanted: finding.wanted,
            fix: finding.fix,
        };
        shown.map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(text: &str) -> CommonConfig {
        CommonConfig::parse(Path::new("x.toml"), text, &[]).expect("a configuration")
    }

    #[test]
    fn packets_of_this_host_need_no_advice_and_those_of_others_do() {
        assert!(advice(&config("name = \"x\"\n[receive]\naddress = \"127.0.0.1:9000\"\n")).is_none());
        let doctor =
            advice(&config("name = \"x\"\n[receive]\naddress = \"0.0.0.0:9000\"\n")).expect("advice");
        let findings = doctor.findings();
        assert!(findings.len() <= MOST);
        assert!(findings.iter().all(|finding| !finding.subject.is_empty() && !finding.found.is_empty()));
    }
}
