#!/usr/bin/env bash
# Boots systemd in a folder with a Debian system, without network: boot-root.sh FOLDER, for the tests of packages.
#
# In namespaces of its own (mount, process, host name, IPC, network, control group). It goes on until it is killed; with it
# ends everything inside. Needs root. Enter it with: nsenter --all --target "$(pgrep --parent PID)" COMMAND
set -euo pipefail

root=${1:?"usage: boot-root.sh FOLDER"}
groups=$(findmnt --noheadings --types cgroup2 --output TARGET | head -1)
if [ -z "$groups" ]; then
    echo "boot-root.sh: this system has no cgroup2, which systemd needs" >&2
    exit 1
fi
group=$groups/evforge-package-test-$$
mkdir "$group"
system=
end() {
    [ -z "$system" ] || kill -9 "$system" 2>/dev/null || true
    # Whatever was inside has ended with its first process; the kernel may take a moment.
    echo $$ >"$groups/cgroup.procs"
    for _ in $(seq 50); do
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && return
        sleep 0.1
    done
}
trap end EXIT
trap 'exit 143' TERM INT
echo $$ >"$group/cgroup.procs"
# shellcheck disable=SC2016 # expanded inside
unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child bash -euo pipefail -c '
    root=$1
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for name in null zero full random urandom tty; do
        touch "$root/dev/$name"
        mount --bind "/dev/$name" "$root/dev/$name"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mount -t tmpfs tmpfs "$root/tmp"
    hostname package-test
    ip link set lo up
    cd "$root"
    mkdir -p old
    pivot_root . old
    umount -l /old
    rmdir /old
    exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal --show-status=no
' boot "$root" &
system=$!
wait "$system"
