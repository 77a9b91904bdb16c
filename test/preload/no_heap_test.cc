// Guards against: a library that makes the host's heap, or maps memory, to attach.
//
// Looks at the break and at the mappings before any library's constructor has run and again in
// main. Links libc alone: libstdc++ takes memory as it starts.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace {

struct Seen {
  void* break_at;
  int mappings;
  bool heap;
  bool library;
};

char text[1 << 16];

Seen look() {
  Seen seen{sbrk(0), 0, false, false};
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  size_t size = 0;
  ssize_t part = 0;
  while (maps >= 0 && size < sizeof text - 1 &&
         (part = read(maps, text + size, sizeof text - 1 - size)) > 0) {
    size += static_cast<size_t>(part);
  }
  close(maps);
  text[size] = '\0';
  for (const char* at = text; (at = strchr(at, '\n')) != nullptr; ++at) {
    ++seen.mappings;
  }
  seen.heap = strstr(text, "[heap]") != nullptr;
  seen.library = strstr(text, "libvvarclock.so") != nullptr;
  return seen;
}

Seen before;

void look_before() { before = look(); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const first)() = &look_before;

int complain(const char* what) {
  fprintf(stderr, "FAIL: %s: break at %p, then %p; %d mappings, then more\n%s", what,
          before.break_at, sbrk(0), before.mappings, text);
  return 1;
}

}  // namespace

int main() {
  const Seen after = look();
  if (!before.library || before.mappings == 0) {
    return complain("the library is not loaded");
  }
  if (after.heap || after.break_at != before.break_at) {
    return complain("attaching made a heap");
  }
  // The table's page, closed, may be a mapping of its own.
  if (after.mappings > before.mappings + 1) {
    return complain("attaching mapped memory");
  }
  printf("%d mappings before attaching, %d after, no heap\n", before.mappings, after.mappings);
  return 0;
}
