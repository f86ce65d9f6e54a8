// The shortest use: Gpu owns a device, uploads, runs, downloads.
#include <cstdint>
#include <cstdio>
#include <lanewise/gpu.hpp>
#include <numeric>
#include <vector>

int main() {
    auto gpu = lanewise::Gpu::create();  // the best device here; a CPU driver if there is no GPU
    if (!gpu) {
        std::fprintf(stderr, "%s\n", gpu.error().message.c_str());
        return 1;
    }
    std::vector<std::uint32_t> values(60'000);
    std::iota(values.begin(), values.end(), 1u);
    const auto sum = gpu->reduce(values);
    if (!sum) {
        std::fprintf(stderr, "%s\n", sum.error().message.c_str());
        return 1;
    }
    std::printf("%s: 1 + 2 + ... + 60000 = %u\n", gpu->info().name.c_str(), *sum);
    return *sum == 1'800'030'000u ? 0 : 1;
}
