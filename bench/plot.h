// The figures as a picture: bars for every call, curves for the tail, bars for threads.
#pragma once

#include <string>

#include "bench/results.h"

namespace vvarclock::bench {

// A gnuplot program that draws into the file, as SVG. Pure.
std::string gnuplot_program(const Results& results, const std::string& file);

bool has_gnuplot();
// False: gnuplot failed, and said why on standard error.
bool run_gnuplot(const std::string& program);

}  // namespace vvarclock::bench
