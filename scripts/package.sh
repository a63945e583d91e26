#!/usr/bin/env bash
# The packages of evforge in target/package: a .deb, a tar bundle, SHA256SUMS. `make package` calls it.
#
# One program is in all of them: linked with everything but the C library, and that in the version of 2018 (glibc 2.28:
# Debian 10, Rocky 8, Ubuntu 20.04 and later). Two builds of the same commit give the same bytes: times are that of the
# commit, and the folders of the build are not in it. Needs no root, but a namespace for mounts.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
glibc=2.28
zigbuild=0.22.1
cargo_deb=3.6.3
folder=$PWD/target/package
tools=$PWD/target/package-tools
stage=$folder/stage
if [ "$(uname -m)" != x86_64 ]; then
    echo "package.sh: packages are made on x86_64, this is $(uname -m)" >&2
    exit 1
fi

# What is built notes the folders that it is built in: rustc for panics, OpenSSL for its modules, HDF5 with its flags. So
# these are the same everywhere: the rest happens in a mount namespace, where they are /mnt/evforge and /mnt/cargo.
if [ -z "${PACKAGE_SOURCES:-}" ]; then
    export PACKAGE_SOURCES=$PWD PACKAGE_CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
    mkdir -p "$PACKAGE_CARGO_HOME"
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
    # shellcheck disable=SC2016
    exec unshare "${as_root[@]}" --mount bash -euc '
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/evforge /mnt/cargo
        mount --bind "$PACKAGE_SOURCES" /mnt/evforge
        mount --bind "$PACKAGE_CARGO_HOME" /mnt/cargo
        cd /mnt/evforge
        CARGO_HOME=/mnt/cargo exec scripts/package.sh'
fi
mkdir -p "$folder" "$tools"

install_tool() {
    local name=$1 version=$2
    if [ "$("$tools/bin/$name" --version 2>/dev/null | awk '{ print $NF }')" != "$version" ]; then
        echo "installing $name $version, a minute or two"
        cargo install --quiet --locked --root "$tools" --target-dir "$tools/build" "$name@$version"
        rm -rf "$tools/build"
    fi
}
install_tool cargo-zigbuild "$zigbuild"
install_tool cargo-deb "$cargo_deb"
if [ ! -f .venv-package/installed ] || [ packaging/requirements.txt -nt .venv-package/installed ]; then
    python3 -m venv .venv-package
    .venv-package/bin/pip install --quiet --disable-pip-version-check --require-hashes -r packaging/requirements.txt
    touch .venv-package/installed
fi

commit_time=$(git log -1 --format=%ct)
# OpenSSL notes when it was built, and cargo does not build it again for every commit: the same time for all.
export SOURCE_DATE_EPOCH=1795470115
# Where certificates are, which OpenSSL puts into the program; Debian's folder.
export OPENSSL_CONFIG_DIR=/etc/ssl
export TZ=UTC LC_ALL=C.UTF-8
export PATH=$PWD/.venv-package/bin:$tools/bin:$PATH
export CARGO_TARGET_DIR=$folder CARGO_INCREMENTAL=0
# Without it, zig builds code in C for debugging.
export CFLAGS=-O2
cargo zigbuild --release --locked --target "$target.$glibc" -p evforge --features bundled
export SOURCE_DATE_EPOCH=$commit_time

rm -rf "$stage"
mkdir -p "$stage"/{bin,man,completion,configs}
for program in evforge evforge-helper; do
    cp "$CARGO_TARGET_DIR/$target/release/$program" "$stage/bin/"
    strip --strip-all "$stage/bin/$program"
done
python3 scripts/check-package-program.py --glibc "$glibc" --absent "$PACKAGE_SOURCES" --absent "$PACKAGE_CARGO_HOME" "$stage"/bin/*

program=$stage/bin/evforge
"$program" man "$stage/man" >/dev/null
gzip --best --no-name "$stage"/man/*.1
for shell in bash:evforge zsh:_evforge fish:evforge.fish; do
    "$program" completion "${shell%%:*}" >"$stage/completion/${shell#*:}"
done
cp configs/*.toml configs/evforge.schema.json packaging/write-example.conf packaging/helper.toml "$stage/configs/"
python3 scripts/third-party-licences.py "$target" >"$stage/licences-of-libraries.txt"
version=$("$program" --version | awk '{ print $2 }')
# Nothing of the umask of whoever builds.
find "$stage" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
chmod 755 "$stage"/bin/*
find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

rm -f "$folder"/*.deb "$folder"/*.tar.gz "$folder/SHA256SUMS"
rm -rf target/package-stage
ln -sfn package/stage target/package-stage
cargo deb --quiet --no-build --no-strip --target "$target" -p evforge ${DEB_VERSION:+--deb-version "$DEB_VERSION"} --output "$folder/" >/dev/null

bundle=evforge-$version-x86_64-linux
rm -rf "${folder:?}/$bundle"
mkdir -p "$folder/$bundle"
cp -r "$stage"/{bin,man,completion,configs,licences-of-libraries.txt} packaging/systemd "$folder/$bundle/"
cp LICENSE CHANGELOG.md docs/install.md "$folder/$bundle/"
find "$folder/$bundle" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
chmod 755 "$folder/$bundle"/bin/*
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$folder" -c "$bundle" |
    gzip --best --no-name >"$folder/$bundle.tar.gz"
rm -rf "${folder:?}/$bundle"
(cd "$folder" && sha256sum -- *.deb *.tar.gz | tee SHA256SUMS)
