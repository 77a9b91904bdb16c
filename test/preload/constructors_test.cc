// Guards against: a clock that works only between the library's constructor and its destructor.
//
// Libraries that read every clock from their constructors, destructors and exit handlers: one
// linked to the program (whose constructor runs before ours), one preloaded before and after ours,
// one marked to be initialised first of all, one opened and closed at run time; the program's own
// pre-initialisation; and a thread that goes on reading while the process ends. Arguments: the
// preloadable user, the openable user. VVARCLOCK_TEST_LOG set: the run inside an arrangement.
#include <string>
#include <thread>

#include "test/support/clock_calls.h"

// In the two linked libraries.
extern "C" int clock_user_linked();
extern "C" int clock_user_first();

namespace vvarclock::process {
namespace {

void tell(char moment) {
  const std::array<char, 3> mark{'p', moment, '\n'};
  const int log = std::atoi(environment("VVARCLOCK_TEST_LOG", "-1"));
  expect(log < 0 || write(log, mark.data(), mark.size()) == static_cast<ssize_t>(mark.size()),
         "log: %s", std::strerror(errno));
}

void read_all(char moment) {
  expect_all_bracketed("the program's own: ", 5);
  tell(moment);
}

bool is_arranged() { return std::getenv("VVARCLOCK_TEST_LOG") != nullptr; }

// The C library does not know its environment yet.
void pre_initialise(int, char**, char** variables) {
  environ = variables;
  if (is_arranged()) {
    require_library();
    read_all('i');
  }
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const preinit)(int, char**,
                                                                    char**) = &pre_initialise;

void at_exit() { read_all('x'); }

[[gnu::constructor]] void construct() {
  if (is_arranged()) {
    read_all('c');
    std::atexit(&at_exit);
  }
}

[[gnu::destructor]] void destruct() {
  if (is_arranged()) {
    read_all('d');
  }
}

int run_arranged(const char* openable) {
  begin();
  expect(clock_user_linked() == 'l' && clock_user_first() == 'f',
         "the linked libraries are others than expected");
  void* const opened = dlopen(openable, RTLD_NOW);
  expect(opened != nullptr, "%s", dlerror());
  dlclose(opened);
  std::thread([] {
    for (;;) {
      expect_all_bracketed("while the process ends: ", 10);
    }
  }).detach();
  tell('m');
  return 0;
}

std::string read_log(int descriptor) {
  std::string log;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = read(descriptor, part.data(), part.size())) > 0;) {
    log.append(part.data(), static_cast<std::size_t>(got));
  }
  return log;
}

// Runs this program again with `preload`, and expects that each of `marks` was reached.
void arrange(const char* name, const std::string& preload, char** argv,
             std::initializer_list<const char*> marks) {
  std::array<int, 2> log{};
  expect(pipe(log.data()) == 0, "pipe: %s", std::strerror(errno));
  const pid_t child = fork();
  expect(child >= 0, "fork: %s", std::strerror(errno));
  if (child == 0) {
    close(log[0]);
    setenv("LD_PRELOAD", preload.c_str(), 1);
    setenv("VVARCLOCK_TEST_LOG", std::to_string(log[1]).c_str(), 1);
    execve("/proc/self/exe", argv, environ);
    fail("execve: %s", std::strerror(errno));
  }
  close(log[1]);
  const std::string seen = read_log(log[0]);
  close(log[0]);
  expect_passed(wait_for(child), name);
  for (const char* const mark : marks) {
    expect(seen.find(std::string(mark) + '\n') != std::string::npos,
           "%s: %s never ran; what ran: %s", name, mark, seen.c_str());
  }
  note("%s: right", name);
}

}  // namespace
}  // namespace vvarclock::process

int main(int argc, char** argv) {
  using namespace vvarclock::process;
  expect(argc == 3, "usage: constructors_test PRELOADABLE OPENABLE");
  if (is_arranged()) {
    return run_arranged(argv[2]);
  }
  begin();
  const std::string ours = environment("LD_PRELOAD", "");
  const std::string user = argv[1];
  // l: linked, f: linked and initialised first, o: opened, u: preloaded; c, d, x: constructor,
  // destructor, exit handler.
  arrange("ours alone", ours, argv,
          {"pi", "pc", "px", "pd", "pm", "lc", "ld", "lx", "fc", "fd", "fx", "oc", "od", "ox"});
  arrange("a user before ours", user + ":" + ours, argv,
          {"uc", "ud", "ux", "lc", "ld", "lx", "pm"});
  arrange("a user after ours", ours + ":" + user, argv, {"uc", "ud", "ux", "lc", "ld", "lx", "pm"});
  return 0;
}
