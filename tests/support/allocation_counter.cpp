#include "tests/support/allocation_counter.hpp"

#include <cstdlib>
#include <new>

#include "tests/support/vulkan_faults.hpp"

namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

namespace lanewise::test {

std::uint64_t allocations_of_this_thread() { return allocations; }

#if defined(__SANITIZE_ADDRESS__)
bool counts_allocations() { return false; }
#else
bool counts_allocations() { return true; }
#endif

}  // namespace lanewise::test

#if !defined(__SANITIZE_ADDRESS__)
void* operator new(std::size_t bytes) {
    if (!lanewise::test::VulkanFaults::inside_driver()) ++allocations;
    if (void* memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
