#!/usr/bin/env bash
# The README's first two commands, `make demo` and `make test`, as a newcomer gives them: fresh.sh root|user
#
# In a new Debian with nothing but its base system, make, git, certificates and the Rust toolchain, from a clone of what
# is committed here. As `user`, an ordinary account with sudo gives them. Fails if either command does. Needs root and
# debootstrap; `make fresh` runs both. Package mirror, certificates and proxies are those of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

who=${1:?"usage: fresh.sh root|user"}
case $who in root | user) ;; *) echo "fresh.sh: expected root or user, found $who" >&2; exit 2 ;; esac
if [ "$(id -u)" -ne 0 ]; then
    echo "fresh.sh makes a root folder and namespaces: run it as root (sudo make fresh)" >&2
    exit 1
fi
suite=${FRESH_SUITE:-bookworm}
checkout=$PWD
shared=${EVFORGE_SHARED:-$(realpath -m ../shared)}
log=$checkout/target/fresh-$who.log
mkdir -p target
# Not in /tmp, which may be memory: building takes some 20 GB.
root=$(mktemp -d "${FRESH_FOLDER:-/var/tmp}/evforge-fresh-XXXXXX")
# Ordinary users of the new system must get in.
chmod 755 "$root"
trap 'rm -rf --one-file-system "$root"' EXIT

mirror=$(scripts/debian-mirror.sh)
echo "installing Debian $suite for $who"
debootstrap --include=make,git,ca-certificates,sudo "$suite" "$root" "$mirror" >"$log" 2>&1 ||
    { tail -20 "$log" >&2; exit 1; }

# The package sources as outside, Debian's own only; certificates and names.
cp /etc/resolv.conf "$root/etc/resolv.conf"
if [ -f /etc/apt/sources.list.d/debian.sources ]; then
    rm -f "$root/etc/apt/sources.list"
    cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
elif [ -s /etc/apt/sources.list ]; then
    cp /etc/apt/sources.list "$root/etc/apt/"
fi
variables=()
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
if [ -f "$certificates" ]; then
    cp "$certificates" "$root/etc/certificates-of-the-host.crt"
    for name in SSL_CERT_FILE CARGO_HTTP_CAINFO PIP_CERT REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS npm_config_cafile CURL_CA_BUNDLE; do
        variables+=("$name=/etc/certificates-of-the-host.crt")
    done
fi
while IFS= read -r variable; do
    variables+=("$variable")
done < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_(EXTRA_)?INDEX_URL|PIP_DEFAULT_TIMEOUT|npm_config_registry|CARGO_(REGISTRIES|SOURCE)_[A-Z_]*)=' || true)

mkdir -p "$root/opt/rust" "$root/srv/shared"
git clone --quiet --no-hardlinks "$checkout" "$root/srv/evforge"
echo "commit $(git -C "$root/srv/evforge" log -1 --format='%h %s')" | tee -a "$log"

cat >"$root/srv/newcomer.sh" <<'INSIDE'
set -euo pipefail
set -m # so that Ctrl-C can be given to a command in the background
cd /srv/evforge
echo "== make demo"
make demo </dev/null &
demo=$!
answer=
for _ in $(seq 1800); do
    kill -0 "$demo" 2>/dev/null || { echo "make demo ended by itself"; exit 1; }
    if answer=$( (exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /api/health HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 && cat <&3) 2>/dev/null) &&
        [[ $answer == *'"status":"ok"'* ]]; then
        break
    fi
    sleep 1
done
[[ $answer == *'"status":"ok"'* ]] || { echo "make demo: no page after half an hour"; exit 1; }
sleep 5
kill -INT -- "-$demo"
# Make says "Interrupt" as it always does; the report is there only if the program came to a good end.
wait "$demo" || true
ls -l demo-output
for file in demo.nxs demo-image.png demo-report.json; do
    [ -s "demo-output/$file" ] || { echo "make demo has left no $file"; exit 1; }
done
echo "== make test"
make test </dev/null
INSIDE

user=root
required=
if [ "$who" = user ]; then
    user=newcomer
    chroot "$root" useradd --create-home --shell /bin/bash newcomer
    echo "newcomer ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/newcomer"
    chroot "$root" chown -R newcomer /srv/evforge
    # Without the question for proxies and certificates, sudo would drop them.
    echo 'Defaults env_keep += "SSL_CERT_FILE http_proxy https_proxy no_proxy"' >>"$root/etc/sudoers.d/newcomer"
elif [ -d "$shared" ]; then
    # Nothing may be skipped where root and the reference data are there.
    required=all
fi

# shellcheck disable=SC2016 # expanded inside
unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
    root=$1 toolchain=$2 shared=$3
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs none "$root/run"
    mount --bind "$toolchain" "$root/opt/rust"
    mount -o remount,ro,bind "$root/opt/rust"
    if [ -d "$shared" ]; then
        mount --bind "$shared" "$root/srv/shared"
        mount -o remount,ro,bind "$root/srv/shared"
    fi
    shift 3
    # Not only chroot: tests make mount namespaces, for which the root must be a mount point.
    cd "$root"
    mkdir -p old
    pivot_root . old
    umount -l /old
    exec "$@"
' fresh "$root" "$(rustc --print sysroot)" "$shared" \
    runuser -u "$user" -- env -i HOME="$([ "$user" = root ] && echo /root || echo "/home/$user")" LANG=C.UTF-8 USER="$user" \
    PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${required:+EVFORGE_REQUIRE="$required"} "${variables[@]}" \
    bash /srv/newcomer.sh </dev/null >>"$log" 2>&1 || { status=$?; tail -40 "$log"; echo "fresh.sh $who FAILED: $log"; exit "$status"; }
tail -5 "$log"
echo "fresh.sh $who: both commands work ($log)"
