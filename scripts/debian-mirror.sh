#!/usr/bin/env bash
# Prints where this host has its Debian packages from, else where everybody can; for debootstrap.
set -euo pipefail

mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -1 || true)
echo "${mirror:-http://deb.debian.org/debian}"
