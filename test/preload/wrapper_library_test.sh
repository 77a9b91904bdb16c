#!/bin/sh
# Guards against: a wrapper that runs the program without the library and lets it pass for with; one that pushes aside what the
# user preloads; one that finds its library only from some folders or under some names.
# shellcheck disable=SC2016,SC2317 # what is in single quotes is for other shells; functions are called by name
set -u
. "$1/test/preload/wrapper_support.sh"

tree=$work/tree
ours=$tree/build/preload/libvvarclock.so

# loads PATH WRAPPER...: yes when a program started so has the library mapped.
loads() {
    loads_path=$1
    shift
    "$@" cat /proc/self/maps >"$work/maps" || return
    # The kernel writes a newline in a path as \012.
    if grep -aFq -- "$(printf '%s' "$loads_path" | awk 'NR > 1 { printf "\\012" } { printf "%s", $0 }')" "$work/maps"; then
        echo yes
    else
        echo no
    fi
}

# LD_PRELOAD.

equal 'LD_PRELOAD holds the absolute path' "$ours" "$(vvarclock printenv LD_PRELOAD)"
equal 'the program has the library' yes "$(loads "$ours" dash "$tree/scripts/vvarclock")"
has 'LD_LIBRARY_PATH is not set without need' "$(vvarclock sh -c 'echo "[${LD_LIBRARY_PATH-unset}]"')" '[unset]'

echo 'int vvarclock_test_other;' | compile "$work/other.so"
echo 'int vvarclock_test_third;' | compile "$work/third.so"
equal 'ours is last, after one that was there' "$work/other.so:$ours" \
    "$(LD_PRELOAD=$work/other.so vvarclock printenv LD_PRELOAD)"
equal 'ours is last, after several, whose separators stay' "$work/other.so $work/third.so:$ours" \
    "$(LD_PRELOAD="$work/other.so $work/third.so" vvarclock printenv LD_PRELOAD)"
equal 'an empty LD_PRELOAD leaves no empty name' "$ours" "$(LD_PRELOAD='' vvarclock printenv LD_PRELOAD)"
equal 'one vvarclock inside another adds nothing' "$work/other.so:$ours" \
    "$(LD_PRELOAD=$work/other.so vvarclock dash "$tree/scripts/vvarclock" printenv LD_PRELOAD)"
equal 'with others the program has the library' yes \
    "$(export LD_PRELOAD="$work/other.so"; loads "$ours" dash "$tree/scripts/vvarclock")"

# What the user preloads keeps the upper hand: it answers time(), which ours exports too.
echo 'long time(long* out) { if (out) *out = 12345; return 12345; }' | compile "$work/faked.so"
equal 'a clock that the user fakes stays faked' 12345 \
    "$(LD_PRELOAD=$work/faked.so vvarclock python3 -c 'import ctypes; print(ctypes.CDLL(None).time(None))')"

# Ways to call the wrapper.

equal 'called by its absolute path' "$ours" "$("$tree/scripts/vvarclock" printenv LD_PRELOAD)"
equal 'called by a relative path' "$ours" "$(cd "$tree/build" && ../scripts/vvarclock printenv LD_PRELOAD)"
equal 'called in its own folder' "$ours" "$(cd "$tree/scripts" && ./vvarclock printenv LD_PRELOAD)"
equal 'called as an argument of sh' "$ours" "$(cd "$tree/scripts" && sh vvarclock printenv LD_PRELOAD)"
equal 'called through PATH' "$ours" "$(PATH=$tree/scripts:$PATH; export PATH; cd / && command vvarclock printenv LD_PRELOAD)"
mkdir "$work/links"
ln -s "$tree/scripts/vvarclock" "$work/links/direct"
ln -s direct "$work/links/twice"
ln -s "$tree/scripts" "$work/links/folder"
equal 'called through a link' "$ours" "$("$work/links/direct" printenv LD_PRELOAD)"
equal 'called through a link to a link' "$ours" "$("$work/links/twice" printenv LD_PRELOAD)"
equal 'called through a linked folder' "$ours" "$("$work/links/folder/vvarclock" printenv LD_PRELOAD)"
equal 'CDPATH does not lead it astray' "$ours" "$(CDPATH=/:/tmp "$tree/scripts/vvarclock" printenv LD_PRELOAD)"

# Paths that the loader takes apart.

spaced="$work/with some  spaces"
make_tree "$spaced" "$library"
try dash "$spaced/scripts/vvarclock" printenv LD_PRELOAD LD_LIBRARY_PATH
equal 'spaces: a bare name, and its folder in LD_LIBRARY_PATH' "libvvarclock.so
$spaced/build/preload" "$out"
equal 'spaces: the program has the library' yes "$(loads "$spaced/build/preload/libvvarclock.so" dash "$spaced/scripts/vvarclock")"
equal 'spaces: an LD_LIBRARY_PATH that was there is kept' "$spaced/build/preload:/nowhere:/else" \
    "$(LD_LIBRARY_PATH=/nowhere:/else dash "$spaced/scripts/vvarclock" printenv LD_LIBRARY_PATH)"
mkdir "$work/decoy"
cp "$work/other.so" "$work/decoy/libvvarclock.so"
equal 'spaces: another library of that name in LD_LIBRARY_PATH is not taken' yes \
    "$(export LD_LIBRARY_PATH="$work/decoy"; loads "$spaced/build/preload/libvvarclock.so" dash "$spaced/scripts/vvarclock")"

for odd in 'semi;colon' 'quote"s'"'" 'star*s?[x]' 'back\slash' 'dollar$x' 'per%cent' 'new
line' '-dash' '#hash' '~tilde' "$(printf 'byte\377\201')" 'tab	tab'; do
    make_tree "$work/$odd" "$library"
    equal "the library is found and loaded in a folder named: $(printf '%s' "$odd" | tr -c '[:print:]' '?' | tr '#' '+')" yes \
        "$(loads "$work/$odd/build/preload/libvvarclock.so" dash "$work/$odd/scripts/vvarclock")"
done

make_tree "$work/a:b" "$library"
refused 'a colon in the path is refused' 'colon' dash "$work/a:b/scripts/vvarclock" touch "$work/ran"
make_tree "$work/a b;c" "$library"
refused 'a space and a semicolon are refused' 'semicolon' dash "$work/a b;c/scripts/vvarclock" touch "$work/ran"

# Libraries that cannot be used.

bad=$work/bad
bad_library=$bad/build/preload/libvvarclock.so
make_tree "$bad"
bad_wrapper() {
    dash "$bad/scripts/vvarclock" "$@"
}
refused 'missing: refused' "$bad_library" bad_wrapper touch "$work/ran"
has 'missing: says how to build it' "$err" 'ninja -C build'

echo 'not a library' >"$bad_library"
refused 'a text file: refused, with what the loader said' 'file too short' bad_wrapper touch "$work/ran"
seq 10000 >"$bad_library"
refused 'a long text file: refused' 'invalid ELF header' bad_wrapper touch "$work/ran"
: >"$bad_library"
refused 'an empty file: refused' 'cannot be loaded' bad_wrapper touch "$work/ran"
# e_ident[4] is the class, 1 = 32 bits; e_machine is at byte 18, 0xb7 = AArch64.
cp "$library" "$bad_library"
printf '\001' | dd of="$bad_library" bs=1 seek=4 conv=notrunc 2>/dev/null
refused 'a library of 32 bits: refused' 'wrong ELF class' bad_wrapper touch "$work/ran"
cp "$library" "$bad_library"
printf '\267' | dd of="$bad_library" bs=1 seek=18 conv=notrunc 2>/dev/null
refused 'a library of another machine: refused' 'cannot be loaded' bad_wrapper touch "$work/ran"
head -c 2000 "$library" >"$bad_library"
refused 'a library cut short: refused' 'cannot be loaded' bad_wrapper touch "$work/ran"
rm "$bad_library"
mkdir "$bad_library"
refused 'a folder: refused' 'cannot be loaded' bad_wrapper touch "$work/ran"
rmdir "$bad_library"
echo 'int vvarclock_test_needed;' | compile "$work/libneeded.so"
echo '' | compile "$bad_library" -Wl,--no-as-needed "$work/libneeded.so"
rm "$work/libneeded.so"
refused 'a library that needs a missing one: refused' 'libneeded.so' bad_wrapper touch "$work/ran"
echo 'extern int f(void); int g(void) { return f(); }' | compile "$bad_library" -Wl,-z,now
refused 'a library with a name unresolved: refused' 'undefined symbol: f' bad_wrapper touch "$work/ran"
echo '__attribute__((constructor)) static void c(void) { __builtin_trap(); }' | compile "$bad_library"
refused 'a library that ends its host: refused' 'cannot be loaded' bad_wrapper touch "$work/ran"

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    cp "$library" "$bad_library"
    chmod 755 "$work"
    chmod 000 "$bad_library"
    refused 'a library that may not be read: refused' 'cannot be read' \
        setpriv --reuid=65534 --regid=65534 --clear-groups dash "$bad/scripts/vvarclock" touch "$work/ran"
else
    skip 'a library that may not be read: refused' 'needs root and setpriv'
fi

equal 'a loader that was told to talk is not taken for one that refuses' "$ours" \
    "$(LD_DEBUG=libs vvarclock printenv LD_PRELOAD 2>/dev/null)"

# The installed form.

case $(cat "$installed") in
    *"='@"*) point 'the installed wrapper has its values' 1 ;;
    *) point 'the installed wrapper has its values' 0 ;;
esac
mkdir -p "$work/usr/bin" "$work/usr/lib"
cp "$library" "$work/usr/lib/libvvarclock.so"
sed "s|^vvarclock_library=.*|vvarclock_library='$work/usr/lib/libvvarclock.so'|" "$installed" >"$work/usr/bin/vvarclock"
equal 'the installed wrapper takes the library it was told' "$work/usr/lib/libvvarclock.so" \
    "$(dash "$work/usr/bin/vvarclock" printenv LD_PRELOAD)"
rm "$work/usr/lib/libvvarclock.so"
refused 'the installed wrapper refuses when the library is missing' "$work/usr/lib/libvvarclock.so" \
    dash "$work/usr/bin/vvarclock" touch "$work/ran"

finish
