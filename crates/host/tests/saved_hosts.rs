//! Every setting of the papers, on two saved hosts where each of them is wrong: found, explained, changed and taken back.

use evforge_host::rows::all;
use evforge_host::tune::{Outcome, apply, plan, revert};
use evforge_host::{
    Finding, Host, HostNeeds, Journal, Profile, SavedHost, SavingHost, Verdict, XdpNeed, check_host, settings,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn saved(name: &str) -> SavedHost {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved_hosts").join(name);
    SavedHost::read_from(&folder).expect("a saved host")
}

/// Receives by sockets on cores 2 and 4, which serve the card's interrupts, and 8, the sibling of 2; forms on core 3, which is
/// far from the card.
fn ixgbe() -> HostNeeds {
    HostNeeds {
        buffer: 16_000_000,
        sockets: 200,
        interfaces: vec!["eth2".to_owned()],
        ports: vec![9000],
        cores: vec![2, 4, 8, 3],
        receiving_cores: vec![2, 4, 8],
        priority: Some(50),
        ..HostNeeds::default()
    }
}

/// Receives by AF_XDP on core 17.
fn mlx5() -> HostNeeds {
    HostNeeds {
        buffer: 33_554_432,
        sockets: 1,
        interfaces: vec!["enp59s0".to_owned()],
        ports: vec![9000],
        xdp: XdpNeed::Must,
        cores: vec![17, 18],
        receiving_cores: vec![17],
        ..HostNeeds::default()
    }
}

fn of<'a>(findings: &'a [Finding], subject: &str) -> &'a Finding {
    findings
        .iter()
        .find(|finding| finding.subject == subject)
        .unwrap_or_else(|| panic!("no {subject} in {findings:#?}"))
}

/// Subject, what is found, what is wanted, what fixes it.
type Expected = (&'static str, &'static str, &'static str, &'static str);

/// Each is found, and says what it has to.
fn assert_found(host: &SavedHost, needs: &HostNeeds, profile: Profile, expected: &[Expected]) {
    let findings = check_host(host, needs, profile);
    for (subject, found, wanted, fix) in expected {
        let finding = of(&findings, subject);
        assert_ne!(finding.verdict, Verdict::Good, "{finding:#?}");
        assert!(finding.found.contains(found), "{found:?}: {finding:#?}");
        assert!(
            finding.wanted.as_deref().is_some_and(|text| text.contains(wanted)),
            "{wanted:?}: {finding:#?}"
        );
        assert!(finding.fix.as_deref().is_some_and(|text| text.contains(fix)), "{fix:?}: {finding:#?}");
        assert!(finding.why.is_some() && finding.source.is_some(), "{finding:#?}");
    }
}

#[test]
fn what_evforge_needs_is_found_on_the_host_with_ixgbe() {
    let expected: [Expected; 15] = [
        ("receive buffer", "131071", "at least 16000000", "sysctl -w net.core.rmem_max=16000000"),
        ("kernel backlog", "1000", "at least 10000", "net.core.netdev_max_backlog=250000"),
        ("packets per poll", "300", "at least 600", "net.core.netdev_budget=600"),
        (
            "memory of all UDP sockets",
            "262144 327680 393216",
            "at least 1562500",
            "'net.ipv4.udp_mem=1562500 1562500 1562500'",
        ),
        ("eth2: MTU", "1500", "at least 9000", "ip link set dev eth2 mtu 9000"),
        ("eth2: receive ring", "512 of at most 4096", "at least 2048", "ethtool -G eth2 rx 4096"),
        ("eth2: interrupt throttling", "16000", "at most 125", "ethtool -C eth2 rx-usecs 125"),
        ("eth2: checksums by the card", "off", "on", "ethtool -K eth2 rx-checksumming on"),
        ("eth2: cores of the interrupts", "0-11", "0-1,3,5-7,9-11", "/proc/irq/64/smp_affinity_list"),
        ("core frequency", "ondemand (12 of 12 places)", "performance", "cpu0/cpufreq/scaling_governor"),
        ("service irqbalance", "active", "inactive", "systemctl stop irqbalance"),
        ("eth2: PCI bus", "4 lanes", "8 lanes", "another slot"),
        ("eth2: processor next to the card", "core 4", "cores of 0-2,6-8", "[threads]"),
        ("hardware threads (SMT)", "2 and 8", "cores of their own", "lscpu"),
        ("isolated cores", "none", "2,4,8", "isolcpus=2,4,8"),
    ];
    assert_found(&saved("ixgbe"), &ixgbe(), Profile::Evforge, &expected);
    let findings = check_host(&saved("ixgbe"), &ixgbe(), Profile::Evforge);
    let card = of(&findings, "interface eth2");
    for word in ["ixgbe", "2 queues", "1500", "firmware 0x61c10001", "10000 Mb/s"] {
        assert!(card.found.contains(word), "{word}: {card:?}");
    }
    assert_eq!(of(&findings, "eth2: direct cache access").found, "DCA is on");
    assert!(of(&findings, "huge pages").found.contains("0"));
    assert_eq!(of(&findings, "share of real-time threads").verdict, Verdict::Good);
}

#[test]
fn what_evforge_needs_is_found_on_the_host_with_mlx5() {
    let expected: [Expected; 6] = [
        ("receive buffer", "212992", "at least 33554432", "net.core.rmem_max=33554432"),
        ("ancillary buffer", "16384", "at least 20480", "net.core.optmem_max=20480"),
        ("enp59s0: receive ring", "1024 of at most 8192", "at least 4096", "ethtool -G enp59s0 rx 8192"),
        ("enp59s0: large receive offload", "on", "off", "ethtool -K enp59s0 large-receive-offload off"),
        ("enp59s0: cores that packets are steered to (RPS)", "00000000,00020000", "00000000", "rps_cpus"),
        ("enp59s0: PCI bus", "8.0 GT/s", "16.0 GT/s", "LnkSta"),
    ];
    assert_found(&saved("mlx5"), &mlx5(), Profile::Evforge, &expected);
    let findings = check_host(&saved("mlx5"), &mlx5(), Profile::Evforge);
    // The other interrupt may be served on every core, and is served on one that does not receive.
    let interrupts = of(&findings, "enp59s0: cores of the interrupts");
    assert!(interrupts.fix.as_deref().is_some_and(|fix| fix.contains("/proc/irq/200/")), "{interrupts:?}");
    assert!(!interrupts.found.contains("places"), "{interrupts:?}");
    assert_eq!(interrupts.wanted.as_deref(), Some("16,18-31,48-63"));
    // AF_XDP is used from Linux 5.10 on.
    assert_eq!(of(&findings, "kernel").verdict, Verdict::Missing);
    let mut granted = mlx5();
    granted.buffer_granted_by = Some("this process may go beyond the limit".to_owned());
    assert_eq!(
        of(&check_host(&saved("mlx5"), &granted, Profile::Evforge), "receive buffer").verdict,
        Verdict::Good
    );
}

/// The settings of the documents, with their values.
#[test]
fn every_value_of_the_papers_is_found_where_it_is_missing() {
    let udp: [Expected; 5] = [
        ("receive buffer", "131071", "12582912", "rmem_max=12582912"),
        ("send buffer", "131071", "12582912", "wmem_max=12582912"),
        ("kernel backlog", "1000", "5000", "netdev_max_backlog=5000"),
        ("eth2: MTU", "1500", "9000", "mtu 9000"),
        ("eth2: transmit queue", "1000", "10000", "ip link set dev eth2 txqueuelen 10000"),
    ];
    assert_found(&saved("ixgbe"), &ixgbe(), Profile::Udp, &udp);
    let xfel: [Expected; 21] = [
        ("receive buffer", "131071", "1342177280", "rmem_max=1342177280"),
        ("receive buffer of sockets that ask for none", "129024", "10000000", "rmem_default=10000000"),
        ("send buffer", "131071", "516777216", "wmem_max=516777216"),
        ("send buffer of sockets that ask for none", "129024", "10000000", "wmem_default=10000000"),
        ("kernel backlog", "1000", "416384", "netdev_max_backlog=416384"),
        ("packets per poll", "300", "1024", "netdev_budget=1024"),
        ("ancillary buffer", "20480", "524288", "optmem_max=524288"),
        (
            "memory of all UDP sockets",
            "262144",
            "11416320 15221760 22832640",
            "udp_mem=11416320 15221760 22832640",
        ),
        ("eth2: MTU", "1500", "9000", "mtu 9000"),
        ("eth2: transmit queue", "1000", "10000", "txqueuelen 10000"),
        ("eth2: receive ring", "512", "4096", "rx 4096"),
        ("eth2: transmit ring", "512", "4096", "tx 4096"),
        ("eth2: interrupt throttling", "16000", "1", "rx-usecs 1"),
        ("eth2: packets sent per interrupt", "512", "4096", "tx-frames-irq 4096"),
        ("eth2: large receive offload", "off", "on", "large-receive-offload on"),
        ("eth2: cores of the interrupts", "0-11", "0", "echo 0 | sudo tee /proc/irq/64/smp_affinity_list"),
        ("eth2: read request on the PCI bus", "512", "4096", "setpci -s 0000:04:00.0 CAP_EXP+8.w=5000:7000"),
        ("core frequency", "ondemand", "performance", "scaling_governor"),
        ("service irqbalance", "active", "inactive", "stop irqbalance"),
        ("service cpuspeed", "active", "inactive", "stop cpuspeed"),
        ("service iptables", "active", "inactive", "stop iptables"),
    ];
    assert_found(&saved("ixgbe"), &ixgbe(), Profile::Xfel, &xfel);
    let xdp: [Expected; 3] = [
        ("enp59s0: MTU", "1500", "2048", "mtu 2048"),
        ("enp59s0: large receive offload", "on", "off", "large-receive-offload off"),
        ("service irqbalance", "active", "inactive", "stop irqbalance"),
    ];
    assert_found(&saved("mlx5"), &mlx5(), Profile::Xdp, &xdp);
}

/// Whoever adds a row has to have a host on which it is read.
#[test]
fn both_hosts_together_have_every_row() {
    let mut read = BTreeSet::new();
    for (name, needs) in [("ixgbe", ixgbe()), ("mlx5", mlx5())] {
        read.extend(settings(&saved(name), &needs, Profile::Evforge).iter().map(|setting| setting.row.name));
    }
    assert_eq!(read, all().map(|row| row.name).collect());
}

/// Every value of every setting, as text.
fn values(host: &SavedHost, needs: &HostNeeds) -> Vec<(String, String)> {
    let settings = settings(host, needs, Profile::Evforge);
    settings.iter().map(|setting| (format!("{:?}", setting.place), setting.reading.now.clone())).collect()
}

#[test]
fn what_is_applied_is_as_wanted_and_what_is_reverted_is_as_before() {
    for (name, needs) in [("ixgbe", ixgbe()), ("mlx5", mlx5())] {
        for profile in Profile::ALL {
            let host = saved(name);
            let before = values(&host, &needs);
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("tuned.json");
            let mut journal = Journal::read(&path).expect("an empty journal");
            let changes = plan(&host, &needs, profile);
            assert!(!changes.is_empty(), "{name} {profile:?}");
            apply(&host, &changes, &mut journal, |change, outcome| {
                assert_eq!(*outcome, Outcome::Done(change.after.clone()), "{change:?}");
            })
            .expect("applied");
            assert_eq!(plan(&host, &needs, profile), [], "{name} {profile:?}");
            assert_ne!(values(&host, &needs), before);
            // By another process, after this one has ended.
            let mut journal = Journal::read(&path).expect("the journal");
            assert_eq!(journal.changes.len(), changes.len());
            revert(&host, &mut journal, false, |change, outcome| {
                assert!(outcome.is_good(), "{change:?} {outcome:?}")
            })
            .expect("reverted");
            assert_eq!(values(&host, &needs), before, "{name} {profile:?}");
            assert!(!path.exists());
        }
    }
}

/// Profile after profile: what was there first comes back.
#[test]
fn what_was_changed_twice_goes_back_to_the_first_value() {
    let (host, needs) = (saved("ixgbe"), ixgbe());
    let before = values(&host, &needs);
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::read(&folder.path().join("tuned.json")).expect("an empty journal");
    for profile in [Profile::Udp, Profile::Xfel, Profile::Evforge] {
        apply(&host, &plan(&host, &needs, profile), &mut journal, |_, outcome| assert!(outcome.is_good()))
            .expect("applied");
    }
    revert(&host, &mut journal, false, |_, outcome| assert!(outcome.is_good())).expect("reverted");
    assert_eq!(values(&host, &needs), before);
}

#[test]
fn what_somebody_else_has_changed_stays_unless_it_is_asked_for() {
    let (host, needs) = (saved("ixgbe"), ixgbe());
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::read(&folder.path().join("tuned.json")).expect("an empty journal");
    apply(&host, &plan(&host, &needs, Profile::Udp), &mut journal, |_, _| ()).expect("applied");
    let theirs = Path::new("/proc/sys/net/core/rmem_max");
    host.write(theirs, "77").expect("written");
    let mut left = Vec::new();
    revert(&host, &mut journal, false, |change, outcome| {
        if !outcome.is_good() {
            left.push((change.name.clone(), outcome.clone()));
        }
    })
    .expect("reverted");
    assert_eq!(left, [("net.core.rmem_max".to_owned(), Outcome::ChangedByOthers { found: "77".to_owned() })]);
    assert_eq!(host.read(theirs).expect("a value"), "77");
    assert_eq!(journal.changes.len(), 1);
    revert(&host, &mut journal, true, |_, outcome| assert!(outcome.is_good())).expect("reverted");
    assert_eq!(host.read(theirs).expect("a value"), "131071");
}

/// A host on which the process is killed right after a write, once so many have been made.
struct Failing<'a> {
    host: &'a SavedHost,
    left: std::cell::Cell<usize>,
}

impl Host for Failing<'_> {
    fn read(&self, path: &Path) -> std::io::Result<String> {
        self.host.read(path)
    }
    fn list(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        self.host.list(folder)
    }
    fn link(&self, path: &Path) -> std::io::Result<String> {
        self.host.link(path)
    }
    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        // The worst moment: the value is another, and nothing after that has been done.
        self.host.write(path, text)?;
        assert_ne!(self.left.get(), 0, "killed");
        self.left.set(self.left.get() - 1);
        Ok(())
    }
    fn run(&self, command: &[&str]) -> std::io::Result<String> {
        self.host.run(command)
    }
}

#[test]
fn killed_at_any_change_everything_can_be_taken_back() {
    let needs = ixgbe();
    let changes = plan(&saved("ixgbe"), &needs, Profile::Xfel).len();
    for kill_after in 0..changes.min(12) {
        let host = saved("ixgbe");
        let before = values(&host, &needs);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tuned.json");
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let failing = Failing { host: &host, left: std::cell::Cell::new(kill_after) };
            let mut journal = Journal::read(&path).expect("an empty journal");
            apply(&failing, &plan(&failing, &needs, Profile::Xfel), &mut journal, |_, _| ())
        }));
        assert!(killed.is_err());
        let mut journal = Journal::read(&path).expect("the journal");
        revert(&host, &mut journal, false, |_, outcome| assert!(outcome.is_good(), "{outcome:?}"))
            .expect("reverted");
        assert_eq!(values(&host, &needs), before, "killed after {kill_after}");
    }
}

#[test]
fn a_host_that_is_saved_gives_the_same_findings() {
    for (name, needs) in [("ixgbe", ixgbe()), ("mlx5", mlx5())] {
        let folder = tempfile::tempdir().expect("a folder");
        let copy: PathBuf = folder.path().join("copy");
        let host = saved(name);
        let saving = SavingHost::new(&host);
        let expected = check_host(&saving, &needs, Profile::Evforge);
        assert!(saving.save(&copy).expect("saved") > 30);
        let again = SavedHost::read_from(&copy).expect("a saved host");
        assert_eq!(check_host(&again, &needs, Profile::Evforge), expected);
        assert!(saving.save(&copy).is_err(), "a folder that is there is not overwritten");
    }
}

/// A ring of at most 2048 cannot have 4096, and that is said once, not tried again and again.
#[test]
fn a_card_gets_no_more_than_it_can_have() {
    let (host, needs) = (saved("ixgbe"), ixgbe());
    let small = host.run(&["ethtool", "-g", "eth2"]).expect("an answer").replacen("4096", "2048", 2);
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy");
    let saving = SavingHost::new(&host);
    check_host(&saving, &needs, Profile::Xfel);
    saving.save(&copy).expect("saved");
    std::fs::write(copy.join("commands/ethtool_-g_eth2"), small).expect("written");
    let host = SavedHost::read_from(&copy).expect("a saved host");
    let of_ring = |host: &SavedHost| {
        plan(host, &needs, Profile::Xfel).into_iter().find(|change| change.name == "eth2: ring rx")
    };
    let change = of_ring(&host).expect("a change");
    assert_eq!(change.after, "2048");
    change.place.write(&host, &change.after).expect("written");
    assert_eq!(of_ring(&host), None);
}
