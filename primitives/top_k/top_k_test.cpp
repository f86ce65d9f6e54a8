// top_k on a device: the conformance matrix (every tier, strategy, addressing, key, value, order
// and k, at sizes where such kernels break), then what the header promises of ties, of k and of
// what stands behind the results. The passes are top_k_counts, top_k_digit, top_k_sums,
// top_k_offsets and top_k_gather, and those of sort.
#include "lanewise/top_k.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/top_k/top_k_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/sort_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
constexpr SortOrder kOrders[] = {SortOrder::descending, SortOrder::ascending};
// Bytes of a value; 1 stands for indices.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};
constexpr std::uint32_t kIndices = 1;

// How all items are sorted, or what is selected.
enum class Way : std::uint8_t {
    all_by_ranks,
    all_bitonic,
    select_by_ranks,
    select_bitonic,
    select_scatter,
};
constexpr Way kWays[] = {Way::all_by_ranks, Way::all_bitonic, Way::select_by_ranks,
                         Way::select_bitonic, Way::select_scatter};
const char* to_text(Way way) {
    constexpr const char* kTexts[] = {"all_by_ranks", "all_bitonic", "select_by_ranks",
                                      "select_bitonic", "select_scatter"};
    return kTexts[static_cast<std::size_t>(way)];
}
bool selects(Way way) { return way >= Way::select_by_ranks; }
bool sorts_alone(Way way) { return way != Way::select_scatter; }

struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t items;
    std::uint32_t digit_bits;
    std::uint32_t max_groups;
};
constexpr TinyPolicy kPolicies[] = {
    {16, 1, 4, 3}, {32, 3, 8, 5}, {64, 2, 11, 3}, {16, 5, 3, 4}, {32, 4, 7, 7}, {128, 2, 5, 16},
};

// The sort in one workgroup holds 256 items, whatever the selection's tile is.
constexpr std::uint32_t kAlone = 256;

TopKPolicy policy_of(const TinyPolicy& tiny, Way way, Tier tier) {
    TopKPolicy policy{.strategy = selects(way) ? TopKStrategy::select : TopKStrategy::one_workgroup,
                      .workgroup_size = tiny.workgroup_size,
                      .items = tiny.items,
                      .digit_bits = tiny.digit_bits,
                      .max_groups = tiny.max_groups};
    const std::uint32_t bits = std::min(tiny.digit_bits, tier == Tier::barrier ? 4u : 8u);
    if (way == Way::select_scatter) {
        policy.sort = {SortStrategy::count_then_scatter, tiny.workgroup_size, tiny.items, bits,
                       tiny.max_groups};
    } else {
        const bool bitonic = way == Way::all_bitonic || way == Way::select_bitonic;
        policy.sort = {bitonic ? SortStrategy::bitonic : SortStrategy::one_workgroup, 64,
                       kAlone / 64, bits, 1};
    }
    return policy;
}

// Which k, of so many items.
enum class K : std::uint8_t { none, one, few, half, all, more };
constexpr K kKs[] = {K::none, K::one, K::few, K::half, K::all, K::more};

std::uint64_t k_of(K k, std::uint64_t count) {
    switch (k) {
        case K::none: return 0;
        case K::one: return 1;
        case K::few: return 7;
        case K::half: return count / 2;
        case K::all: return count;
        case K::more: return count + 9;
    }
    return 0;
}

struct Row {
    Scalar key = Scalar::u32;
    std::uint32_t values = 0;
    SortOrder order = SortOrder::descending;
    Tier tier = Tier::barrier;
    Way way = Way::select_scatter;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};
    SortData data = SortData::hashed;
    K k = K::few;

    // Items, at most: as many as the sort in one workgroup can hold of what it gets.
    std::uint64_t most() const {
        const std::uint64_t many =
            std::uint64_t{2} * policy.workgroup_size * policy.items * policy.max_groups + 13;
        if (!selects(way)) return kAlone;
        if (!sorts_alone(way)) return many;
        switch (k) {
            case K::half: return std::min<std::uint64_t>(many, 2 * kAlone);
            case K::all:
            case K::more: return kAlone;
            default: return many;
        }
    }
    TopKDesc desc() const {
        return {.key = key,
                .k = k_of(k, most()),
                .order = order,
                .value_bytes = values == kIndices ? 0 : values,
                .indices = values == kIndices,
                .max_count = most(),
                .tier = tier,
                .addressing = addressing,
                .policy = policy_of(policy, way, tier)};
    }
    std::string name() const {
        const std::string what = values == kIndices ? "indices"
                                 : values == 0      ? "alone"
                                                    : fmt::format("with{}", values);
        return fmt::format("{}_{}_{}_{}_{}_{}_w{}x{}d{}g{}_{}_k{}", lanewise::to_text(key), what,
                           lanewise::to_text(order), lanewise::to_text(tier), to_text(way),
                           lanewise::to_text(addressing), policy.workgroup_size, policy.items,
                           policy.digit_bits, policy.max_groups, test::to_text(data),
                           static_cast<int>(k));
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

bool possible(const Caps& caps, const Row& row) {
    if (!lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    // Each digit is pipelines of its own, which drivers take long to compile.
    if (!TestDevice::shared().is_simulated() && !test_all() && size_of(row.key) == 8 &&
        row.policy.digit_bits < 8)
        return false;
    return has_workgroups(caps, row.tier, row.policy.workgroup_size) &&
           has_workgroups(caps, row.tier, 64);
}

const std::vector<std::size_t> kSizes = {
    std::size(kKeys),     std::size(kValues),   std::size(kOrders),
    std::size(kTiers),    std::size(kWays),     2,
    std::size(kPolicies), std::size(kSortData), std::size(kKs)};

Row row_of(const Choice& choice) {
    return {
        kKeys[choice[0]],     kValues[choice[1]],
        kOrders[choice[2]],   kTiers[choice[3]],
        kWays[choice[4]],     choice[5] == 0 ? Addressing::descriptor : Addressing::device_address,
        kPolicies[choice[6]], kSortData[choice[7]],
        kKs[choice[8]]};
}

// One row of how many is taken; drivers compile a dozen pipelines for a row.
std::size_t share_of_rows() {
    if (test_all()) return TestDevice::shared().is_simulated() ? 97 : 397;
    if (!TestDevice::shared().is_simulated()) return 14;
    if (is_sanitized()) return 6;
    return has_small_subgroups() ? 4 : 2;
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<Choice> choices =
        test_all() ? all_choices(kSizes, can) : pairwise_choices(kSizes, can);
    const std::size_t step = share_of_rows();
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// Runs a top_k with all that PlanRunner checks, and items past the end that would come first.
class TopKRunner {
public:
    TopKRunner(TestDevice& device, const TopKDesc& desc) : desc_(desc) {
        auto plan = plan_top_k(device.caps(), desc);
        if (!plan) {
            ADD_FAILURE() << "no plan: " << plan.error().message;
            return;
        }
        EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier)) << "not the tier that was asked for";
        EXPECT_EQ(plan->value_bytes, top_k_value_bytes(desc));
        runner_.emplace(device, *std::move(plan));
    }
    explicit operator bool() const { return runner_ && *runner_; }
    const Plan& plan() const { return runner_->plan(); }

    void expect_right(std::span<const std::byte> keys, std::span<const std::byte> values,
                      const RunOptions& options = {}) {
        if (!*this) return;
        const std::size_t key_bytes = size_of(desc_.key);
        const std::uint64_t count = keys.size() / key_bytes;
        const auto with_more = [&](std::span<const std::byte> given, Role role, std::size_t size,
                                   std::uint64_t hostile) {
            const std::size_t bound = runner_->bound_bytes(role, count, options.count_in_buffer);
            std::vector<std::byte> all(std::max(given.size(), bound));
            std::ranges::copy(given, all.begin());
            for (std::size_t at = given.size(); at < all.size(); at += size)
                std::memcpy(all.data() + at, &hostile,
                            std::min({size, sizeof hostile, all.size() - at}));
            return all;
        };
        const std::uint64_t first = best_key();
        const auto keys_before = with_more(keys, Role::input, key_bytes, first);
        std::vector<std::byte> values_before;
        if (desc_.value_bytes != 0)
            values_before = with_more(values, Role::values, desc_.value_bytes, 0xdeadf00d);
        const RunResult result =
            runner_->run_with_values(keys_before, values_before, count, options);
        if (::testing::Test::HasFatalFailure()) return;
        const std::uint64_t items =
            options.count_in_buffer ? std::min(options.count_value.value_or(count), desc_.max_count)
                                    : count;
        ASSERT_LE(items, count);
        const std::size_t results = static_cast<std::size_t>(std::min(items, desc_.k));
        const auto taken = [&](const std::vector<std::byte>& after, std::size_t size,
                               const char* name) {
            const std::size_t used = results * size;
            if (after.size() < used) {
                ADD_FAILURE() << name << " has " << after.size() << " bytes, not " << used;
                return std::vector<std::byte>();
            }
            const std::vector<std::byte> untouched = poison(after.size());
            EXPECT_TRUE(std::ranges::equal(std::span(after).subspan(used),
                                           std::span(untouched).subspan(used)))
                << name << " is written past " << results << " results";
            return std::vector<std::byte>(after.begin(),
                                          after.begin() + static_cast<std::ptrdiff_t>(used));
        };
        const auto keys_out = taken(result.output, key_bytes, "output");
        const auto values_out = taken(result.values_out, top_k_value_bytes(desc_), "values_out");
        std::string why;
        EXPECT_TRUE(top_k_matches(desc_, keys.first(static_cast<std::size_t>(items) * key_bytes),
                                  values.first(static_cast<std::size_t>(items) * desc_.value_bytes),
                                  keys_out, values_out, &why))
            << why << "\n"
            << lanewise::to_text(plan());
    }

private:
    // The key that comes before all others.
    std::uint64_t best_key() const {
        const std::uint64_t top = std::uint64_t{1} << (8 * size_of(desc_.key) - 1);
        const bool large = desc_.order == SortOrder::descending;
        if (is_float(desc_.key)) return large ? top - 1 : ~std::uint64_t{0};
        if (is_signed_integer(desc_.key)) return large ? top - 1 : top;
        return large ? ~std::uint64_t{0} : 0;
    }

    TopKDesc desc_;
    std::optional<PlanRunner> runner_;
};

SortDesc as_sort(const TopKDesc& desc) {
    return {.key = desc.key, .value_bytes = desc.value_bytes, .order = desc.order};
}

class TopKMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(TopKMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const TopKDesc desc = row.desc();
    TopKRunner runner(device(), desc);
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));
    const std::uint64_t tile = std::uint64_t{row.policy.workgroup_size} * row.policy.items;
    const std::uint64_t full = tile * row.policy.max_groups;
    std::set<std::uint64_t> sizes;
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, desc.k, desc.k + 1,
                                     tile - 1, tile, tile + 1, full, full + 1, row.most()}) {
        if (size <= row.most()) sizes.insert(size);
    }
    std::size_t i = 0;
    for (const std::uint64_t count : sizes) {
        ++i;
        const bool in_buffer = (i + seed) % 2 == 0;
        SCOPED_TRACE(
            fmt::format("{} items, count {}", count, in_buffer ? "in a buffer" : "on the host"));
        const Elements keys = make_sort_keys(as_sort(desc), count, seed + i, row.data);
        const auto values = make_sort_values(as_sort(desc), count, seed + i);
        RunOptions options{.count_in_buffer = in_buffer, .timestamps = i % 4 == 0};
        if (in_buffer && count == row.most()) options.count_value = 0xffffffff;
        runner.expect_right(keys.bytes(), values, options);
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(TopK, TopKMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

class TopKTest : public TierTest {
protected:
    template <class F>
    void for_each_tier_and_way(F&& f) {
        for_each_tier([&](Tier tier) {
            std::size_t i = 0;
            for (const Way way : kWays) {
                // Drivers take long to compile: each has some of them.
                if (!device().is_simulated() && !test_all() && (i++ + device_number()) % 3 != 0)
                    continue;
                SCOPED_TRACE(to_text(way));
                f(tier, way);
            }
        });
    }
    static TopKDesc standard(Tier tier, Way way) {
        // Workgroups that have a whole subgroup.
        const std::uint32_t size = tier == Tier::pinned ? device().caps().subgroup.max_size : 0;
        TinyPolicy tiny = kPolicies[1];
        tiny.workgroup_size = std::max(tiny.workgroup_size, size);
        TopKPolicy policy = policy_of(tiny, way, tier);
        if (sorts_alone(way) && policy.sort.workgroup_size < size) {
            policy.sort.items = kAlone / size;
            policy.sort.workgroup_size = size;
        }
        return {.max_count = selects(way) ? 700u : kAlone, .tier = tier, .policy = policy};
    }
};

// Of equal keys the lowest indices come first, and those alone where not all of them are wanted.
TEST_F(TopKTest, TiesGoToTheLowestIndex) {
    for_each_tier_and_way([&](Tier tier, Way way) {
        TopKDesc desc = standard(tier, way);
        desc.indices = true;
        const std::size_t count = static_cast<std::size_t>(desc.max_count);
        std::vector<std::uint32_t> keys(count, 5);
        for (std::size_t i = 3; i < count; i += 50) keys[i] = 9;
        for (std::size_t i = 4; i < count; i += 7) keys[i] = 2;
        std::size_t turn = static_cast<std::size_t>(way) + static_cast<std::size_t>(tier);
        for (const std::uint64_t k : {1u, 6u, 20u, 100u}) {
            if (!device().is_simulated() && !test_all() && turn++ % 4 != 0) continue;
            desc.k = k;
            SCOPED_TRACE(k);
            TopKRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            runner.expect_right(bytes_of(keys), {});
            if (HasFailure()) return;
        }
    });
}

// A threshold of all zeros or all ones, NaNs with payloads, zeros of both signs: keys whose images
// are at the ends of what a digit can be.
TEST_F(TopKTest, KeysAtTheEnds) {
    for_each_tier_and_way([&](Tier tier, Way way) {
        TopKDesc desc = standard(tier, way);
        desc.k = 40;
        desc.value_bytes = 4;
        std::size_t turn = static_cast<std::size_t>(way);
        for (const Scalar key : {Scalar::f32, Scalar::u64, Scalar::i8, Scalar::f64}) {
            if (!device().is_simulated() && turn++ % 4 != 0) continue;
            desc.key = key;
            desc.order = kOrders[turn % 2];
            SCOPED_TRACE(lanewise::to_text(key));
            TopKRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            for (const SortData data : {SortData::special, SortData::equal}) {
                const std::size_t count = static_cast<std::size_t>(desc.max_count) - 5;
                const Elements keys = make_sort_keys(as_sort(desc), count, turn, data);
                runner.expect_right(keys.bytes(), make_sort_values(as_sort(desc), count, turn));
            }
            if (HasFailure()) return;
        }
    });
}

// One Executable, one binding after the other, sizes up and down: the bins are left zero.
TEST_F(TopKTest, ManyUses) {
    for_each_tier([&](Tier tier) {
        TopKDesc desc = standard(tier, Way::select_by_ranks);
        desc.k = 33;
        desc.indices = true;
        TopKRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (std::size_t i = 0; i < 12; ++i) {
            const std::size_t count = (i * 397) % 701;
            SCOPED_TRACE(count);
            const Elements keys = make_sort_keys(as_sort(desc), count, i);
            runner.expect_right(keys.bytes(), {}, {.count_in_buffer = i % 3 == 0});
            if (HasFailure()) return;
        }
    });
}

// What the defaults of this device choose, across the sizes where they change.
TEST_F(TopKTest, DefaultPolicies) {
    std::set<std::string> policies;
    const bool all = device().is_simulated() || test_all();
    for (const std::uint64_t count : {100u, 5000u, 20000u}) {
        for (const std::uint64_t k : {10u, 4500u}) {
            if (!all && (count == 20000) != (k == 4500)) continue;
            const TopKDesc desc{.key = Scalar::i32, .k = k, .indices = true, .max_count = count};
            SCOPED_TRACE(fmt::format("{} of {}", k, count));
            TopKRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            claim(runner.plan().tier);
            policies.insert(runner.plan().policy);
            if (device().is_simulated() && count > 5000 && !test_all()) continue;
            const Elements keys =
                make_sort_keys(as_sort(desc), static_cast<std::size_t>(count), k, SortData::hashed);
            runner.expect_right(keys.bytes(), {});
            if (HasFailure()) return;
        }
    }
    EXPECT_GE(policies.size(), 2u);
}

TEST_F(TopKTest, BadInputIsRefused) {
    const auto refused = [&](TopKDesc desc, ErrorCode code, const char* part) {
        desc.max_count = desc.max_count == 0 ? 1000 : desc.max_count;
        const auto plan = plan_top_k(device().caps(), desc);
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, code);
        EXPECT_NE(plan.error().message.find(part), std::string::npos) << plan.error().message;
    };
    refused({.value_bytes = 6}, ErrorCode::bad_argument, "value_bytes 6");
    refused({.value_bytes = 4, .indices = true}, ErrorCode::bad_argument, "value_bytes is 4");
    refused({.max_count = std::uint64_t{1} << 33}, ErrorCode::limit_exceeded, "max_count");
    refused({.value_bytes = 16, .max_count = std::uint64_t{1} << 31}, ErrorCode::limit_exceeded,
            "4 words");
    const Tier tier = Tier::barrier;
    TopKDesc desc = standard(tier, Way::select_scatter);
    desc.policy->sort.items = 2;
    refused(desc, ErrorCode::bad_argument, "shared out");
    desc = standard(tier, Way::select_scatter);
    desc.policy->sort.strategy = SortStrategy::look_back;
    refused(desc, ErrorCode::bad_argument, "look_back");
    desc = standard(tier, Way::select_by_ranks);
    desc.k = 300;
    refused(desc, ErrorCode::limit_exceeded, "256");
    desc = standard(tier, Way::all_by_ranks);
    desc.policy->sort.strategy = SortStrategy::count_then_scatter;
    refused(desc, ErrorCode::bad_argument, "count_then_scatter");
    desc = standard(tier, Way::select_scatter);
    desc.policy->digit_bits = 12;
    refused(desc, ErrorCode::bad_argument, "digit_bits 12");
}

}  // namespace
}  // namespace lanewise::test
