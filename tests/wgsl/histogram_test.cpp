// histogram in WGSL, in the simulator: every strategy that WGSL has, sample and kind of bins, with
// the counts that the kernels in GLSL give.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "lanewise/histogram.hpp"
#include "primitives/histogram/histogram_reference.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

constexpr HistogramStrategy kStrategies[] = {
    HistogramStrategy::one_workgroup, HistogramStrategy::two_pass, HistogramStrategy::global};

void expect_right(const Machine& machine, HistogramDesc desc, std::size_t count, std::uint64_t seed,
                  const WgslRun& run = {}) {
    const Caps caps = webgpu_caps(machine.subgroup_size);
    const auto plan = plan_histogram(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    Elements samples(desc.sample, count * desc.channels);
    for (std::size_t i = 0; i < samples.count(); ++i) {
        const std::uint64_t h = hash(seed, i);
        // Small numbers, too, of either sign.
        const auto small = static_cast<double>(h >> 8 & 0xff) / 64 - 1;
        const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(small * 64));
        const std::uint64_t near = is_float(desc.sample) ? float_bits(desc.sample, small) : number;
        samples.set(i, h % 4 == 0 ? h >> 16 : near);
    }
    const auto output = run_plan(machine, caps, *plan, samples.bytes(), run);
    ASSERT_TRUE(output);
    std::vector<std::uint32_t> counts(output->size() / 4);
    std::memcpy(counts.data(), output->data(), output->size());
    std::string why;
    ASSERT_TRUE(histogram_matches(desc, samples.bytes(), counts, &why))
        << to_text(machine) << "\n"
        << to_text(*plan) << count << " items: " << why;
}

class WgslHistogram : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
};

TEST_P(WgslHistogram, SamplesAndBins) {
    std::uint64_t seed = 1;
    const auto machines = wgsl_machines(GetParam());
    for (const HistogramStrategy strategy : kStrategies) {
        for (const Scalar sample : {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::f16,
                                    Scalar::u32, Scalar::i32, Scalar::f32}) {
            ++seed;
            HistogramDesc desc{.sample = sample,
                               .channels = static_cast<std::uint32_t>(seed % 4 + 1),
                               .bins = seed % 3 == 0 ? 16u : 23u};
            if (is_float(sample)) {
                desc.range = seed % 2 == 0 ? HistogramRange{-0.7, 1.9} : HistogramRange{-1, 1};
            } else if (seed % 2 == 0) {
                desc.range = HistogramRange{3, 120};
            }
            desc.policy = HistogramPolicy{strategy, 16, 1, seed % 2 == 0 ? 4u : 1u, 3};
            desc.max_count = 1000;
            for (const std::size_t count : {std::size_t{1}, std::size_t{777}}) {
                expect_right(machines[seed % machines.size()], desc, count, seed, {.uses = 2});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslHistogram, CountInBuffer) {
    for (const HistogramStrategy strategy : kStrategies) {
        HistogramDesc desc{.channels = 3, .bins = 256, .max_count = 900};
        desc.policy = HistogramPolicy{strategy, 32, 2, 2, 4};
        for (const std::size_t count : {0u, 1u, 899u}) {
            expect_right(wgsl_machines(GetParam())[1], desc, count, count,
                         {.count_in_buffer = true, .uses = 2, .earlier_counts = {9}});
            if (HasFailure()) return;
        }
    }
}

// No subgroup operation is in them: one size is as good as any.
INSTANTIATE_TEST_SUITE_P(Sizes, WgslHistogram, testing::Values(32u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
