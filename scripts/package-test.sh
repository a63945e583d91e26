#!/usr/bin/env bash
# Installs what `make package` has made in a new Debian with systemd and without network, and sees whether it does what
# docs/install.md says: `make package-test`. Needs root and debootstrap; some minutes. The system is removed afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/target/package
log=$folder/package-test.log
suite=${PACKAGE_SUITE:-bookworm}
instance=gdgem-srs
unit=evforge@$instance
url=http://127.0.0.1:8080
token=a-token-of-the-package-test
if [ "$(id -u)" -ne 0 ]; then
    echo "package-test.sh makes a root folder and namespaces: run it as root (sudo make package-test)" >&2
    exit 1
fi
deb=$(find "$folder" -maxdepth 1 -name 'evforge_*_amd64.deb' | head -1)
if [ -z "$deb" ]; then
    echo "package-test.sh: no package in $folder; it is made by: make package" >&2
    exit 1
fi
(cd "$folder" && sha256sum --quiet --check SHA256SUMS)
: >"$log"

# Where booting is possible but folders are small: not in /tmp, which may be memory.
root=$(mktemp -d "${PACKAGE_TEST_FOLDER:-/var/tmp}/evforge-package-XXXXXX")
chmod 755 "$root"
boot=
finish() {
    status=$?
    if [ "$status" -ne 0 ]; then
        [ -z "${system:-}" ] || inside journalctl --no-pager -n 60 >>"$log" 2>&1 || true
        tail -60 "$log" >&2
        echo "package-test.sh FAILED at: ${step:-the start} ($log)" >&2
    fi
    if [ -n "$boot" ]; then
        kill "$boot" 2>/dev/null || true
        wait "$boot" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$root"
    exit "$status"
}
trap finish EXIT

step() {
    step=$*
    echo "== $*" | tee -a "$log"
}
inside() { nsenter --all --target "$system" "$@"; }
# Fails with what was expected.
expect() {
    local what=$1
    shift
    "$@" >>"$log" 2>&1 || { echo "expected: $what" | tee -a "$log" >&2; return 1; }
}
# Until something is so, half a minute at most.
until_so() {
    local what=$1
    shift
    for _ in $(seq 300); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    echo "expected within 30 s: $what" | tee -a "$log" >&2
    return 1
}
property() { inside systemctl show --property "$1" --value "$unit"; }
# All of it is read: with -q, grep would end before journalctl has.
said() { inside journalctl --no-pager --output cat --unit "$unit" | grep -e "$1" >/dev/null; }
not_said() { ! said "$1"; }
ctl() { inside env EVFORGE_TOKEN=$token evforge ctl --url $url --json "$@" 2>>"$log"; }
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1].split("."): value = value[name]
print(value)' "$1"; }
# Everything that is there and could stay: names, and what is in the files of /etc.
trace() {
    inside find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/log -o -path /var/cache \
        -o -path /srv -o -path '/var/lib/dpkg/*' -o -path '/var/lib/systemd/*' -o -path '/var/tmp/*' \) -prune -o -printf '%y %m %u %g %p\n' |
        grep -v -e ' /etc/\(passwd\|group\|shadow\|gshadow\)-$' | sort
    inside find /etc -type f ! -name '*-' -exec sha256sum {} + | sort
}
# True if the service runs, in another process than this one.
running_since() {
    local now
    now=$(inside systemctl show --property MainPID,ActiveState --value "$unit" | sort | tr '\n' ' ')
    [[ $now =~ ^([1-9][0-9]*)\ active ]] && [ "${BASH_REMATCH[1]}" != "$1" ]
}

step "a new Debian $suite"
mirror=$(scripts/debian-mirror.sh)
debootstrap --variant=minbase --include=systemd-sysv,dbus,iproute2,libcap2-bin "$suite" "$root" "$mirror" >>"$log" 2>&1
mkdir -p "$root/srv"
cp "$deb" "$root/srv/this.deb"
cp data/gdgem-srs.pcapng "$root/srv/"
# The same with a higher version, as an upgrade.
dpkg-deb --raw-extract "$deb" "$folder/higher"
sed -i 's/^Version: .*/&.1/' "$folder/higher/DEBIAN/control"
dpkg-deb --root-owner-group --build "$folder/higher" "$root/srv/higher.deb" >>"$log"
rm -rf "$folder/higher"

step "systemd starts, without network"
scripts/boot-root.sh "$root" >>"$log" 2>&1 &
boot=$!
first_process() {
    local outside
    outside=$(pgrep --parent "$boot" unshare) && system=$(pgrep --parent "$outside" systemd)
}
until_so "a first process" first_process
until_so "a system that is up" inside systemctl is-system-running
expect "no network but lo" [ "$(inside ls /sys/class/net)" = lo ]
trace >"$folder/before.list"

step "dpkg --install"
expect "no user evforge before" [ -z "$(inside getent passwd evforge)" ]
expect "an installation without network" inside dpkg --install /srv/this.deb
expect "a package that is installed" inside dpkg --verify evforge
expect "capabilities of the helper" grep -q cap_net_raw <(inside getcap /usr/libexec/evforge-helper)
expect "units that are right" inside systemd-analyze verify --man=no "$unit.service" evforge-write@nmx.service
findings=$(inside systemd-analyze verify --man=no "$unit.service" evforge-write@nmx.service 2>&1)
expect "no finding of systemd-analyze verify: $findings" [ -z "$findings" ]
for one in evforge evforge-write; do
    inside systemd-analyze security --no-pager "$one@x.service" | tail -1 | sed "s/^/$one@: /" | tee -a "$log"
done
expect "manual pages and completion" inside test -s /usr/share/man/man1/evforge-serve.1.gz -a -s /usr/share/bash-completion/completions/evforge
expect "rules that are right" inside /usr/libexec/evforge-helper --check-rules /etc/evforge/helper.toml
inside evforge --version | tee -a "$log"

step "an instance starts, and receives"
inside bash -c "cat /usr/share/evforge/$instance.toml - >/etc/evforge/$instance.toml" <<'TOML'

[serve]
record = "{run:6}.pcapng"

[outputs.nexus]
file = "{run:6}.nxs"

[outputs.view]
address = "127.0.0.1:8080"
TOML
# At the beginning, where no table is open yet.
inside sed -i '1i receive = { address = "127.0.0.1:9000", buffer = "32MB" }' /etc/evforge/$instance.toml
inside mkdir -p "/etc/systemd/system/$unit.service.d"
inside bash -c "printf '[Service]\nEnvironment=EVFORGE_TOKEN=$token\nWatchdogSec=15s\n' >/etc/systemd/system/$unit.service.d/test.conf"
inside systemctl daemon-reload
expect "a service that starts" inside systemctl enable --now "$unit"
# Ready means: the socket is there. 2328 is 9000.
expect "port 9000 when it is ready" inside grep -q '0100007F:2328' /proc/net/udp
process=$(property MainPID)
expect "a program without privileges" inside grep -q '^CapEff:.0*$' "/proc/$process/status"
expect "the user evforge" [ "$(inside stat --format %U "/proc/$process")" = evforge ]
# The only child; where tools that list processes are not installed.
helper=$(inside cat "/proc/$process/task/$process/children" | tr -d ' ')
expect "a helper" [ -n "$helper" ]
expect "a helper with privileges" inside grep -q '^CapEff:.000000c000807400$' "/proc/$helper/status"
expect "a receive buffer beyond the limit of the host" not_said net.core.rmem_max
ctl run start --title "first" >>"$log"
sent=$(inside evforge replay /srv/gdgem-srs.pcapng --to 127.0.0.1:9000 --rate 2kpps | sed -n 's/^sent \([0-9 ]*\) packets.*/\1/p' | tr -d ' ')
echo "$sent packets were sent" | tee -a "$log"
has_come() { [ "$(ctl state | field packets)" = "$sent" ]; }
until_so "$sent packets" has_come
events=$(ctl state | field events)
echo "$events events" | tee -a "$log"
expect "events" [ "$events" -gt 0 ]
property StatusText | tee -a "$log"
until_so "events in the file" inside test -s /var/lib/evforge/$instance/000001.nxs
sleep 3 # Commits of the file are 1 s apart.

step "kill -9: it starts again, and recovers what was partial"
inside systemctl kill --signal KILL --kill-whom main "$unit"
until_so "another process" running_since "$process"
expect "one restart" [ "$(property NRestarts)" = 1 ]
expect "the log says that the run was not brought to its end" said "run 1 was not brought to its end"
inside journalctl --no-pager --output cat --unit "$unit" | grep -e 'recovered\|finished\|000001' | tail -5 | tee -a "$log"
expect "a file of events that is recovered" said '000001.nxs.*recovered\|recovered.*000001.nxs'
expect "a recording with its name" inside test -s /var/lib/evforge/$instance/000001.pcapng
inside evforge run --input /var/lib/evforge/$instance/000001.pcapng --config /usr/share/evforge/$instance.toml >"$folder/recorded.txt" 2>&1 || true
expect "all packets in the recording" grep -q -e "$(printf "%'d" "$sent" | tr ',' ' ')" -e "$sent" "$folder/recorded.txt"
ctl run start --title "second" >>"$log"
expect "the next number" [ "$(ctl run status | field run.number)" = 2 ]
ctl run stop >>"$log"

step "kill -STOP: the watchdog ends it"
process=$(property MainPID)
inside systemctl kill --signal STOP --kill-whom main "$unit"
until_so "another process" running_since "$process"
expect "the watchdog in the log" said 'Watchdog timeout'

step "the file writer waits for brokers, and ends on request"
inside cp /usr/share/evforge/write-example.conf /etc/evforge/write-nmx.conf
expect "a file writer that starts" inside systemctl start evforge-write@nmx
writer_waits() { inside journalctl --no-pager --output cat --unit evforge-write@nmx | grep 'topic nmx_runInfo' >/dev/null; }
until_so "the file writer says that there are no brokers" writer_waits
expect "a file writer that goes on" inside systemctl is-active evforge-write@nmx
expect "a file writer that ends" inside systemctl stop evforge-write@nmx
expect "a good end" [ "$(inside systemctl show --property Result --value evforge-write@nmx)" = success ]

step "an upgrade, with a run that goes on"
ctl run start --title "third" >>"$log"
process=$(property MainPID)
inside bash -c 'echo "# of this host" >>/etc/evforge/helper.toml'
expect "an upgrade" inside dpkg --install /srv/higher.deb
until_so "the new program" running_since "$process"
expect "run 3 in good order" inside test -s /var/lib/evforge/$instance/000003.pcapng -o -s /var/lib/evforge/$instance/000003.nxs
expect "no recovery of run 3" not_said 'run 3 was not brought'
expect "what was changed in /etc" inside grep -q 'of this host' /etc/evforge/helper.toml
expect "capabilities of the helper" grep -q cap_net_raw <(inside getcap /usr/libexec/evforge-helper)

step "removal and purge: what was measured stays"
expect "a removal" inside dpkg --remove evforge
processes() { inside sh -c 'cat /proc/[0-9]*/comm' 2>/dev/null; }
expect "processes" grep -q systemd <(processes)
no_process_of_evforge() { ! processes | grep evforge; }
expect "a service that has ended" no_process_of_evforge
expect "the configuration, still" inside test -s /etc/evforge/$instance.toml
inside dpkg --purge evforge 2>&1 | tee -a "$log" | grep -q "left as it is.* /var/lib/evforge"
expect "a measured file" inside test -s /var/lib/evforge/$instance/000001.pcapng
inside rm -r /var/lib/evforge

step "installed, enabled, started and purged: nothing is left"
expect "an installation" inside dpkg --install /srv/this.deb
inside cp /usr/share/evforge/$instance.toml /etc/evforge/
expect "a service that starts" inside systemctl enable --now "$unit"
expect "a purge" inside dpkg --purge evforge
trace >"$folder/after.list"
diff "$folder/before.list" "$folder/after.list" | tee -a "$log"
echo "$(wc -l <"$folder/after.list") names and files are as before"

step "the bundle"
bundle=$(find "$folder" -maxdepth 1 -name 'evforge-*-x86_64-linux.tar.gz' | head -1)
for other in "$root" ${PACKAGE_ROOTS:-}; do
    tar -C "$other/srv" -xzf "$bundle"
    name=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' "$other/etc/os-release")
    cp data/gdgem-srs.pcapng "$other/srv/"
    chroot "$other" sh -c 'cd /srv/evforge-* && bin/evforge run --config configs/gdgem-srs.toml --input /srv/gdgem-srs.pcapng --nexus /srv/bundle.nxs --overwrite' >"$folder/bundle.txt" 2>&1
    echo "$name: $(grep -m1 -i 'events' "$folder/bundle.txt")" | tee -a "$log"
    rm -rf "$other"/srv/evforge-*
done
echo "package-test.sh: all is well ($log)"
