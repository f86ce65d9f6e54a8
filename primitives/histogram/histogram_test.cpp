// histogram on a device: the conformance matrix (every strategy, tier, addressing, sample, number
// of channels and range, at sizes where such kernels break), then what the header promises of bins,
// of floats, of empty inputs and of many uses. The passes are histogram_zeros and histogram_tiles.
#include "lanewise/histogram.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/histogram/histogram_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

using Counts = std::vector<std::uint32_t>;

constexpr Scalar kSamples[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32};
constexpr std::uint32_t kChannels[] = {1, 2, 3, 4};
constexpr HistogramStrategy kStrategies[] = {
    HistogramStrategy::one_workgroup, HistogramStrategy::last_workgroup,
    HistogramStrategy::two_pass, HistogramStrategy::global};

struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t vectors;
    std::uint32_t copies;
    std::uint32_t max_groups;
};
constexpr TinyPolicy kPolicies[] = {{16, 1, 4, 3}, {32, 2, 1, 2}, {64, 1, 32, 3}, {4, 1, 8, 5}};

// Which bins.
enum class Bins : std::uint8_t {
    even,    // a shift makes them; of integers all values
    uneven,  // a product does
    many,    // more than there are values, or nearly
    wide,    // a product that is corrected; of floats far apart
};
constexpr Bins kBins[] = {Bins::even, Bins::uneven, Bins::many, Bins::wide};
const char* to_text(Bins bins) {
    constexpr const char* kTexts[] = {"even", "uneven", "many", "wide"};
    return kTexts[static_cast<std::size_t>(bins)];
}

// Sets bins and range.
void set_bins(HistogramDesc& desc, Bins bins) {
    const bool floats = is_float(desc.sample);
    switch (bins) {
        case Bins::even:
            desc.bins = 16;
            if (floats) desc.range = HistogramRange{-1.0, 1.0};
            break;
        case Bins::uneven:
            desc.bins = 7;
            desc.range = floats ? HistogramRange{-0.3, 2.7} : HistogramRange{3, 103};
            break;
        case Bins::many:
            desc.bins = 300;
            desc.range = floats ? HistogramRange{0.0, 1.0 / 3.0} : HistogramRange{0, 127};
            break;
        case Bins::wide:
            desc.bins = 11;
            desc.range = floats                       ? HistogramRange{-1e30, 2.5e30}
                         : desc.sample == Scalar::u32 ? HistogramRange{5, 4294967295.0}
                                                      : HistogramRange{-2147483647.0, 2147483646.0};
            break;
    }
}

enum class Data : std::uint8_t { hashed, one_bin };
constexpr Data kData[] = {Data::hashed, Data::one_bin};

std::uint64_t bits_of_float(Scalar sample, double value) {
    if (sample == Scalar::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return std::fabs(value) < 65504 ? float_bits(sample, value) : infinity_bits(sample, value < 0);
}

// A number in the range, with a fraction of it behind which it lies.
std::uint64_t inside(const HistogramDesc& desc, const HistogramRange& range, double fraction) {
    const double value = range.lower + fraction * (range.upper - range.lower);
    if (is_float(desc.sample)) return bits_of_float(desc.sample, value);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(value)));
}

HistogramRange range_of(const HistogramDesc& desc) {
    const auto range = histogram_reference_detail::Range::of(desc);
    return {range.lower, range.upper};
}

// Of hashed data a half lies in the range, and of the rest a part where that ends; floats have all
// that is no number, too.
Elements make_samples(const HistogramDesc& desc, std::size_t count, std::uint64_t seed, Data data) {
    Elements samples(desc.sample, count);
    const HistogramRange range = range_of(desc);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t h = hash(seed, i);
        std::uint64_t bits = h >> 8;
        if (data == Data::one_bin) {
            bits = inside(desc, range, 0.5);
        } else if (h % 8 < 4) {
            bits = inside(desc, range, static_cast<double>(h >> 40) * 0x1p-24);
        } else if (h % 8 == 4) {
            bits = inside(desc, range, static_cast<double>(h >> 8 & 1)) + (h >> 9) % 3 - 1;
        } else if (h % 8 == 5 && is_float(desc.sample)) {
            const std::uint64_t special[] = {nan_bits(desc.sample),
                                             infinity_bits(desc.sample, false),
                                             infinity_bits(desc.sample, true),
                                             0,
                                             std::uint64_t{1} << (8 * size_of(desc.sample) - 1),
                                             1};
            bits = special[(h >> 8) % std::size(special)];
        }
        samples.set(i, bits);
    }
    return samples;
}

struct Row {
    Scalar sample = Scalar::u8;
    std::uint32_t channels = 1;
    HistogramStrategy strategy = HistogramStrategy::two_pass;
    Tier tier = Tier::barrier;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};
    Bins bins = Bins::even;
    Data data = Data::hashed;

    HistogramDesc desc(std::uint64_t max_count) const {
        HistogramDesc made{
            .sample = sample,
            .channels = channels,
            .max_count = max_count,
            .tier = tier,
            .addressing = addressing,
            .policy = HistogramPolicy{strategy, policy.workgroup_size, policy.vectors,
                                      policy.copies, policy.max_groups}};
        set_bins(made, bins);
        return made;
    }
    std::string name() const {
        return fmt::format("{}x{}_{}_{}_{}_w{}v{}c{}g{}_{}{}", lanewise::to_text(sample), channels,
                           lanewise::to_text(strategy), lanewise::to_text(tier),
                           lanewise::to_text(addressing), policy.workgroup_size, policy.vectors,
                           policy.copies, policy.max_groups, test::to_text(bins),
                           data == Data::one_bin ? "_one_bin" : "");
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

bool possible(const Caps& caps, HistogramStrategy strategy) {
    return strategy != HistogramStrategy::last_workgroup || caps.device_scope_barrier;
}

bool possible(const Caps& caps, const Row& row) {
    if (!lacking(caps, row.tier).empty() || !possible(caps, row.strategy)) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    const HistogramDesc desc = row.desc(1);
    const std::uint32_t words = desc.channels * desc.bins * row.policy.copies + 1;
    return 4 * words <= caps.limits.max_workgroup_memory ||
           row.strategy == HistogramStrategy::global;
}

const std::vector<std::size_t> kSizes = {
    std::size(kSamples),  std::size(kChannels), std::size(kStrategies), std::size(kTiers), 2,
    std::size(kPolicies), std::size(kBins),     std::size(kData)};

Row row_of(const Choice& choice) {
    return {kSamples[choice[0]],
            kChannels[choice[1]],
            kStrategies[choice[2]],
            kTiers[choice[3]],
            choice[4] == 0 ? Addressing::descriptor : Addressing::device_address,
            kPolicies[choice[5]],
            kBins[choice[6]],
            kData[choice[7]]};
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<Choice> choices = pairwise_choices(kSizes, can);
    // Each row is pipelines of its own, which drivers take long to compile.
    const bool simulated = TestDevice::shared().is_simulated();
    const std::size_t step = test_all() || simulated ? 1 : 5;
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// Runs a histogram with all that PlanRunner checks; samples past the end would be counted.
class HistogramRunner {
public:
    HistogramRunner(TestDevice& device, const HistogramDesc& desc) : desc_(desc) {
        auto plan = plan_histogram(device.caps(), desc);
        if (!plan) {
            ADD_FAILURE() << "no plan: " << plan.error().message;
            return;
        }
        EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier)) << "not the tier that was asked for";
        runner_.emplace(device, *std::move(plan));
    }
    explicit operator bool() const { return runner_ && *runner_; }
    const Plan& plan() const { return runner_->plan(); }

    // `samples` are whole items.
    Counts run(std::span<const std::byte> samples, const RunOptions& options = {}) {
        if (!*this) return {};
        const std::uint64_t count = samples.size() / plan().element_bytes;
        const std::size_t size = size_of(desc_.sample);
        std::vector<std::byte> contents(samples.begin(), samples.end());
        const std::size_t bound = runner_->bound_bytes(Role::input, count, options.count_in_buffer);
        const std::uint64_t hostile = inside(desc_, range_of(desc_), 0.5);
        while (contents.size() < bound) {
            for (std::size_t byte = 0; byte < size; ++byte)
                contents.push_back(static_cast<std::byte>(hostile >> (8 * byte)));
        }
        contents.resize(std::max(bound, samples.size()));
        const std::vector<std::byte> output = runner_->run(contents, count, options);
        Counts counts(output.size() / 4);
        if (!counts.empty()) std::memcpy(counts.data(), output.data(), output.size());
        return counts;
    }
    void expect_right(std::span<const std::byte> samples, const RunOptions& options = {}) {
        const Counts counts = run(samples, options);
        if (::testing::Test::HasFatalFailure()) return;
        std::string why;
        EXPECT_TRUE(histogram_matches(desc_, samples, counts, &why))
            << samples.size() / plan().element_bytes << " items: " << why << "\n"
            << lanewise::to_text(plan());
    }

private:
    HistogramDesc desc_;
    std::optional<PlanRunner> runner_;
};

class HistogramMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(HistogramMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    HistogramDesc desc = row.desc(1);
    const auto any = plan_histogram(device().caps(), desc);
    ASSERT_TRUE(any) << any.error().message;
    const std::uint64_t tile = any->share.tile_items;
    const std::uint64_t full = tile * any->share.max_groups;
    const std::set<std::uint64_t> sizes{0, 1, 2, tile - 1, tile, tile + 1, full + tile / 2 + 3};
    desc.max_count = *sizes.rbegin();
    HistogramRunner runner(device(), desc);
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));
    std::size_t turn = 0;
    for (const std::uint64_t count : sizes) {
        for (const bool in_buffer : {false, true}) {
            // Sizes take one of the two; the largest takes both.
            if (count != desc.max_count && (turn++ + seed) % 2 == 0) continue;
            SCOPED_TRACE(fmt::format("{} items, count {}", count,
                                     in_buffer ? "in a buffer" : "on the host"));
            RunOptions options{.count_in_buffer = in_buffer, .timestamps = turn % 2 == 0};
            // Above the maximum means the maximum.
            if (in_buffer && count == desc.max_count) options.count_value = 0xffffffff;
            runner.expect_right(
                make_samples(desc, count * row.channels, seed + turn, row.data).bytes(), options);
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Histogram, HistogramMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

class HistogramTest : public TierTest {
protected:
    void SetUp() override {
        TierTest::SetUp();
        claim(Tier::barrier);
    }
    // The strategies here, but for one_workgroup, which needs no other workgroup.
    static std::vector<HistogramStrategy> strategies() {
        std::vector<HistogramStrategy> some;
        for (const HistogramStrategy strategy : kStrategies) {
            if (strategy != HistogramStrategy::one_workgroup && possible(device().caps(), strategy))
                some.push_back(strategy);
        }
        return some;
    }
    static HistogramPolicy tiny(HistogramStrategy strategy) { return {strategy, 16, 1, 4, 3}; }

    template <class T>
    static Counts counted(Scalar sample, double lower, double upper, std::uint32_t bins,
                          const std::vector<T>& samples) {
        const HistogramDesc desc{.sample = sample,
                                 .bins = bins,
                                 .range = HistogramRange{lower, upper},
                                 .max_count = samples.size(),
                                 .policy = tiny(HistogramStrategy::two_pass)};
        HistogramRunner runner(device(), desc);
        return runner.run(std::as_bytes(std::span(samples)));
    }
};

// Answers that other libraries got wrong (their ranges are not divisible by their bins, or a
// product overflowed).
TEST_F(HistogramTest, EvenWidths) {
    std::vector<std::uint32_t> ten(10);
    for (std::uint32_t x = 0; x < 10; ++x) ten[x] = x;
    EXPECT_EQ(counted(Scalar::u32, 0, 10, 3, ten), (Counts{4, 3, 3}));
    std::vector<std::int32_t> some;
    for (std::int32_t x = -5; x < 9; ++x) some.push_back(x);
    EXPECT_EQ(counted(Scalar::i32, -4, 7, 5, some), (Counts{3, 2, 2, 2, 2}));
    EXPECT_EQ(counted<std::int16_t>(Scalar::i16, -32768, 32767, 4,
                                    {-32768, -32767, -8192, -1, 0, 1, 8191, 8192, 32766, 32767}),
              (Counts{2, 2, 4, 1}));
    EXPECT_EQ(counted<std::int32_t>(Scalar::i32, -1.5e9, 1.5e9, 3,
                                    {-1500000000, -1, 0, 1, 1499999999, 1500000000, -1500000001}),
              (Counts{1, 3, 1}));
    // More bins than a sample has values.
    const Counts many = counted<std::uint8_t>(Scalar::u8, 0, 256, 1000, {0, 1, 128, 255, 255});
    ASSERT_EQ(many.size(), 1000u);
    EXPECT_EQ(many[0], 1u);
    EXPECT_EQ(many[3], 1u);
    EXPECT_EQ(many[500], 1u);
    EXPECT_EQ(many[996], 2u);
}

TEST_F(HistogramTest, WhatIsNoNumberIsDropped) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> samples{-0.0f,   0.0f,       0.1f,       0.3f,  0.7f,
                                     1.0f,    0.9999999f, nan,        -nan,  kInfinity,
                                     -1e-40f, 1e-40f,     -kInfinity, 3e38f, -3e38f};
    EXPECT_EQ(counted(Scalar::f32, 0, 1, 10, samples), (Counts{3, 1, 0, 1, 0, 0, 1, 0, 0, 1}));
    const float most = std::numeric_limits<float>::max();
    EXPECT_EQ(counted(Scalar::f32, -most, most, 2,
                      std::vector<float>{most, -most, nan, kInfinity, -kInfinity, -1.0f, 1e-45f}),
              (Counts{2, 1}));
    EXPECT_EQ(counted(Scalar::f32, -1, 1, 4, std::vector<float>(77, nan)), (Counts{0, 0, 0, 0}));
    // A range of one number, which has 31 bits of zeros behind it in units.
    const std::vector<float> neighbours{1.0f, 0x1.000002p+0f, 0x1.000004p+0f};
    EXPECT_EQ(counted(Scalar::f32, 0x1.000002p+0, 0x1.000004p+0, 4, neighbours),
              (Counts{1, 0, 0, 0}));
}

TEST_F(HistogramTest, EmptyInputWritesZeros) {
    for (const HistogramStrategy strategy : kStrategies) {
        if (!possible(device().caps(), strategy)) continue;
        SCOPED_TRACE(to_text(strategy));
        const HistogramDesc desc{
            .channels = 2, .bins = 16, .max_count = 1000, .policy = tiny(strategy)};
        HistogramRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        EXPECT_EQ(runner.run({}), Counts(32));
        EXPECT_EQ(runner.run({}, {.count_in_buffer = true}), Counts(32));
    }
}

// Every counter of a workgroup, and every word of what they add up to, is wanted at once.
TEST_F(HistogramTest, AllInOneBin) {
    const std::size_t count = device().is_simulated() ? 5000 : 100000;
    for (const HistogramStrategy strategy : strategies()) {
        SCOPED_TRACE(to_text(strategy));
        const HistogramDesc desc{.max_count = count,
                                 .policy = HistogramPolicy{strategy, 64, 1, 2, 5}};
        HistogramRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::uint8_t value : std::vector<std::uint8_t>{0, 7, 255}) {
            Counts expected(256);
            expected[value] = static_cast<std::uint32_t>(count);
            const std::vector<std::uint8_t> samples(count, value);
            EXPECT_EQ(runner.run(std::as_bytes(std::span(samples))), expected);
        }
    }
}

// Sizes up and down, of one executable.
TEST_F(HistogramTest, SizesUpAndDown) {
    for (const HistogramStrategy strategy : strategies()) {
        SCOPED_TRACE(to_text(strategy));
        const HistogramDesc desc{
            .channels = 4, .bins = 16, .max_count = 1000, .policy = tiny(strategy)};
        HistogramRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::size_t count : {1000u, 3u, 999u, 0u, 256u, 63u, 64u, 65u, 500u})
            runner.expect_right(make_samples(desc, 4 * count, count, Data::hashed).bytes());
    }
}

// Uses of one binding, whose state each leaves for the next.
TEST_F(HistogramTest, ManyUses) {
    for (const HistogramStrategy strategy : strategies()) {
        SCOPED_TRACE(to_text(strategy));
        const std::size_t count = 700;
        const HistogramDesc desc{.bins = 16, .max_count = count, .policy = tiny(strategy)};
        const auto plan = plan_histogram(device().caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const PlainUse memory = make_plain_use(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan), std::uint64_t{count});
        ASSERT_TRUE(use) << use.error().message;
        for (std::uint64_t run = 0; run < 100; ++run) {
            const Elements samples = make_samples(desc, count, run, Data::hashed);
            ASSERT_TRUE(memory.input->write(0, samples.bytes()));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(Tier::barrier);
            Counts counts(desc.bins);
            ASSERT_TRUE(memory.output->read(0, std::as_writable_bytes(std::span(counts))));
            std::string why;
            ASSERT_TRUE(histogram_matches(desc, samples.bytes(), counts, &why))
                << "run " << run << ": " << why;
        }
    }
}

// Fewer workgroups than tiles, however few the device allows.
TEST_F(HistogramTest, FakeLimits) {
    Caps caps = device().caps();
    caps.limits.max_groups_x = 2;
    caps.limits.max_workgroup_invocations = std::min(caps.limits.max_workgroup_invocations, 32u);
    caps.limits.max_workgroup_memory = 1024;
    const HistogramDesc desc{.sample = Scalar::u16, .bins = 200, .max_count = 3000};
    const auto plan = plan_histogram(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_LE(plan->passes.back().workgroup_memory, 1024u);
    EXPECT_LE(plan->share.max_groups, 2u);
    PlanRunner runner(device(), *plan);
    ASSERT_TRUE(runner);
    const Elements samples = make_samples(desc, 3000, 1, Data::hashed);
    const std::vector<std::byte> output = runner.run(samples.bytes(), 3000);
    Counts counts(output.size() / 4);
    std::memcpy(counts.data(), output.data(), output.size());
    std::string why;
    EXPECT_TRUE(histogram_matches(desc, samples.bytes(), counts, &why)) << why;
}

// What a caller gets who says no more than what to count.
TEST_F(HistogramTest, DefaultPolicies) {
    const std::size_t count = device().is_simulated() ? 3000 : 300000;
    HistogramDesc rows[] = {{}, {.channels = 4}, {.sample = Scalar::f32, .bins = 30000}};
    for (HistogramDesc& desc : rows) {
        if (is_float(desc.sample)) desc.range = HistogramRange{-2.0, 3.0};
        desc.max_count = count / desc.channels / size_of(desc.sample);
        SCOPED_TRACE(
            fmt::format("{} bins of {} x {}", desc.bins, desc.channels, to_text(desc.sample)));
        HistogramRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        runner.expect_right(
            make_samples(desc, desc.max_count * desc.channels, 5, Data::hashed).bytes());
    }
}

}  // namespace
}  // namespace lanewise::test
