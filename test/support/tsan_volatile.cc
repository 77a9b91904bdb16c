// What ThreadSanitizer is told about simulated kernel pages: nothing.
//
// Reading a vvar page is a data race by the letter of C++, here and with the real kernel. It is
// right because the page's words are volatile and aligned, and because x86 shows stores and loads
// in their order. A build for ThreadSanitizer has the compiler tell volatile accesses apart
// (test/core/discover/meson.build), and they call these functions instead of the checker's. So
// ThreadSanitizer checks all other memory, and proves nothing about the sequence protocol: that is
// for the tests that bracket every value. Without ThreadSanitizer this file is empty.
#if defined(__SANITIZE_THREAD__)
#define VVARCLOCK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VVARCLOCK_THREAD_SANITIZER 1
#endif
#endif

#ifdef VVARCLOCK_THREAD_SANITIZER
// The names are the compilers' own.
extern "C" {
void __tsan_volatile_read1(void*) {}
void __tsan_volatile_read2(void*) {}
void __tsan_volatile_read4(void*) {}
void __tsan_volatile_read8(void*) {}
void __tsan_volatile_read16(void*) {}
void __tsan_volatile_write1(void*) {}
void __tsan_volatile_write2(void*) {}
void __tsan_volatile_write4(void*) {}
void __tsan_volatile_write8(void*) {}
void __tsan_volatile_write16(void*) {}
}
#endif
