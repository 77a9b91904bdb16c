# Sourced by the set-up scripts, in the top folder: setting up ./build. POSIX sh.
#
# A build folder that exists keeps its settings, but for those named in the call; a new one is a release build.
# shellcheck shell=sh

# set_up_build [MESON-OPTION...]: options of the form -Dname=value. Status 0: `ninja -C build` can follow.
set_up_build() {
    if [ -e build/build.ninja ]; then
        echo 'Using the build folder that exists: build/'
        [ $# -eq 0 ] || meson configure build "$@"
    else
        meson setup build --buildtype=release "$@"
    fi
}
