#!/bin/sh
# Builds the program that steers frames to AF_XDP sockets: build-steer.sh [OBJECT]
# Needs clang with the target bpf; without OBJECT it makes the one that is checked in, for which it needs
# llvm-objcopy as well (Debian: clang, llvm), and notes the compiler.
set -eu
cd "$(dirname "$0")"
object=${1:-steer.bpf.o}
# Without the folder that it happens to be built in.
clang -O2 -g -ffile-prefix-map="$PWD"=. -Wall -Wextra -Werror -target bpf -mcpu=v2 -c steer.bpf.c -o "$object"
if [ $# -eq 0 ]; then
    # What the kernel needs stays: instructions, map definitions and their types.
    llvm-objcopy --strip-debug --remove-section=.BTF.ext --remove-section=.rel.BTF.ext "$object"
    clang --version | head -n 1 > steer.bpf.compiler
fi
