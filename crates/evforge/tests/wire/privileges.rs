//! evforge has no privileges, whoever starts it; the helper has those that its file or its starter gives it, and lends them
//! by rules. With the real program and its helper, between two network namespaces. Needs root.

use crate::common::wire::{BY_XDP, INTERFACE, Wire, config, number, simulate};
use crate::common::{LiveProgram, PROGRAM, text, wait_until};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the file of the helper is given.
const SETCAP: &str =
    "cap_net_raw,cap_bpf,cap_perfmon,cap_net_admin,cap_ipc_lock,cap_net_bind_service,cap_sys_nice=ep";
const HELPER: &str = env!("CARGO_BIN_EXE_evforge-helper");
/// Rules for the user nobody.
const RULES: &str = "[[allow]]\nusers = [65534]\ninterfaces = [\"wire-r\"]\nports = [\"1024-65535\"]\n";

/// An installation that ordinary users can start: a folder with both programs and a configuration, which everybody may
/// write to, and an `/etc` of its own.
struct Installation {
    folder: tempfile::TempDir,
    program: PathBuf,
    helper: PathBuf,
    instrument: PathBuf,
}

impl Installation {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a test as root");
        let copy = |from: &Path, name: &str, mode| {
            let path = folder.path().join(name);
            std::fs::copy(from, &path).expect("a copy");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("permissions");
            path
        };
        let installation = Self {
            program: copy(Path::new(PROGRAM), "evforge", 0o755),
            helper: copy(Path::new(HELPER), "evforge-helper", 0o755),
            instrument: copy(&config(), "instrument.toml", 0o644),
            folder,
        };
        let folder = installation.folder.path();
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).expect("permissions");
        assert!(
            Command::new("cp").args(["-a", "/etc"]).arg(folder).status().expect("a test as root").success()
        );
        installation
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the helper its capabilities, as the administrator does.
    fn with_privileged_helper(self) -> Self {
        set_capabilities(&self.helper);
        self
    }

    /// Writes rules, as the administrator does.
    fn with_rules(self, rules: &str) -> Self {
        let folder = self.path().join("etc/evforge");
        std::fs::create_dir_all(&folder).expect("a test as root");
        std::fs::write(folder.join("helper.toml"), rules).expect("a test as root");
        for (path, mode) in [(folder.clone(), 0o755), (folder.join("helper.toml"), 0o644)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a test as root");
        }
        self
    }

    /// The program as nobody, with these capabilities of its own (`,+net_raw`), in the receiver's namespace.
    fn as_nobody(&self, wire: &Wire, capabilities: &str) -> Command {
        let mut command = Wire::at(&wire.receiver, "unshare");
        let script =
            "mount --bind \"$0\" /etc && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
        command.args(["--mount", "sh", "-c", script]).arg(self.path().join("etc"));
        command.args(["--inh-caps", "--ambient-caps"].map(|set| format!("{set}=-all{capabilities}")));
        command.arg(&self.program);
        command
    }

    /// Runs it for a moment as nobody: whether it went well, and what it said.
    fn try_as_nobody(&self, wire: &Wire, capabilities: &str, further: &[&str]) -> (bool, String) {
        let mut command = self.as_nobody(wire, capabilities);
        command.args([
            "run",
            "--address",
            "10.9.0.2",
            "--port",
            "0",
            "--for",
            "300ms",
            "--interface",
            INTERFACE,
        ]);
        command.args(["--set", "receive.ring=8192", "--config"]).arg(&self.instrument).args(further);
        outcome(&command.output().expect("setpriv and unshare (util-linux)"))
    }
}

/// Whether a program could do its work, and what it said. A run that could receive, and to which nothing came, ends with 4.
fn outcome(output: &Output) -> (bool, String) {
    let could = matches!(output.status.code(), Some(0 | 4));
    (could, format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

fn set_capabilities(program: &Path) {
    let output = Command::new("setcap").arg(SETCAP).arg(program).output().expect("setcap (libcap2-bin)");
    assert!(output.status.success(), "setcap: {}", text(&output.stderr));
}

/// A line of `/proc/<process>/status`.
fn status_of(process: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    line_of(&status, name).to_owned()
}

fn line_of<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    line.unwrap_or_else(|| panic!("no {name} in {status}"))
}

fn helper_of(process: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().filter_map(|child| child.parse().ok()).find(|child| {
        std::fs::read_to_string(format!("/proc/{child}/comm"))
            .is_ok_and(|name| name.trim() == "evforge-helper")
    })
}

const NOTHING: &str = "0000000000000000";

/// No thread of the process has a capability, or can get one.
fn assert_without_privileges(process: u32) {
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).expect("a test as root") {
        // One that has ended since then has no status.
        let status = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("status")));
        let Ok(status) = status else { continue };
        threads += 1;
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(line_of(&status, set), NOTHING, "{set} in {status}");
        }
        assert_eq!(line_of(&status, "NoNewPrivs"), "1");
    }
    assert!(threads > 0, "process {process} has threads");
}

#[test]
fn an_ordinary_user_receives_by_af_xdp_and_only_the_helper_has_capabilities() {
    let test = "an_ordinary_user_receives_by_af_xdp_and_only_the_helper_has_capabilities";
    let Some(wire) = Wire::lay(test) else { return };
    let there = Installation::new().with_privileged_helper().with_rules(RULES);
    let capture = simulate(there.path(), "14");
    let arguments = [&["--address", "10.9.0.2", "--view", "127.0.0.1:0"], &BY_XDP[..]].concat();
    let command = there.as_nobody(&wire, "");
    let live = LiveProgram::start_by(command, &there.instrument, there.path(), &arguments);
    let (process, helper) = (live.id(), helper_of(live.id()).expect("a helper"));
    assert_without_privileges(process);
    assert_eq!(status_of(process, "Uid"), "65534\t65534\t65534\t65534");
    assert_eq!(status_of(helper, "Uid"), "65534\t65534\t65534\t65534");
    // net_bind_service, net_admin, net_raw, ipc_lock, sys_nice, perfmon and bpf.
    assert_eq!(status_of(helper, "CapEff"), "000000c000807400");
    // The library of files is none of its business.
    let maps = std::fs::read_to_string(format!("/proc/{helper}/maps")).unwrap();
    assert!(!maps.contains("hdf5") && maps.contains("evforge-helper"), "{maps}");
    let sent = wire.replay(&capture, &live.address.clone(), "2kpps");
    let (stream, events) = live.finish();
    assert_eq!((number(&stream, "/packets/received"), number(&stream, "/packets/lost")), (sent, 0));
    wire.wait_until_detached();
    let socket = wire.start(there.path(), &["--receive", "socket"]);
    wire.replay(&capture, &socket.address.clone(), "2kpps");
    assert!(socket.finish().1 == events, "the events differ from those by a socket");
}

#[test]
fn nothing_stays_attached_whichever_of_the_two_is_killed() {
    let test = "nothing_stays_attached_whichever_of_the_two_is_killed";
    let Some(wire) = Wire::lay(test) else { return };
    let there = Installation::new().with_privileged_helper().with_rules(RULES);
    let capture = simulate(there.path(), "14");
    let arguments = [&["--address", "10.9.0.2"], &BY_XDP[..]].concat();
    let kill = |process: u32| {
        assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
    };
    let start =
        || LiveProgram::start_by(there.as_nobody(&wire, ""), &there.instrument, there.path(), &arguments);
    let live = start();
    let helper = helper_of(live.id()).expect("a helper");
    assert!(wire.has_program());
    kill(live.id());
    drop(live);
    wire.wait_until_detached();
    // Where nobody asks for its status, as in some containers, a zombie is left of it.
    let is_there = || {
        let stat = std::fs::read_to_string(format!("/proc/{helper}/stat"));
        stat.is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
    };
    wait_until("the helper is gone", || !is_there());
    // Without the helper packets come through the kernel: none is lost, and it is said.
    let live = start();
    kill(helper_of(live.id()).expect("a helper"));
    wire.wait_until_detached();
    let sent = wire.replay(&capture, &live.address.clone(), "2kpps");
    let (success, stream, _) = live.outcome();
    assert_eq!((number(&stream, "/packets/received"), number(&stream, "/packets/lost")), (sent, 0));
    let alarms = stream["alarms"].to_string();
    assert!(!success && alarms.contains("evforge-helper has ended"), "{alarms}");
}

#[test]
fn the_helper_lends_only_what_the_rules_allow() {
    let Some(wire) = Wire::lay("the_helper_lends_only_what_the_rules_allow") else { return };
    let there = Installation::new().with_privileged_helper();
    let xdp = ["--receive", "xdp"];
    let (success, said) = there.try_as_nobody(&wire, "", &xdp);
    assert!(!success && said.contains("/etc/evforge/helper.toml is not there"), "{said}");
    assert!(said.contains("interfaces = [\"wire-r\"], ports = ["), "{said}");
    let (success, said) = there.try_as_nobody(&wire, "", &["--receive", "auto"]);
    assert!(success && said.contains("received by kernel socket"), "{said}");
    let there = there.with_rules(&RULES.replace("wire-r", "eth9"));
    let (success, said) = there.try_as_nobody(&wire, "", &xdp);
    assert!(!success && said.contains("does not allow user nobody to receive wire-r port"), "{said}");
    let there = there.with_rules(RULES);
    let (success, said) = there.try_as_nobody(&wire, "", &xdp);
    assert!(success && said.contains("received by AF_XDP on wire-r"), "{said}");
    // More than the host's limit of receive buffers.
    let (success, said) =
        there.try_as_nobody(&wire, "", &["--receive", "socket", "--set", "receive.buffer=200MB"]);
    assert!(success && !said.contains("net.core.rmem_max"), "{said}");
    let (success, said) =
        there.try_as_nobody(&wire, "", &["--receive", "socket", "--set", "receive.buffer=300MB"]);
    assert!(success && said.contains("net.core.rmem_max"), "{said}");
    let priority = ["--receive", "socket", "--set", "threads.receive.priority=10"];
    let (success, said) = there.try_as_nobody(&wire, "", &priority);
    assert!(!success && said.contains("does not allow user nobody the real-time priority 10"), "{said}");
    let there = there.with_rules(&format!("{RULES}largest_priority = 10\n"));
    let (success, said) = there.try_as_nobody(&wire, "", &priority);
    assert!(success, "{said}");
    // Whole frames with any addresses are allowed for themselves.
    let send = |there: &Installation| {
        let mut command = there.as_nobody(&wire, "");
        command.args([
            "send",
            "--to",
            "10.9.0.1:9000",
            "--packets",
            "100",
            "--rate",
            "1kpps",
            "--xdp",
            INTERFACE,
        ]);
        outcome(&command.output().expect("the program starts"))
    };
    let (success, said) = send(&there);
    assert!(!success && said.contains("does not allow user nobody to send through wire-r"), "{said}");
    let there = there.with_rules(&format!("{RULES}send = true\n"));
    let (success, said) = send(&there);
    assert!(success && said.contains("100"), "{said}");
    // Rules that somebody else can write are none.
    let rules = there.path().join("etc/evforge/helper.toml");
    std::fs::set_permissions(rules, PermissionsExt::from_mode(0o666)).unwrap();
    let (success, said) = there.try_as_nobody(&wire, "", &xdp);
    assert!(!success && said.contains("is writable by others than root"), "{said}");
}

#[test]
fn a_service_with_privileges_needs_no_rules_though_the_file_of_the_helper_has_some_too() {
    let test = "a_service_with_privileges_needs_no_rules_though_the_file_of_the_helper_has_some_too";
    let Some(wire) = Wire::lay(test) else { return };
    let there = Installation::new().with_privileged_helper();
    let all = ",+net_raw,+bpf,+perfmon,+net_admin,+ipc_lock";
    let (success, said) = there.try_as_nobody(&wire, all, &["--receive", "xdp"]);
    assert!(success && said.contains("received by AF_XDP on wire-r"), "{said}");
    // As units with NoNewPrivileges=yes start it: what it has is passed on, however little.
    let in_a_unit = |capabilities: &str| {
        let mut command = there.as_nobody(&wire, capabilities);
        let program = there.program.to_str().expect("text").to_owned();
        let arguments: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        let mut unit = Command::new(command.get_program());
        for argument in arguments {
            if argument.to_str() == Some(&program) {
                unit.arg("--no-new-privs");
            }
            unit.arg(argument);
        }
        command = unit;
        command.args(["run", "--address", "10.9.0.2", "--port", "0", "--for", "300ms", "--config"]);
        command.arg(&there.instrument).args(["--interface", INTERFACE, "--set", "receive.ring=8192"]);
        outcome(&command.args(["--receive", "xdp"]).output().expect("setpriv and unshare (util-linux)"))
    };
    let (success, said) = in_a_unit(all);
    assert!(success && said.contains("received by AF_XDP on wire-r"), "{said}");
    let (success, said) = in_a_unit(",+net_raw,+bpf,+net_admin");
    assert!(!success && said.contains("CAP_PERFMON"), "{said}");
    // Some without all of them: the file may have the rest, which the rules lend.
    let (success, said) = there.try_as_nobody(&wire, ",+net_bind_service", &["--receive", "xdp"]);
    assert!(!success && said.contains("/etc/evforge/helper.toml is not there"), "{said}");
}

#[test]
fn without_a_helper_that_has_privileges_it_is_said_how_to_install_one() {
    let test = "without_a_helper_that_has_privileges_it_is_said_how_to_install_one";
    let Some(wire) = Wire::lay(test) else { return };
    let there = Installation::new();
    let (success, said) = there.try_as_nobody(&wire, "", &["--receive", "xdp"]);
    assert!(!success);
    for expected in [
        "it lacks CAP_NET_RAW (for AF_XDP sockets), CAP_BPF",
        "sudo setcap cap_net_raw,",
        "/etc/evforge/helper.toml",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    // Those of a service reach the helper, and no rules are needed: whoever started it has them anyway.
    let capabilities = ",+net_raw,+bpf,+perfmon,+net_admin,+ipc_lock";
    let (success, said) = there.try_as_nobody(&wire, capabilities, &["--receive", "xdp"]);
    assert!(success && said.contains("received by AF_XDP on wire-r"), "{said}");
    let (success, said) = there.try_as_nobody(&wire, ",+net_raw,+bpf,+net_admin", &["--receive", "xdp"]);
    assert!(!success && said.contains("it lacks CAP_PERFMON (for"), "{said}");
}

#[test]
fn root_keeps_no_privilege_and_becomes_another_user_if_told_to() {
    let Some(wire) = Wire::lay("root_keeps_no_privilege_and_becomes_another_user_if_told_to") else { return };
    let there = Installation::new();
    for (further, uid) in [
        (&["--receive", "socket"][..], "0"),
        (&BY_XDP[..], "0"),
        (&["--receive", "socket", "--user", "65534"], "65534"),
        (&[&BY_XDP[..], &["--user", "nobody"]].concat(), "65534"),
    ] {
        let mut command = Wire::at(&wire.receiver, "env");
        command.arg(&there.program);
        let further = [&["--address", "10.9.0.2", "--view", "127.0.0.1:0"], further].concat();
        let live = LiveProgram::start_by(command, &there.instrument, there.path(), &further);
        assert_without_privileges(live.id());
        assert_eq!(status_of(live.id(), "CapBnd"), NOTHING);
        assert_eq!(status_of(live.id(), "Uid"), [uid; 4].join("\t"));
        live.signal("TERM");
        // Nothing has come, so that the status is not 0.
        let (_, stream, _) = live.ended();
        assert_eq!(stream["unaccounted"], 0);
        let _ = std::fs::remove_file(there.path().join("live.json"));
        let _ = std::fs::remove_file(there.path().join("live.csv"));
    }
    let output = Command::new(PROGRAM).args(["--user", "no-such-user", "doctor"]).output().unwrap();
    assert!(text(&output.stderr).contains("there is no user \"no-such-user\""), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

/// A library that writes down what the process that loads it may do.
fn spy(folder: &Path) -> (PathBuf, PathBuf) {
    // Anybody may write into the folder of the installation: no library is loaded from there.
    let own = folder.join("spy");
    std::fs::create_dir(&own).expect("a test as root");
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o755)).expect("its own folder");
    let (source, seen) = (own.join("spy.c"), folder.join("seen"));
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void look(void) {{\n    char line[4096];\n    \
         FILE *from = fopen(\"/proc/self/status\", \"r\"), *to = fopen(\"{}\", \"w\");\n    \
         while (from && to && fgets(line, sizeof line, from)) fputs(line, to);\n    \
         if (to) fclose(to);\n    if (from) fclose(from);\n}}\n\
         void *evforge_detector(unsigned version) {{\n    (void)version;\n    return 0;\n}}\n",
        seen.display()
    );
    std::fs::write(&source, code).expect("a test as root");
    (evforge_testkit::outside::c_library(&source, &own, "spy", &[]), seen)
}

#[test]
fn a_library_never_runs_in_a_process_with_a_capability() {
    let Some(wire) = Wire::lay("a_library_never_runs_in_a_process_with_a_capability") else { return };
    let there = Installation::new().with_privileged_helper();
    let (library, seen) = spy(there.path());
    let library = library.to_str().unwrap();
    let assert_seen = |who: &str| {
        let status = std::fs::read_to_string(&seen).unwrap_or_else(|_| panic!("{who}: it was not loaded"));
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert!(status.contains(&format!("{set}:\t{NOTHING}")), "{who}: {status}");
        }
        std::fs::remove_file(&seen).unwrap();
    };
    let run = |mut command: Command, by_environment: bool| {
        command.args(["run", "--port", "0", "--for", "100ms"]);
        if by_environment {
            command.env("EVFORGE_DETECTOR", library);
        } else {
            command.args(["--detector", library]);
        }
        text(&command.output().unwrap().stderr)
    };
    for by_environment in [false, true] {
        run(Command::new(&there.program), by_environment);
        assert_seen("root");
        run(there.as_nobody(&wire, ",+net_raw,+net_admin"), by_environment);
        assert_seen("a service with capabilities");
        run(there.as_nobody(&wire, ""), by_environment);
        assert_seen("a user with a privileged helper");
    }
    // As documentation once said it.
    set_capabilities(&there.program);
    let as_nobody = || {
        let mut command = there.as_nobody(&wire, "");
        // Not those of the test itself.
        let own = std::env::vars_os().map(|(name, _)| name);
        own.filter(|name| name.to_string_lossy().starts_with("EVFORGE_")).for_each(|name| {
            command.env_remove(name);
        });
        command
    };
    let said = run(as_nobody(), false);
    assert!(said.contains("loads no library then") && said.contains("setcap -r"), "{said}");
    let said = run(as_nobody(), true);
    assert!(said.contains("takes nothing from the environment then: EVFORGE_DETECTOR is set"), "{said}");
    assert!(!seen.exists(), "it was loaded");
}

#[test]
fn the_helper_is_not_for_hands_and_says_so() {
    let output = Command::new(HELPER).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(!output.status.success() && text(&output.stderr).contains("it is started by evforge"));
    let output = Command::new(HELPER).arg("--remove").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no option \"--remove\""));
    let output = Command::new(HELPER).arg("--remove-flow-rules").output().unwrap();
    assert!(text(&output.stdout).contains("0 flow rules removed"), "{}", text(&output.stderr));
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("helper.toml");
    for (content, success, expected) in [(RULES, true, "1 rules"), ("[[allow]]\nusers = 7\n", false, "users")]
    {
        std::fs::write(&rules, content).unwrap();
        let (ended, said) = outcome(&Command::new(HELPER).arg("--check-rules").arg(&rules).output().unwrap());
        assert!(ended == success && said.contains(expected), "{said}");
    }
    let output = Command::new(HELPER).arg("--help").output().unwrap();
    assert!(text(&output.stdout).contains("ExecStopPost"));
}
