# Sourced by the set-up scripts, in the top folder: a 32-bit libelf to link into the library for 32-bit programs. POSIX sh.
#
# Nothing is installed, and the machine's own apt stays as it is: a foreign architecture is a decision for its owner. The package
# is fetched from the machine's own sources and unpacked into build/i386.
# shellcheck shell=sh

libelf_32_home=build/i386

libelf_32_apt() {
    apt-get -qq -o APT::Architecture=i386 -o APT::Architectures=i386 -o Dir::State::Lists="$libelf_32_apt_home/lists" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$libelf_32_apt_home/cache" -o APT::Sandbox::User= "$@"
}

# Prints the folder that holds libelf.a, or nothing and says why.
libelf_32() {
    libelf_32_folder=$PWD/$libelf_32_home/usr/lib/i386-linux-gnu
    for libelf_32_candidate in /usr/lib/i386-linux-gnu "$libelf_32_folder"; do
        if [ -e "$libelf_32_candidate/libelf.a" ]; then
            printf '%s\n' "$libelf_32_candidate"
            return
        fi
    done
    libelf_32_apt_home=$PWD/$libelf_32_home/apt
    mkdir -p "$libelf_32_apt_home/lists/partial" "$libelf_32_apt_home/cache/archives/partial"
    # Sources without that architecture make apt complain; one that has it is enough.
    if command -v apt-get >/dev/null 2>&1 && {
        libelf_32_apt update >&2 || true
        (cd "$libelf_32_home" && libelf_32_apt download libelf-dev && dpkg-deb -x libelf-dev_*_i386.deb .) >&2
    }; then
        printf '%s\n' "$libelf_32_folder"
    else
        echo 'No 32-bit libelf can be had: the library for 32-bit programs is not built.' >&2
    fi
}
