// A preloaded library that does nothing: what preloading costs by itself. The loader needs one
// symbol to call it a library.
extern "C" [[gnu::visibility("default")]] int vvarclock_empty_preload();
extern "C" int vvarclock_empty_preload() { return 0; }
