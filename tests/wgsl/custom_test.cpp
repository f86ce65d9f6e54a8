// Custom operators in WGSL, in the simulator, against what the CPU makes of the same data.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;
using Words = std::vector<std::uint32_t>;

// An operator, and the same on the CPU: words of a Value from an item's bytes, of both, of a
// Result.
struct Case {
    CustomOperator custom;
    Words (*load)(const std::byte* item, std::uint32_t index);
    Words (*combine)(const Words& a, const Words& b);
    Words (*store)(const Words& a);
    std::vector<std::byte> (*data)(std::size_t count);
};

std::uint32_t word_at(const std::byte* at) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, 4);
    return word;
}

Words same(const Words& a) { return a; }

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

template <std::size_t kBytes>
std::vector<std::byte> random_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count * kBytes);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(hash(kBytes, i));
    return bytes;
}

// Shears, of rows and of columns: products never vanish, as those of random matrices do in 32 bits.
std::vector<std::byte> random_shears(std::size_t count) {
    Words words;
    for (std::size_t i = 0; i < count; ++i) {
        const auto by = static_cast<std::uint32_t>(hash(5, i));
        const bool rows = hash(6, i) % 2 == 0;
        words.insert(words.end(), {1, rows ? by : 0, rows ? 0 : by, 1});
    }
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> random_points(std::size_t count) {
    std::vector<float> numbers(3 * count);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(hash(3, i) % 2001) - 1000.0f;
    const auto bytes = std::as_bytes(std::span(numbers));
    return {bytes.begin(), bytes.end()};
}

// Not commutative; 16 bytes: an element is a vector.
const Case kMatrices{
    .custom = {.name = "matrices",
               .element = {{Scalar::u32, 2, "r0"}, {Scalar::u32, 2, "r1"}},
               .combine = "Value(a.r0.x * b.r0 + a.r0.y * b.r1, a.r1.x * b.r0 + a.r1.y * b.r1)"},
    .load =
        [](const std::byte* item, std::uint32_t) {
            return Words{word_at(item), word_at(item + 4), word_at(item + 8), word_at(item + 12)};
        },
    .combine =
        [](const Words& a, const Words& b) {
            return Words{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        },
    .store = same,
    .data = random_shears};

// Commutative; 12 bytes: read by words, and written by words in scans.
const Case kBox{.custom = {.name = "bounding_box",
                           .element = {{Scalar::f32, 3}},
                           .value = {{Scalar::f32, 3, "low"}, {Scalar::f32, 3, "high"}},
                           .load = "Value(x, x)",
                           .combine = "Value(min(a.low, b.low), max(a.high, b.high))",
                           .commutative = true,
                           .result = {{Scalar::f32, 3}},
                           .store = "return a.high - a.low;"},
                .load =
                    [](const std::byte* item, std::uint32_t) {
                        return Words{word_at(item), word_at(item + 4), word_at(item + 8),
                                     word_at(item), word_at(item + 4), word_at(item + 8)};
                    },
                .combine =
                    [](const Words& a, const Words& b) {
                        Words both(6);
                        for (std::size_t i = 0; i < 3; ++i) {
                            both[i] = as_bits(std::min(as_float(a[i]), as_float(b[i])));
                            both[i + 3] = as_bits(std::max(as_float(a[i + 3]), as_float(b[i + 3])));
                        }
                        return both;
                    },
                .store =
                    [](const Words& a) {
                        Words size(3);
                        for (std::size_t i = 0; i < 3; ++i)
                            size[i] = as_bits(as_float(a[i + 3]) - as_float(a[i]));
                        return size;
                    },
                .data = random_points};

// One byte: sixteen share a vector; the index counts.
const Case kBytes{.custom = {.name = "weighted",
                             .element = {{Scalar::i8}},
                             .load = "x * i32(index + 1u)",
                             .combine = "a + b",
                             .commutative = true},
                  .load =
                      [](const std::byte* item, std::uint32_t index) {
                          const auto x =
                              static_cast<std::int32_t>(std::to_integer<std::int8_t>(*item));
                          return Words{static_cast<std::uint32_t>(x) * (index + 1)};
                      },
                  .combine = [](const Words& a, const Words& b) { return Words{a[0] + b[0]}; },
                  .store = same,
                  .data = random_bytes<1>};

// 32 bytes: two vectors each; the last item counts.
const Case kLong{
    .custom = {.name = "last",
               .element = {{Scalar::u32, 4, "first"},
                           {Scalar::u16, 4, "second"},
                           {Scalar::u32, 2, "third"}},
               .value = {{Scalar::u32, 1, "x"}, {Scalar::u32, 1, "y"}},
               .load = "Value(x.first.w + x.second.y, x.third.y)",
               .combine = "b"},
    .load =
        [](const std::byte* item, std::uint32_t) {
            return Words{word_at(item + 12) + (word_at(item + 16) >> 16), word_at(item + 28)};
        },
    .combine = [](const Words&, const Words& b) { return b; },
    .store = same,
    .data = random_bytes<32>};

const Case* const kCases[] = {&kMatrices, &kBox, &kBytes, &kLong};

// The scan's outputs, inclusive and forward; the last is the reduction.
std::vector<Words> expected_of(const Case& test, std::span<const std::byte> data) {
    const std::size_t bytes = bytes_of(test.custom.element);
    std::vector<Words> outputs;
    Words value;
    for (std::size_t i = 0; i < data.size() / bytes; ++i) {
        const Words next = test.load(data.data() + i * bytes, static_cast<std::uint32_t>(i));
        value = i == 0 ? next : test.combine(value, next);
        outputs.push_back(test.store(value));
    }
    return outputs;
}

Words words_of(std::span<const std::byte> bytes) {
    Words words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

class WgslCustom : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t size() const { return GetParam(); }
    std::uint32_t workgroup_size() const { return std::max(32u, size()); }
};

TEST_P(WgslCustom, Reduce) {
    const auto machines = wgsl_machines(size());
    std::size_t number = 0;
    for (const Case* test : kCases) {
        for (const Tier tier : {Tier::portable, Tier::barrier}) {
            for (const ReduceStrategy strategy :
                 {ReduceStrategy::one_workgroup, ReduceStrategy::two_pass}) {
                const Machine& machine = machines[number++ % machines.size()];
                const Caps caps = webgpu_caps(size());
                ReduceDesc desc{.custom = test->custom, .max_count = 5000, .tier = tier};
                desc.policy = ReducePolicy{.strategy = strategy,
                                           .workgroup_size = workgroup_size(),
                                           .vectors = 2,
                                           .max_groups = 100};
                const auto plan = plan_reduce(caps, desc);
                ASSERT_TRUE(plan) << plan.error().message;
                for (const std::size_t count : {0, 1, 5, 331, 2999}) {
                    const auto data = test->data(count);
                    const auto output = run_plan(machine, caps, *plan, data);
                    ASSERT_TRUE(output);
                    const Words expected =
                        count == 0 ? Words(output->size() / 4) : expected_of(*test, data).back();
                    ASSERT_EQ(words_of(*output), expected) << count << " items\n"
                                                           << to_text(machine) << "\n"
                                                           << to_text(*plan);
                }
            }
        }
    }
}

TEST_P(WgslCustom, Scan) {
    const auto machines = wgsl_machines(size());
    std::size_t number = 0;
    for (const Case* test : kCases) {
        for (const Tier tier : {Tier::portable, Tier::barrier}) {
            for (const ScanStrategy strategy :
                 {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                  ScanStrategy::look_back}) {
                const Machine& machine = machines[number++ % machines.size()];
                const Caps caps = webgpu_caps(size());
                ScanDesc desc{.custom = test->custom, .max_count = 5000, .tier = tier};
                desc.determinism = Determinism::unordered;
                desc.policy = ScanPolicy{.strategy = strategy,
                                         .workgroup_size = workgroup_size(),
                                         .vectors = 2,
                                         .max_groups = 500,
                                         .patience = 16};
                // A look back in two parts, with a tile that is summed again between.
                if (strategy == ScanStrategy::look_back) desc.policy->silent_tile = 3;
                auto plan = plan_scan(caps, desc);
                if (!plan && plan.error().code == ErrorCode::limit_exceeded) {
                    desc.policy->vectors = 1;
                    plan = plan_scan(caps, desc);
                }
                if (!plan && plan.error().code == ErrorCode::limit_exceeded) continue;
                ASSERT_TRUE(plan) << plan.error().message;
                for (const std::size_t count : {1, 5, 331, 1499}) {
                    const auto data = test->data(count);
                    std::vector<bool> ways{false};
                    if (plan->in_place) ways.push_back(true);
                    for (const bool in_place : ways) {
                        const auto output = run_plan(machine, caps, *plan, data,
                                                     {.options = {.in_place = in_place}});
                        ASSERT_TRUE(output);
                        Words expected;
                        for (const Words& one : expected_of(*test, data))
                            expected.insert(expected.end(), one.begin(), one.end());
                        ASSERT_EQ(words_of(*output), expected) << count << " items\n"
                                                               << to_text(machine) << "\n"
                                                               << to_text(*plan);
                    }
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslCustom, testing::Values(4u, 16u, 64u, 128u),
                         testing::PrintToStringParamName());

TEST(WgslCustomTypes, RefusesSixtyFourBits) {
    const Caps caps = simulator::Device::create()->caps();
    const auto plan =
        plan_reduce(caps, {.custom = CustomOperator{.element = {{Scalar::u64}}, .combine = "a + b"},
                           .max_count = 10,
                           .tier = Tier::barrier});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto shader = wgsl::assemble(*plan, plan->passes[1]);
    ASSERT_FALSE(shader);
    EXPECT_EQ(shader.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace lanewise::test
