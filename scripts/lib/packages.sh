# Sourced by the set-up scripts: what must be installed, and installing it. POSIX sh.
#
# Installs by apt, only what is missing, and says what. Without the right to do so it prints the command and stops. On a machine
# without apt it names what is missing by its Debian name and stops.
# shellcheck shell=sh

packages_missing=

# want COMMAND PACKAGE: the package is wanted unless the command is there.
want() {
    command -v "$1" >/dev/null 2>&1 || packages_missing="$packages_missing $2"
}

# want_file PACKAGE FILE...: the package is wanted unless one of the files is there.
want_file() {
    packages_name=$1
    shift
    for packages_file in "$@"; do
        [ ! -e "$packages_file" ] || return 0
    done
    packages_missing="$packages_missing $packages_name"
}

# What a build needs. libelf's archive and zlib's are linked into the library.
want_build() {
    want c++ g++
    want meson meson
    want ninja ninja-build
    want pkg-config pkg-config
    want_file libelf-dev /usr/include/libelf.h
    want_file zlib1g-dev /usr/include/zlib.h
}

# What the tests need besides.
want_tests() {
    want_file catch2 /usr/include/catch2/catch.hpp /usr/include/catch2/catch_all.hpp
    want readelf binutils
    want qemu-system-x86_64 qemu-system-x86
    want busybox busybox-static
    want unshare util-linux
    want clang-format-14 clang-format-14
    want clang-tidy-14 clang-tidy-14
    want clang++-14 clang-14
    want_file libclang-rt-14-dev /usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a
    want shellcheck shellcheck
    want dash dash
    want python3 python3
    want valgrind valgrind
    want qemu-x86_64 qemu-user
    want cpio cpio
    want gnuplot gnuplot-nox
    want_file libjemalloc2 /usr/lib/*/libjemalloc.so.2
    want_file libtcmalloc-minimal4 /usr/lib/*/libtcmalloc_minimal.so.4
    want_file libmimalloc2.0 /usr/lib/*/libmimalloc.so.*
    # What is run together with the library, and the small ones of the real programs.
    want strace strace
    want gdb gdb
    want faketime faketime
    want fakeroot fakeroot
    want heaptrack heaptrack
    want bwrap bubblewrap
    want musl-gcc musl-tools
    want redis-benchmark redis-tools
    # For 32-bit programs; g++-multilib itself cannot be beside cross compilers.
    want_file g++-12-multilib /usr/lib/gcc/x86_64-linux-gnu/*/32/libstdc++.a
    want qemu-i386 qemu-user
}

# Installs what was wanted and is missing, or stops.
install_wanted() {
    [ -n "$packages_missing" ] || return 0
    packages_missing=${packages_missing# }
    echo "Missing packages: $packages_missing"
    packages_command="apt-get install -y --no-install-recommends $packages_missing"
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "This machine has no apt-get: install the like of these by its own means, then start again." >&2
        exit 1
    fi
    packages_sudo=
    if [ "$(id -u)" -ne 0 ]; then
        packages_sudo=sudo
        [ -t 0 ] || packages_sudo='sudo -n'
        if ! command -v sudo >/dev/null 2>&1 || ! $packages_sudo true; then
            echo "Not root, and sudo does not let us. Run this as root, then start again:" >&2
            echo "    apt-get update && $packages_command" >&2
            exit 1
        fi
    fi
    echo "Installing them: ${packages_sudo:+$packages_sudo }$packages_command"
    # Old lists may do; what cannot be installed fails in the next line.
    $packages_sudo apt-get -q update || echo 'apt-get update failed; trying with the lists at hand.' >&2
    # shellcheck disable=SC2086 # words
    $packages_sudo env DEBIAN_FRONTEND=noninteractive $packages_command || {
        echo "Installing failed: $packages_command" >&2
        exit 1
    }
    packages_missing=
}
