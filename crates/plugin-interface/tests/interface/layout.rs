//! The structures and numbers of `layout` are those of `include/evforge/detector.h`: a program in C prints what the
//! compiler makes of the header.

use evforge_plugin_interface::layout::*;
use evforge_testkit::outside::{c_compiler, succeed};
use std::process::Command;

fn field_size<S, F>(_: impl Fn(&S) -> &F) -> usize {
    size_of::<F>()
}

/// For each structure: its name in C, then its members. Gives the lines that the program in C should print, and the
/// statements that print them.
macro_rules! structures {
    ($($name:ident as $c:literal { $($member:ident),+ })+) => {{
        let (mut lines, mut statements) = (String::new(), String::new());
        $(
            lines.push_str(&format!("{} {}\n", $c, size_of::<$name>()));
            statements.push_str(&format!("printf(\"{0} %zu\\n\", sizeof(struct {0}));\n", $c));
            $(
                let (offset, size) = (std::mem::offset_of!($name, $member), field_size(|s: &$name| &s.$member));
                lines.push_str(&format!("{}.{} {offset} {size}\n", $c, stringify!($member)));
                statements.push_str(&format!(
                    "printf(\"{0}.{1} %zu %zu\\n\", offsetof(struct {0}, {1}), sizeof(((struct {0} *)0)->{1}));\n",
                    $c, stringify!($member)
                ));
            )+
        )+
        (lines, statements)
    }};
}

#[test]
fn structures_and_numbers_are_those_of_the_header() {
    let (mut lines, mut statements) = structures! {
        Packet as "evforge_packet" {
            bytes, length, original_length, arrival_ns, source_address, source_port, destination_port, arrival_clock
        }
        Pulse as "evforge_pulse" { time_ns, first_event }
        RawEvents as "evforge_events" {
            times_ns, pixel_ids, capacity, used, pulses, pulse_capacity, pulses_used
        }
        Progress as "evforge_progress" { taken, more, reserved }
        Counter as "evforge_counter" { name, help, unit, role, law, next_law }
        Source as "evforge_source" {
            name, numbered, reserved, sent, received, lost, reordered, duplicated, restarts
        }
        Description as "evforge_description" {
            struct_size, nx, ny, nz, panels, events_per_packet, sources, tells_pulses, memory_bound
        }
        DetectorInterface as "evforge_detector_interface" {
            version, struct_size, name, counter_infos, counter_count, create, describe, ingest, publish_closed, close,
            counters, sources, destroy
        }
    };
    let mut number = |name: &str, value: u32| {
        lines.push_str(&format!("EVFORGE_{name} {value}\n"));
        statements.push_str(&format!("printf(\"EVFORGE_{name} %u\\n\", (unsigned)EVFORGE_{name});\n"));
    };
    number("DETECTOR_INTERFACE_VERSION", INTERFACE_VERSION);
    number("CLOCK_NONE", arrival_clock::NONE);
    number("CLOCK_CAPTURE", arrival_clock::CAPTURE);
    number("CLOCK_KERNEL", arrival_clock::KERNEL);
    number("CLOCK_PROCESS", arrival_clock::PROCESS);
    number("UNIT_PACKETS", unit::PACKETS);
    number("UNIT_BYTES", unit::BYTES);
    number("UNIT_READOUTS", unit::READOUTS);
    number("UNIT_HITS", unit::HITS);
    number("UNIT_CLUSTERS", unit::CLUSTERS);
    number("UNIT_EVENTS", unit::EVENTS);
    number("UNIT_TIMES", unit::TIMES);
    number("LAW_NONE", law::NONE);
    number("LAW_PACKETS", law::PACKETS);
    number("LAW_READOUTS", law::READOUTS);
    number("LAW_HITS", law::HITS);
    number("LAW_EVENTS", law::EVENTS);
    number("ROLE_INFORMATION", role::INFORMATION);
    number("ROLE_ENTERS", role::ENTERS);
    number("ROLE_LEAVES", role::LEAVES);
    number("ROLE_JOINS", role::JOINS);
    number("ROLE_DISCARDED", role::DISCARDED);
    number("ROLE_HELD", role::HELD);

    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    let text = format!(
        "#include \"evforge/detector.h\"\n#include <stdio.h>\nint main(void) {{\n{statements}return 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    succeed(c_compiler().arg(&source).arg("-o").arg(&program));
    assert_eq!(succeed(&mut Command::new(&program)), lines);
    assert_eq!(ENTRY_POINT, b"evforge_detector\0");
}

/// Detectors may be written in C++ as well.
#[test]
fn the_header_is_good_cpp() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("header.cc");
    std::fs::write(&source, "#include \"evforge/detector.h\"\n").unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let strict = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", include];
    succeed(Command::new(compiler).args(strict).arg(&source));
}
