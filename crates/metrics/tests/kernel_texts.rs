//! Texts of the kernel: those of other hosts are read as they are, and arbitrary ones harm nothing.
#![allow(clippy::unwrap_used)]

use evforge_metrics::parse;
use proptest::prelude::*;

/// A host with 4 cores, of which one is off: the kernel leaves its column out.
const INTERRUPTS: &str = "           CPU0       CPU1       CPU3
   0:         36          0          0   IO-APIC   2-edge      timer
 129:          0    5000000         11   PCI-MSI 524289-edge      mlx5_comp0@pci:0000:01:00.0
 NMI:          1          2          3   Non-maskable interrupts
 ERR:          7
";

#[test]
fn interrupts_are_summed_per_core() {
    assert_eq!(parse::per_core(INTERRUPTS, |_| true), [(0, 37), (1, 5_000_002), (3, 14)]);
    assert_eq!(parse::per_core(INTERRUPTS, |name| name == "NMI"), [(0, 1), (1, 2), (3, 3)]);
}

#[test]
fn softnet_tells_the_core_since_linux_5_10_and_the_line_before() {
    let new = "0000aa00 00000001 00000002 0 0 0 0 0 0 0 0 00000000 00000005\n";
    let old = "00000010 00000000 00000000 0 0 0 0 0 0 0\n00000020 00000003 00000000 0 0 0 0 0 0 0\n";
    assert_eq!(parse::softnet(new), [(5, [0xaa00, 1, 2])]);
    assert_eq!(parse::softnet(old), [(0, [16, 0, 0]), (1, [32, 3, 0])]);
}

#[test]
fn interfaces_may_have_colons_in_their_names_and_no_blank_behind() {
    let text = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0
eth0:1:9 10 11 12 0 0 0 0 13 14 15 16 0 0 0 0
  bad: 1 2 3
";
    let found = parse::interfaces(text);
    assert_eq!((found.len(), found[0].name.as_str(), found[1].name.as_str()), (2, "lo", "eth0:1"));
    assert_eq!((found[0].received, found[1].sent), ([1, 2, 3, 4], [13, 14, 15, 16]));
}

#[test]
fn a_thread_may_be_called_anything() {
    let text = "17 (a) (b 1 2) S 1 17 17 0 -1 4194368 100 0 0 0 25 17 0 0 20 0 1 0 99 0 0\n";
    assert_eq!(parse::thread_ticks(text), Some(42));
    assert_eq!(parse::thread_ticks("17 (a S 1"), None);
}

#[test]
fn disks_are_devices_and_each_is_there_once() {
    let text = "22 1 254:0 / / rw - ext4 /dev/vda rw\n23 1 254:0 /a /bind rw shared:1 - ext4 /dev/vda rw\n\
                24 1 0:21 / /proc rw - proc proc rw\n25 1 8:1 / /mnt/my\\040disk rw - xfs /dev/sda1 rw\n\
                26 1 7:0 / /snap rw - squashfs /dev/loop0 ro\n27 1 0:50 / /home rw - nfs4 server:/home rw\n";
    assert_eq!(parse::disks(text), ["/", "/mnt/my disk"]);
}

#[test]
fn memory_is_in_bytes_and_a_name_is_a_whole_one() {
    let text = "MemTotal:       16000 kB\nMemAvailable:    8000 kB\nSwapCached:         1 kB\nCached:             2 kB\n";
    assert_eq!(parse::memory(text, "Cached"), Some(2048));
    assert_eq!((parse::memory(text, "Mem"), parse::memory(text, "MemTotal")), (None, Some(16_384_000)));
}

#[test]
fn tables_and_lists_of_protocols_are_read_by_name() {
    let snmp = "Udp: InDatagrams NoPorts\nUdp: 7 8\nUdpLite: InDatagrams NoPorts\nUdpLite: 9 9\n";
    assert_eq!(parse::in_table(snmp, "Udp", "NoPorts"), Some(8));
    assert_eq!(parse::in_table(snmp, "Udp", "MemErrors"), None);
    assert_eq!(parse::in_list("Udp6InErrors   3\nUdp6InErrorsMore 4\n", "Udp6InErrorsMore"), Some(4));
    assert_eq!(parse::udp_pages("UDP: inuse 3 mem 11\nUDPLITE: inuse 0\n"), Some(11));
}

/// All parsers, as arbitrary text meets them.
fn read_all(text: &str) {
    let _ = parse::interfaces(text);
    let _ = parse::softnet(text);
    let cores = parse::per_core(text, |_| true);
    assert!(cores.len() <= text.len());
    let _ = parse::core_times(text);
    let _ = parse::memory(text, "MemTotal");
    let _ = parse::in_table(text, "Udp", "InDatagrams");
    let _ = parse::in_list(text, "Udp6InDatagrams");
    let _ = parse::udp_pages(text);
    let _ = parse::thread_ticks(text);
    let _ = parse::resident_pages(text);
    let _ = parse::most_descriptors(text);
    let _ = parse::disks(text);
    assert!(parse::load(text).is_none_or(|load| load >= 0.0 && load.is_finite()));
}

proptest! {
    #[test]
    fn arbitrary_text_harms_nothing(text in "\\PC*") {
        read_all(&text);
    }

    /// Texts that are nearly right: words and numbers of the kernel in any order, with numbers that do not fit.
    #[test]
    fn nearly_right_text_harms_nothing(words in prop::collection::vec(prop_oneof![
        Just("CPU0"), Just("cpu1"), Just(" "), Just("\n"), Just(":"), Just("18446744073709551615"), Just("ffffffffffffffff"),
        Just("Udp:"), Just("InDatagrams"), Just("UDP: mem"), Just(")"), Just(" - "), Just("/dev/x"), Just("MemTotal: "), Just("-1"),
        Just("1e999"), Just("Max open files"), Just("0"),
    ], 0..200)) {
        read_all(&words.concat());
    }

    #[test]
    fn what_is_written_as_the_kernel_writes_it_is_read_back(
        counts in prop::collection::vec((any::<u32>(), any::<[u64; 8]>()), 1..40),
    ) {
        let mut stat = String::from("cpu  1 2 3 4 5 6 7 8 9 10\n");
        for (core, ticks) in &counts {
            let ticks: Vec<String> = ticks.iter().map(u64::to_string).collect();
            stat += &format!("cpu{core} {} 0 0\n", ticks.join(" "));
        }
        let expected: Vec<_> = counts.iter().map(|(core, ticks)| (u64::from(*core), *ticks)).collect();
        prop_assert_eq!(parse::core_times(&stat), expected);
    }
}
