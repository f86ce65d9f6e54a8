// Counts what this thread allocates with operator new.
#pragma once

#include <cstdint>

namespace lanewise::test {

// Allocations of this thread outside of drivers and layers so far. Does not count in a sanitized
// build, whose operator new stays the sanitizer's: counts_allocations() tells.
std::uint64_t allocations_of_this_thread();
bool counts_allocations();

}  // namespace lanewise::test
