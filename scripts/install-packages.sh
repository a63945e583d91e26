#!/usr/bin/env bash
# Installs Debian packages that are missing: install-packages.sh "what for" package...
# Says what it installs, and asks for root only if something is missing.
set -euo pipefail

purpose=$1
shift

is_there() {
    case $1 in
        # Provided by other packages too: the program counts, not the package.
        chromium) command -v chromium >/dev/null ;;
        python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
        *) dpkg-query --show --showformat='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ;;
    esac
}

find_missing() {
    missing=()
    local package
    for package in "$@"; do
        is_there "$package" || missing+=("$package")
    done
}

find_missing "$@"
[ ${#missing[@]} -gt 0 ] || exit 0
# One at a time (make --jobs): apt-get fails when another one is at work. What the other one was installing may be all.
exec 9<"$0"
flock 9
find_missing "$@"
[ ${#missing[@]} -gt 0 ] || exit 0

echo "missing $purpose: ${missing[*]}"
if ! command -v apt-get >/dev/null; then
    echo "This is not a Debian-like system: install the packages of the same purpose with its own tools." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Installing needs root. As root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "installing with sudo, which may ask for your password"
    as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
# Debian starts what it installs: the tests start their own, and nobody has asked for a service.
for package in "${missing[@]}"; do
    case $package in
        graphite-carbon) service=carbon-cache ;;
        prometheus) service=prometheus ;;
        *) continue ;;
    esac
    if [ -d /run/systemd/system ]; then
        "${as_root[@]}" systemctl disable --quiet --now "$service"
        echo "the service $service, which came with it, is off: systemctl enable --now $service starts it"
    fi
done
echo "installed: ${missing[*]}"
