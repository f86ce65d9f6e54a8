// Custom operators on a device, in reduce and scan: types of every size, operators for which the
// order matters, values that were never in the input, and the words that expressions may use. All
// against serial references in C++, bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/custom_cases.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {
namespace {

// In the language that the device's host takes.
const std::vector<CustomCase>& all() {
    static const std::vector<CustomCase> cases = [] {
        std::vector<CustomCase> made = custom_cases::all();
        if (TestDevice::shared().is_webgpu())
            for (CustomCase& one : made) one = one.in_wgsl();
        return made;
    }();
    return cases;
}

constexpr ReduceStrategy kReduceStrategies[] = {
    ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup, ReduceStrategy::two_pass};
// Another one of the device's with each turn.
ReduceStrategy reduce_strategy(std::size_t turn) {
    const auto all = reduce_strategies(TestDevice::shared().caps());
    return all[turn % all.size()];
}
constexpr ScanStrategy kScanStrategies[] = {ScanStrategy::one_workgroup,
                                            ScanStrategy::reduce_then_scan, ScanStrategy::look_back,
                                            ScanStrategy::reduce_ahead};
constexpr ScanKind kKinds[] = {ScanKind::inclusive, ScanKind::exclusive};
constexpr Direction kDirections[] = {Direction::forward, Direction::reverse};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};

bool looks_back(ScanStrategy strategy) {
    return strategy == ScanStrategy::look_back || strategy == ScanStrategy::reduce_ahead;
}

const CustomCase& case_of(const std::string& name) {
    return *std::ranges::find(all(), name, &CustomCase::name);
}

bool has_types(const Caps& caps, const CustomCase& custom) {
    return (caps.types.int64 || !custom.has_scalar({Scalar::u64, Scalar::i64})) &&
           (caps.types.float64 || !custom.has_scalar({Scalar::f64}));
}

// Tiny, so that a few thousand items cross many tiles, and workgroups take several.
struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t vectors;
    std::uint32_t max_groups;
    std::uint32_t ahead;
    std::uint32_t patience;
};
constexpr TinyPolicy kPolicies[] = {
    {16, 1, 3, 1, 4}, {32, 2, 5, 2, 1}, {64, 1, 7, 5, 64}, {128, 1, 4, 1, 2}, {16, 4, 6, 3, 4096},
};

// What a row's operator has of what it may leave out.
enum class Extra : std::uint8_t { none, nothing, initial };

CustomOperator with(const CustomCase& custom, Extra extra) {
    CustomOperator op = custom.op;
    if (extra == Extra::nothing) op.nothing = custom.nothing;
    if (extra == Extra::initial) op.initial = custom.initial;
    return op;
}

// `contents` holds the items, then as many hostile ones as the binding has room for.
Bytes with_hostile_tail(const CustomCase& custom, Bytes items, std::size_t bound) {
    while (items.size() < bound) {
        const std::size_t room = std::min(custom.hostile.size(), bound - items.size());
        items.insert(items.end(), custom.hostile.begin(),
                     custom.hostile.begin() + static_cast<std::ptrdiff_t>(room));
    }
    return items;
}

std::string differing(std::span<const std::byte> is, std::span<const std::byte> expected,
                      std::size_t result_bytes) {
    if (is.size() != expected.size())
        return fmt::format("{} bytes, not {}", is.size(), expected.size());
    const auto at = std::ranges::mismatch(is, expected).in1;
    if (at == is.end()) return {};
    const std::size_t index = static_cast<std::size_t>(at - is.begin()) / result_bytes;
    const auto words = [&](std::span<const std::byte> from) {
        std::string text;
        for (std::size_t i = 0; i < result_bytes / 4 && i < 8; ++i) {
            std::uint32_t word = 0;
            std::memcpy(&word, from.data() + index * result_bytes + i * 4, 4);
            text += fmt::format(" {:08x}", word);
        }
        return text;
    };
    return fmt::format("output {} of {} is{}, not{}", index, is.size() / result_bytes, words(is),
                       words(expected));
}

// A plan of a custom operator on this device, with what it should give.
class CustomRunner {
public:
    CustomRunner(TestDevice& device, const CustomCase& custom, const ReduceDesc& desc)
        : custom_(custom), op_(*desc.custom) {
        start(device, plan_reduce(device.caps(), desc), desc.tier);
    }
    CustomRunner(TestDevice& device, const CustomCase& custom, const ScanDesc& desc)
        : custom_(custom),
          op_(*desc.custom),
          is_scan_(true),
          kind_(desc.kind),
          direction_(desc.direction) {
        start(device, plan_scan(device.caps(), desc), desc.tier);
    }
    explicit operator bool() const { return runner_ && *runner_; }
    const Plan& plan() const { return runner_->plan(); }

    Bytes items(std::size_t count, std::uint64_t seed) const {
        return custom_.make(count, seed, direction_);
    }

    // The output for those items; nullopt, with a failure added, where something went wrong.
    std::optional<Bytes> run(const Bytes& items, const RunOptions& options = {}) {
        if (!*this) return std::nullopt;
        const std::uint64_t count = items.size() / plan().element_bytes;
        const std::size_t bound = runner_->bound_bytes(Role::input, count, options.count_in_buffer);
        const Bytes before = with_hostile_tail(custom_, items, bound);
        const Bytes after = runner_->run(before, count, options);
        const std::size_t expected =
            runner_->bound_bytes(Role::output, count, options.count_in_buffer);
        if (after.size() != expected) {
            EXPECT_TRUE(after.empty()) << after.size() << " bytes of output, not " << expected;
            return std::nullopt;
        }
        const std::size_t used =
            is_scan_ ? static_cast<std::size_t>(count) * plan().result_bytes : after.size();
        const Bytes untouched = options.in_place ? before : poison(after.size());
        for (std::size_t i = used; i < after.size(); ++i) {
            if (after[i] == untouched[i]) continue;
            ADD_FAILURE() << "byte " << i << " of the output is written, only " << used
                          << " belong to the " << count << " items";
            break;
        }
        return Bytes(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(used));
    }

    void expect_right(const Bytes& items, const RunOptions& options = {}) {
        const auto output = run(items, options);
        if (!output) return;
        const Bytes expected =
            is_scan_ ? custom_.scan(op_, items, kind_, direction_) : custom_.reduce(op_, items);
        EXPECT_EQ(differing(*output, expected, bytes_of(result_of(op_))), "") << to_text(plan());
    }
    void expect_right(std::size_t count, std::uint64_t seed, const RunOptions& options = {}) {
        expect_right(items(count, seed), options);
    }

private:
    void start(TestDevice& device, Result<Plan> plan, std::optional<Tier> tier) {
        if (!plan) {
            ADD_FAILURE() << "no plan: " << plan.error().message;
            return;
        }
        EXPECT_EQ(plan->tier, tier.value_or(plan->tier));
        EXPECT_EQ(plan->element_bytes, bytes_of(op_.element));
        EXPECT_EQ(plan->custom, op_);
        const std::uint32_t result = bytes_of(result_of(op_));
        EXPECT_EQ(plan->result_bytes, is_scan_ ? result : 0);
        if (plan->max_count > 0) {
            EXPECT_EQ(bytes_needed(*plan, Role::output, 1), result);
        }
        runner_.emplace(device, *std::move(plan));
    }

    const CustomCase& custom_;
    CustomOperator op_;
    bool is_scan_ = false;
    ScanKind kind_ = ScanKind::inclusive;
    Direction direction_ = Direction::forward;
    std::optional<PlanRunner> runner_;
};

struct Row {
    std::size_t custom = 0;
    Tier tier = Tier::barrier;
    bool is_scan = false;
    ReduceStrategy reduce_strategy = ReduceStrategy::two_pass;
    ScanStrategy scan_strategy = ScanStrategy::reduce_then_scan;
    Addressing addressing = Addressing::descriptor;
    Extra extra = Extra::none;
    TinyPolicy policy{};
    ScanKind kind = ScanKind::inclusive;
    Direction direction = Direction::forward;

    const CustomCase& custom_case() const { return all()[custom]; }

    ReduceDesc reduce_desc(std::uint64_t max_count) const {
        return {.custom = with(custom_case(), extra),
                .max_count = max_count,
                .tier = tier,
                .addressing = addressing,
                .policy = ReducePolicy{.strategy = reduce_strategy,
                                       .workgroup_size = policy.workgroup_size,
                                       .vectors = policy.vectors,
                                       .max_groups = policy.max_groups}};
    }
    ScanDesc scan_desc(std::uint64_t max_count) const {
        const bool back = looks_back(scan_strategy);
        return {.kind = kind,
                .direction = direction,
                .custom = with(custom_case(), extra),
                .max_count = max_count,
                .determinism = back ? Determinism::unordered : Determinism::run_to_run,
                .tier = tier,
                .addressing = addressing,
                .policy = ScanPolicy{
                    .strategy = scan_strategy,
                    .workgroup_size = policy.workgroup_size,
                    .vectors = policy.vectors,
                    .max_groups = policy.max_groups,
                    .ahead = scan_strategy == ScanStrategy::reduce_ahead ? policy.ahead : 0,
                    .patience = policy.patience}};
    }
    Result<Plan> plan(const Caps& caps, std::uint64_t max_count) const {
        return is_scan ? plan_scan(caps, scan_desc(max_count))
                       : plan_reduce(caps, reduce_desc(max_count));
    }
    std::string name() const {
        const char* extras[] = {"", "_or_nothing", "_from_initial"};
        std::string text = is_scan ? fmt::format("scan_{}_{}_{}", to_text(scan_strategy),
                                                 to_text(kind), to_text(direction))
                                   : fmt::format("reduce_{}", to_text(reduce_strategy));
        return fmt::format("{}_{}{}_{}_{}_w{}x{}g{}", custom_case().name(), text,
                           extras[static_cast<int>(extra)], to_text(tier), to_text(addressing),
                           policy.workgroup_size, policy.vectors, policy.max_groups);
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

// Drivers take ten seconds and more to compile kernels of long values.
bool is_for_all_alone(const CustomCase& custom) {
    return bytes_of(value_of(custom.op)) > 48 && !TestDevice::shared().is_simulated() &&
           !test_all();
}

bool possible(const Caps& caps, const Row& row) {
    if (!has_types(caps, row.custom_case()) || !lacking(caps, row.tier).empty()) return false;
    if (is_for_all_alone(row.custom_case())) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (!has_workgroups(caps, row.tier, row.policy.workgroup_size)) return false;
    // Values that are too long to be published, or for workgroup memory: the planner says which.
    using Key = std::tuple<std::size_t, Tier, bool, ReduceStrategy, ScanStrategy, Addressing,
                           std::uint32_t, std::uint32_t>;
    static std::map<Key, bool> known;
    const Key key{row.custom,
                  row.tier,
                  row.is_scan,
                  row.reduce_strategy,
                  row.scan_strategy,
                  row.addressing,
                  row.policy.workgroup_size,
                  row.policy.vectors};
    const auto [found, is_new] = known.try_emplace(key, false);
    if (is_new) {
        const auto plan = row.plan(caps, 5000);
        // Any other error is for the test to show.
        found->second = plan || plan.error().code != ErrorCode::unsupported;
    }
    return found->second;
}

const std::vector<std::size_t> kReduceSizes = {
    custom_cases::all().size(), std::size(kTiers), std::size(kReduceStrategies), 2, 2,
    std::size(kPolicies)};
const std::vector<std::size_t> kScanSizes = {
    custom_cases::all().size(), std::size(kTiers), std::size(kScanStrategies), 2, 3,
    std::size(kPolicies),       std::size(kKinds), std::size(kDirections)};

Row reduce_row(const Choice& choice) {
    return {.custom = choice[0],
            .tier = kTiers[choice[1]],
            .reduce_strategy = kReduceStrategies[choice[2]],
            .addressing = kAddressings[choice[3]],
            .extra = static_cast<Extra>(choice[4]),
            .policy = kPolicies[choice[5]]};
}
Row scan_row(const Choice& choice) {
    return {.custom = choice[0],
            .tier = kTiers[choice[1]],
            .is_scan = true,
            .scan_strategy = kScanStrategies[choice[2]],
            .addressing = kAddressings[choice[3]],
            .extra = static_cast<Extra>(choice[4]),
            .policy = kPolicies[choice[5]],
            .kind = kKinds[choice[6]],
            .direction = kDirections[choice[7]]};
}

// One row of how many is taken: every row has kernels of its own, which take most of the time.
std::size_t share_of_rows() {
    // Nobody caches what implementations of WebGPU compile.
    if (test_all()) return TestDevice::shared().is_webgpu() ? 8 : 1;
    if (is_sanitized()) return 24;
    if (!TestDevice::shared().is_simulated()) return 9;
    // Of all simulated devices those with small subgroups take longest.
    return TestDevice::shared().caps().subgroup.size < 16 ? 5 : 4;
}

std::vector<Row> rows_here(bool is_scan) {
    const Caps& caps = TestDevice::shared().caps();
    const auto row_of = is_scan ? scan_row : reduce_row;
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<std::size_t>& sizes = is_scan ? kScanSizes : kReduceSizes;
    const auto choices = test_all() ? all_choices(sizes, can) : pairwise_choices(sizes, can);
    const std::size_t step = share_of_rows();
    std::vector<Row> rows;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        rows.push_back(row_of(choices[i]));
    return rows;
}

// Sizes where tails, lanes, subgroups, tiles and workgroups begin and end.
std::vector<std::uint64_t> sizes_of(const Row& row, const Plan& plan, const Caps& caps) {
    const std::uint64_t tile = plan.share.tile_items;
    const std::uint64_t group = row.policy.workgroup_size;
    const std::uint64_t subgroup = std::max(caps.subgroup.size, 4u);
    const std::uint64_t full = tile * row.policy.max_groups;
    const std::set<std::uint64_t> sizes{0,
                                        1,
                                        2,
                                        3,
                                        subgroup - 1,
                                        subgroup,
                                        subgroup + 1,
                                        group - 1,
                                        group,
                                        group + 1,
                                        tile - 1,
                                        tile,
                                        tile + 1,
                                        2 * tile + 1,
                                        full,
                                        full + tile + tile / 2 + 3};
    return {sizes.begin(), sizes.end()};
}

class CustomOperatorMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(CustomOperatorMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const CustomCase& custom = row.custom_case();
    const auto first = row.plan(device().caps(), 5000);
    ASSERT_TRUE(first) << first.error().message;
    const std::vector<std::uint64_t> sizes = sizes_of(row, *first, device().caps());
    const std::uint64_t max_count = sizes.back();
    std::optional<CustomRunner> runner;
    if (row.is_scan) {
        runner.emplace(device(), custom, row.scan_desc(max_count));
    } else {
        runner.emplace(device(), custom, row.reduce_desc(max_count));
    }
    ASSERT_TRUE(*runner);
    EXPECT_EQ(runner->plan().addressing, row.addressing);
    EXPECT_EQ(runner->plan().share.tile_items, first->share.tile_items);
    const bool one = row.is_scan ? row.scan_strategy == ScanStrategy::one_workgroup
                                 : row.reduce_strategy == ReduceStrategy::one_workgroup;
    EXPECT_EQ(share_out(runner->plan().share, max_count).groups > 1, !one);
    if (row.is_scan) {
        EXPECT_EQ(runner->plan().in_place,
                  bytes_of(custom.op.element) == bytes_of(result_of(custom.op)) &&
                      !looks_back(row.scan_strategy));
    }
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));

    // Up with the count on the host, down with it in a buffer: one Executable, sizes both ways. A
    // size takes one of the two each time it comes up in another row; the ends take both.
    for (std::size_t i = 0; i < sizes.size() * 2; ++i) {
        const bool in_buffer = i >= sizes.size();
        const std::size_t at = in_buffer ? sizes.size() * 2 - 1 - i : i;
        const std::uint64_t count = sizes[at];
        const bool both = test_all() || at == 0 || count == max_count;
        if (!both && ((at + seed) % 2 == 0) != in_buffer) continue;
        SCOPED_TRACE(
            fmt::format("{} items, count {}", count, in_buffer ? "in a buffer" : "on the host"));
        RunOptions options{.count_in_buffer = in_buffer,
                           .timestamps = i % 4 == 0,
                           .in_place = runner->plan().in_place && i % 3 != 0};
        // Above the maximum means the maximum, however far above.
        if (in_buffer && count == max_count) {
            options.count_value = row.addressing == Addressing::device_address
                                      ? (std::uint64_t{1} << 32) + 1
                                      : std::uint64_t{0xffffffff};
        }
        runner->expect_right(count, seed + i, options);
        if (HasFailure()) return;  // one size says it; the rest repeats it
    }
}

INSTANTIATE_TEST_SUITE_P(Reduce, CustomOperatorMatrix, ::testing::ValuesIn(rows_here(false)),
                         [](const auto& row) { return row.param.name(); });
INSTANTIATE_TEST_SUITE_P(Scan, CustomOperatorMatrix, ::testing::ValuesIn(rows_here(true)),
                         [](const auto& row) { return row.param.name(); });

class CustomOperatorTest : public TierTest {
protected:
    // Each tier, with another number on each device: tests turn by it what they have no time to
    // combine. Drivers, which take long to compile kernels, have one tier each.
    template <class F>
    void for_each_tier_in_turn(F&& f) {
        const bool one = (!device().is_simulated() || is_sanitized()) && !test_all();
        std::vector<Tier> tiers;
        for (const Tier tier : kTiers)
            if (lacking(device().caps(), tier).empty()) tiers.push_back(tier);
        for (std::size_t i = 0; i < tiers.size(); ++i) {
            if (one && i != device_number() % tiers.size()) continue;
            SCOPED_TRACE(to_text(tiers[i]));
            claim(tiers[i]);
            f(tiers[i], device_number() + static_cast<std::size_t>(tiers[i]));
        }
    }

    static std::uint32_t workgroup() { return std::max(32u, device().caps().subgroup.size); }

    static ReduceDesc reduce_desc(const CustomOperator& op, Tier tier, ReduceStrategy strategy,
                                  std::uint64_t max_count) {
        return {.custom = op,
                .max_count = max_count,
                .tier = tier,
                .policy = ReducePolicy{.strategy = strategy,
                                       .workgroup_size = workgroup(),
                                       .vectors = 1,
                                       .max_groups = 5}};
    }
    static ScanDesc scan_desc(const CustomOperator& op, Tier tier, ScanStrategy strategy,
                              std::uint64_t max_count) {
        return {
            .custom = op,
            .max_count = max_count,
            .determinism = looks_back(strategy) ? Determinism::unordered : Determinism::run_to_run,
            .tier = tier,
            .policy = ScanPolicy{.strategy = strategy,
                                 .workgroup_size = workgroup(),
                                 .vectors = 1,
                                 .max_groups = 5,
                                 .ahead = strategy == ScanStrategy::reduce_ahead ? 2u : 0u,
                                 .patience = 16}};
    }
};

// What is never possible is never tested: every tier of the device has every strategy for values of
// one to four words, and those that need no publishing for all others, too.
TEST_F(CustomOperatorTest, DeviceHasItsStrategies) {
    for_each_tier([&](Tier tier) {
        for (const CustomCase& custom : all()) {
            if (!has_types(device().caps(), custom)) continue;
            for (const ReduceStrategy strategy : reduce_strategies(device().caps())) {
                const auto plan =
                    plan_reduce(device().caps(), reduce_desc(custom.op, tier, strategy, 5000));
                EXPECT_TRUE(plan) << custom.name() << ' ' << to_text(strategy) << ": "
                                  << plan.error().message;
            }
            for (const ScanStrategy strategy : kScanStrategies) {
                if (looks_back(strategy) && bytes_of(value_of(custom.op)) > 16) continue;
                const auto plan =
                    plan_scan(device().caps(), scan_desc(custom.op, tier, strategy, 5000));
                EXPECT_TRUE(plan) << custom.name() << ' ' << to_text(strategy) << ": "
                                  << plan.error().message;
            }
        }
        // Something runs, too: a test that claims a tier must have.
        const CustomCase& custom = case_of("matrix");
        CustomRunner runner(device(), custom,
                            reduce_desc(custom.op, tier, ReduceStrategy::one_workgroup, 100));
        runner.expect_right(100, 1);
    });
}

// B14: an operator is never called with what was not in the input, not even where nobody looks at
// what it gives. A simulated machine faults where it is: the texts divide by zero.
TEST_F(CustomOperatorTest, NeverSeesWhatWasNotInTheInput) {
    if (!device().is_simulated()) GTEST_SKIP() << "drivers do not say who divided by zero";
    CustomCase custom = case_of("marked");
    custom.op.name = "strict";
    custom.op.load =
        "u32 one = 7u / (x.mark == 0x600d600du ? 7u : 0u);\n"
        "return Value(x.value, x.mark * one);";
    custom.op.combine =
        "u32 one = 7u / (a.mark == 0x600d600du && b.mark == 0x600d600du ? 7u : 0u);\n"
        "return Value(a.value + b.value, a.mark * one);";
    custom.op.result = custom.op.element;
    custom.op.store =
        "u32 one = 7u / (a.mark == 0x600d600du ? 7u : 0u);\n"
        "return Result(a.value, a.mark * one);";
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        custom.op.commutative = turn % 2 == 0;
        const auto check = [&](CustomRunner& runner) {
            ASSERT_TRUE(runner);
            const std::size_t tile = runner.plan().share.tile_items;
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3},
                                            tile - 1, tile, tile + 1, 6 * tile + tile / 2 + 1})
                runner.expect_right(count, count, {.count_in_buffer = count % 2 == 0});
        };
        for (const ReduceStrategy strategy : kReduceStrategies) {
            SCOPED_TRACE(to_text(strategy));
            CustomRunner runner(device(), custom, reduce_desc(custom.op, tier, strategy, 3000));
            check(runner);
        }
        for (const ScanStrategy strategy : kScanStrategies) {
            SCOPED_TRACE(to_text(strategy));
            ScanDesc desc = scan_desc(custom.op, tier, strategy, 3000);
            desc.kind = kKinds[turn++ % 2];
            desc.direction = kDirections[turn / 2 % 2];
            CustomRunner runner(device(), custom, desc);
            check(runner);
        }
    });
}

// Runs know their neighbours: every strategy, both directions, every length of a tail.
TEST_F(CustomOperatorTest, OrderHoldsAtEverySize) {
    const CustomCase& custom = case_of("runs");
    const std::size_t step = test_all() ? 1 : device().is_simulated() ? 5 : 3;
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const auto check = [&](CustomRunner& runner) {
            ASSERT_TRUE(runner);
            const std::size_t tile = runner.plan().share.tile_items;
            for (std::size_t count = turn % step; count <= 2 * tile + 1; count += step) {
                runner.expect_right(count, count, {.timestamps = false});
                if (HasFailure()) return;
            }
        };
        const std::size_t tile = workgroup() * 16;
        CustomRunner reduce(device(), custom,
                            reduce_desc(custom.op, tier, reduce_strategy(turn), 2 * tile + 1));
        check(reduce);
        for (const Direction direction : kDirections) {
            ScanDesc desc = scan_desc(custom.op, tier, kScanStrategies[turn++ % 4], 2 * tile + 1);
            desc.direction = direction;
            SCOPED_TRACE(fmt::format("{} {}", to_text(direction), to_text(desc.policy->strategy)));
            CustomRunner runner(device(), custom, desc);
            check(runner);
        }
    });
}

// D5: a tile that never publishes is summed again by those that wait for it, in the right order.
TEST_F(CustomOperatorTest, ATileThatNeverPublishes) {
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const bool one = !device().is_simulated() && !test_all();
        const bool ahead = turn % 2 == 0;
        for (const ScanStrategy strategy : {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
            if (one && ahead != (strategy == ScanStrategy::reduce_ahead)) continue;
            const std::uint32_t tiles = 9;
            // The first two are right in one order only, the third by its index alone.
            const char* names[] = {"runs", "matrix", "farthest"};
            const CustomCase& custom = case_of(names[turn % 3]);
            ScanDesc desc =
                scan_desc(with(custom, static_cast<Extra>(turn / 2 % 3)), tier, strategy, 5000);
            desc.kind = kKinds[turn / 2 % 2];
            desc.direction = kDirections[turn++ / 3 % 2];
            const auto talking = plan_scan(device().caps(), desc);
            ASSERT_TRUE(talking) << talking.error().message;
            const std::size_t tile = talking->share.tile_items;
            for (const std::uint32_t silent : {0u, 3u, tiles - 2, tiles - 1}) {
                if (!test_all() && (silent + turn) % 2 != 0) continue;
                desc.max_count = (tiles - 1) * tile + 7;
                desc.policy->silent_tile = silent;
                desc.policy->max_groups = silent == 3 ? 4 : tiles;
                SCOPED_TRACE(fmt::format("{}, tile {} of {}", to_text(strategy), silent, tiles));
                CustomRunner runner(device(), custom, desc);
                ASSERT_TRUE(runner);
                EXPECT_NE(runner.plan().passes, talking->passes);
                // Twice: what the first use leaves behind must be as it found it.
                runner.expect_right(desc.max_count, silent);
                runner.expect_right(desc.max_count, silent + 9, {.count_in_buffer = true});
                runner.expect_right(tile + 1, silent);
            }
        }
    });
}

// A watchdog's bound: several dispatches share the items, each in its place.
TEST_F(CustomOperatorTest, SeveralDispatchesKeepTheOrder) {
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const CustomCase& custom = case_of(turn % 2 == 0 ? "runs" : "farthest");
        const ReduceStrategy strategy =
            turn % 2 == 0 ? ReduceStrategy::two_pass : reduce_strategy(1);
        ReduceDesc desc = reduce_desc(custom.op, tier, strategy, 100);
        const auto first = plan_reduce(device().caps(), desc);
        ASSERT_TRUE(first) << first.error().message;
        const std::uint64_t tile = first->share.tile_items;
        desc.max_count = 23 * tile + 5;
        desc.policy->max_items_per_dispatch = 5 * tile;
        CustomRunner runner(device(), custom, desc);
        ASSERT_TRUE(runner);
        EXPECT_GT(share_out(runner.plan().share, desc.max_count).dispatches, 1u);
        for (const std::uint64_t count : {5 * tile, 5 * tile + 1, desc.max_count, 2 * tile}) {
            runner.expect_right(count, count);
            runner.expect_right(count, count + 1, {.count_in_buffer = true});
        }
    });
}

// A reduction in order takes neighbouring partials: fewer than lanes, as many, more, and a last
// lane that has fewer. Scratch ends where they do.
TEST_F(CustomOperatorTest, PartialsFillScratch) {
    const CustomCase& custom = case_of("matrix");
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const ReduceStrategy strategy =
            turn % 2 == 0 ? ReduceStrategy::two_pass : reduce_strategy(1);
        for (const std::uint32_t groups : {16u, 128u, 208u}) {
            ReduceDesc desc = reduce_desc(custom.op, tier, strategy, 100);
            desc.policy->workgroup_size = 128;
            desc.policy->vectors = 1;
            desc.policy->max_groups = groups;
            if (!has_workgroups(device().caps(), tier, 128)) return;
            desc.max_count = groups * 128u;
            CustomRunner runner(device(), custom, desc);
            ASSERT_TRUE(runner);
            EXPECT_EQ(runner.plan().argument(Role::scratch)->bytes, 256u + groups * 16u)
                << "it has room to spare";
            runner.expect_right(desc.max_count, groups);
        }
    });
}

// B12: float sums, which rounding makes depend on the order, are the same on every run, for the
// strategies that the header promises it for and for the one that is chosen.
TEST_F(CustomOperatorTest, FloatSumsAreTheSameOnEveryRun) {
    CustomCase custom = case_of("forces");
    const std::size_t count = 2000;
    Bytes items(count * 16);
    for (std::size_t i = 0; i < count * 4; ++i) {
        const float value = static_cast<float>(hash(5, i) % 1000003) * 0.1f;
        std::memcpy(items.data() + i * 4, &value, 4);
    }
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const auto check = [&](CustomRunner& runner) {
            ASSERT_TRUE(runner);
            std::set<Bytes> results;
            for (int run = 0; run < 8; ++run) {
                const auto result =
                    runner.run(items, {.count_in_buffer = run % 2 == 1, .timestamps = false});
                ASSERT_TRUE(result);
                results.insert(*result);
            }
            EXPECT_EQ(results.size(), 1u) << to_text(runner.plan());
        };
        // Ones that say commutative: nothing else may put them in another order.
        CustomRunner reduce(device(), custom,
                            reduce_desc(custom.op, tier, reduce_strategy(turn), count));
        check(reduce);
        ReduceDesc chosen{.custom = custom.op, .max_count = count, .tier = tier};
        CustomRunner reduce_as_chosen(device(), custom, chosen);
        check(reduce_as_chosen);
        CustomRunner scan(device(), custom,
                          scan_desc(custom.op, tier, kScanStrategies[turn % 2], count));
        check(scan);
        ScanDesc chosen_scan{.custom = custom.op, .max_count = count, .tier = tier};
        CustomRunner scan_as_chosen(device(), custom, chosen_scan);
        check(scan_as_chosen);
    });
}

// The policy that the library chooses, for every operator: tiles fit the element and the workgroup.
TEST_F(CustomOperatorTest, AsTheLibraryChooses) {
    std::size_t turn = device_number();
    const std::size_t step = test_all() ? 1 : is_sanitized() ? 11 : device().is_simulated() ? 5 : 9;
    for (const CustomCase& custom : all()) {
        if (!has_types(device().caps(), custom) || is_for_all_alone(custom)) continue;
        if (turn++ % step != 0) continue;
        SCOPED_TRACE(custom.name());
        const std::size_t count = 3001;
        CustomRunner reduce(device(), custom, ReduceDesc{.custom = custom.op, .max_count = count});
        ASSERT_TRUE(reduce);
        reduce.expect_right(count, 1);
        reduce.expect_right(0, 2);
        CustomRunner scan(device(), custom,
                          ScanDesc{.kind = kKinds[turn / step % 2],
                                   .direction = kDirections[turn / step / 2 % 2],
                                   .custom = with(custom, Extra::initial),
                                   .max_count = count});
        ASSERT_TRUE(scan);
        scan.expect_right(count, 3, {.count_in_buffer = true});
        scan.expect_right(77, 4);
    }
}

// A1: of no items at all, in a plan that never has any.
TEST_F(CustomOperatorTest, PlansForNoItems) {
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        const CustomCase& custom = case_of("three_words");
        for (const Extra extra : {Extra::none, Extra::nothing}) {
            CustomRunner reduce(device(), custom,
                                reduce_desc(with(custom, extra), tier, reduce_strategy(turn++), 0));
            ASSERT_TRUE(reduce);
            reduce.expect_right(0, 0);
            reduce.expect_right(0, 0, {.count_in_buffer = true, .count_value = 12345});
        }
        CustomRunner scan(device(), custom,
                          scan_desc(custom.op, tier, kScanStrategies[turn % 4], 0));
        ASSERT_TRUE(scan);
        scan.expect_right(0, 0);
        scan.expect_right(0, 0, {.count_in_buffer = true, .count_value = 12345});
    });
}

// What a result of no items holds comes out bit for bit: also what no arithmetic would give.
TEST_F(CustomOperatorTest, NothingKeepsItsBits) {
    CustomCase custom = case_of("forces");
    const std::array<std::uint32_t, 4> bits{0x7fc12345, 0x80000000, 0x00000001, 0xff800000};
    custom.op.nothing = raw(bits);
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        CustomRunner reduce(device(), custom,
                            reduce_desc(custom.op, tier, reduce_strategy(turn), 10));
        EXPECT_EQ(reduce.run({}), raw(bits));
        ScanDesc desc = scan_desc(custom.op, tier, kScanStrategies[turn % 4], 10);
        desc.kind = ScanKind::exclusive;
        CustomRunner scan(device(), custom, desc);
        const auto output = scan.run(scan.items(1, 1));
        EXPECT_EQ(output, raw(bits));
    });
}

// The words that the header promises, and names that kernels have, too: of fields, and of variables
// in statements. `returned` is not the word `return`.
TEST_F(CustomOperatorTest, NamesAndWordsOfTheHeader) {
    struct Names {
        std::uint32_t count, lane, tile, item, value, x, index, returned;
    };
    using Sum = Names;
    CustomOperator op{.name = "names",
                      .element = {{Scalar::u32, 1, "count"},
                                  {Scalar::u32, 1, "lane"},
                                  {Scalar::u32, 1, "tile"},
                                  {Scalar::u32, 1, "item"},
                                  {Scalar::u32, 1, "value"},
                                  {Scalar::u32, 1, "x"},
                                  {Scalar::u32, 1, "index"},
                                  {Scalar::u32, 1, "returned"}}};
    op.load =
        "f32 f = f32(x.count & 7u); u32 u = u32(f); i32 i = -3;\n"
        "vec2f v2 = vec2f(f, 1.0); vec3f v3 = vec3f(v2, 2.0); vec4f v4 = vec4f(v3, 3.0);\n"
        "vec2u u2 = vec2u(u, 1u); vec3u u3 = vec3u(u2, 2u); vec4u u4 = vec4u(u3, 3u);\n"
        "vec2i i2 = vec2i(i, 1); vec3i i3 = vec3i(i2, 2); vec4i i4 = vec4i(i3, 3);\n"
        "Element e = Element(u4.x, u4.y, u4.z, u4.w, x.value, x.x, x.index, x.returned);\n"
        "for (u32 lane = 0u; lane < 3u; ++lane) { e.lane += lane; }\n"
        "e.tile += u32(i4.x + i4.y + i4.z + i4.w) + u32(dot(v4, v4)) - index;\n"
        "return Value(e.count, e.lane, e.tile, e.item, e.value, e.x, e.index, e.returned);";
    op.combine =
        "Value(a.count + b.count, a.lane + b.lane, a.tile + b.tile, a.item + b.item,\n"
        "      a.value + b.value, a.x ^ b.x, a.index + b.index,\n"
        "      a.returned + b.returned)";
    op.store =
        "Result result = Result(a.count, a.lane, a.tile, a.item, 0u, 0u, 0u, 0u);\n"
        "u32 value = a.value, output_index = a.index, group = a.x;\n"
        "result.value = value; result.index = output_index; result.x = group;\n"
        "result.returned = a.returned;\n"
        "return result;";
    if (device().is_webgpu()) {
        op.load =
            "let f = f32(x.count & 7u); let u = u32(f); let i = -3;\n"
            "let v2 = vec2f(f, 1.0); let v3 = vec3f(v2, 2.0); let v4 = vec4f(v3, 3.0);\n"
            "let u2 = vec2u(u, 1u); let u3 = vec3u(u2, 2u); let u4 = vec4u(u3, 3u);\n"
            "let i2 = vec2i(i, 1); let i3 = vec3i(i2, 2); let i4 = vec4i(i3, 3);\n"
            "var e = Element(u4.x, u4.y, u4.z, u4.w, x.value, x.x, x.index, x.returned);\n"
            "for (var lane = 0u; lane < 3u; lane++) { e.lane += lane; }\n"
            "e.tile += u32(i4.x + i4.y + i4.z + i4.w) + u32(dot(v4, v4)) - index;\n"
            "return Value(e.count, e.lane, e.tile, e.item, e.value, e.x, e.index, e.returned);";
        op.store =
            "var result = Result(a.count, a.lane, a.tile, a.item, 0u, 0u, 0u, 0u);\n"
            "let value = a.value; let output_index = a.index; let group = a.x;\n"
            "result.value = value; result.index = output_index; result.x = group;\n"
            "result.returned = a.returned;\n"
            "return result;";
    }
    const auto custom = make_case<Names, Sum, Names>(
        op, {1, 1, 1, 1, 1, 1, 1, 1}, {}, {},
        [](std::uint32_t, std::uint64_t h, std::uint32_t) {
            const auto part = [&](int i) { return static_cast<std::uint32_t>(h >> (7 * i)); };
            return Names{part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7)};
        },
        [](Names x, std::uint32_t index) {
            const std::uint32_t f = x.count & 7;
            return Sum{f,       4,         2 + 3 + f * f + 1 + 4 + 9 - index, 3, x.value, x.x,
                       x.index, x.returned};
        },
        [](Sum a, Sum b) {
            return Sum{a.count + b.count, a.lane + b.lane,        a.tile + b.tile,
                       a.item + b.item,   a.value + b.value,      a.x ^ b.x,
                       a.index + b.index, a.returned + b.returned};
        },
        custom_cases::kSame);
    for_each_tier_in_turn([&](Tier tier, std::size_t turn) {
        CustomRunner reduce(device(), custom, reduce_desc(op, tier, reduce_strategy(turn), 500));
        ASSERT_TRUE(reduce);
        reduce.expect_right(500, 1);
        CustomRunner scan(device(), custom, scan_desc(op, tier, kScanStrategies[turn % 2], 500));
        ASSERT_TRUE(scan);
        scan.expect_right(500, 2);
    });
}

}  // namespace
}  // namespace lanewise::test
