// The main function of a test executable under Catch2 version 2. Version 3 brings its own, and this
// file is empty then.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
