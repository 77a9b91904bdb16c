// What a static libelf needs beside itself, so that the library needs libc alone and runs on an old
// one. Only part of the build when libelf is linked in; all of it is hidden.
//
// First, libelf's error state. Its own keeps the last error in a thread-local variable, which a
// preloaded library must not have (and which its archive cannot put into a shared object). We never
// ask libelf for its last error: none is kept. These definitions must be seen before the archive's:
// the build asks for the first of them by name.
//
// Second, its version check, which is a variable that every process would write once: the only one
// of the library, for which the loader would clear, and so copy, a page. There is one version.
//
// Then, names that libelf's code for files refers to and that came late to glibc. Nothing here
// opens files, so they are not called; they do the right thing all the same.
#include <errno.h>
#include <libelf.h>
#include <sys/stat.h>

#include "arch/x86/raw_syscall.h"

namespace {

int libc_result(long result) noexcept {
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return static_cast<int>(result);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libelf's and glibc's

void __libelf_seterrno(int /*error*/) {}
int elf_errno(void) { return 0; }
const char* elf_errmsg(int /*error*/) { return "unknown"; }

extern const unsigned __libelf_version;  // const, and yet seen from outside
const unsigned __libelf_version = EV_CURRENT;
extern const int __libelf_version_initialized;  // in old releases
const int __libelf_version_initialized = 1;
unsigned elf_version(unsigned version) {
  return version == EV_NONE || version == EV_CURRENT ? EV_CURRENT : EV_NONE;
}

// The names of functions below are given by hand: headers may redirect them (large files, new C).

// Symbols of their own since glibc 2.33; both with 64-bit file sizes, which libelf is built for on
// every machine.
int glue_fstat(int descriptor, struct stat* out) noexcept asm("fstat");
int glue_fstat64(int descriptor, struct stat* out) noexcept asm("fstat64");

int glue_fstat(int descriptor, struct stat* out) noexcept {
  return libc_result(vvarclock::arch::raw_syscall(vvarclock::arch::kFstat, descriptor,
                                                  reinterpret_cast<long>(out)));
}

int glue_fstat64(int descriptor, struct stat* out) noexcept { return glue_fstat(descriptor, out); }

#ifdef __i386__
// A symbol of its own on 32-bit machines since glibc 2.28. Three arguments are all that there are.
int glue_fcntl64(int descriptor, int command, long argument) noexcept asm("fcntl64");

int glue_fcntl64(int descriptor, int command, long argument) noexcept {
  return libc_result(vvarclock::arch::raw_syscall(SYS_fcntl64, descriptor, command, argument));
}
#endif

// glibc 2.38 renamed strtol for callers compiled as new C; binary literals are the difference.
long glue_old_strtol(const char* text, char** end, int base) noexcept asm("strtol");
long glue_new_strtol(const char* text, char** end, int base) noexcept asm("__isoc23_strtol");

long glue_new_strtol(const char* text, char** end, int base) noexcept {
  return glue_old_strtol(text, end, base);
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // extern "C"
