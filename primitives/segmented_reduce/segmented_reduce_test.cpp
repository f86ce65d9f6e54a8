// segmented_reduce on a device: the conformance matrix (every tier, strategy, addressing, type,
// operator and shape of segments), then custom operators, and what the header promises of segments
// at the borders of tiles and workgroups, of empty ones, of items outside of all, and of offsets
// that are wrong. The passes are segmented_reduce_tiles and segmented_reduce_partials.
#include "lanewise/segmented_reduce.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/segmented_reduce/segmented_reduce_plan.hpp"
#include "primitives/segmented_reduce/segmented_reduce_reference.hpp"
#include "src/core/passes.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/custom_cases.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

using U32 = std::vector<std::uint32_t>;

constexpr SegmentedReduceStrategy kStrategies[] = {SegmentedReduceStrategy::two_pass,
                                                   SegmentedReduceStrategy::one_workgroup};

// How the items are cut.
enum class Cut : std::uint8_t {
    none,    // one number, no segment
    empty,   // segments without an item
    ones,    // an item each
    whole,   // one segment of everything
    small,   // many in a tile
    edges,   // that end at the borders of tiles, and around them
    huge,    // a long one between short ones, empty ones at both ends
    sparse,  // more segments than items, most of them empty
    inner,   // not from the first item on, nor to the last
    beyond,  // past the count
};
constexpr Cut kCuts[] = {Cut::none,  Cut::empty, Cut::ones,   Cut::whole, Cut::small,
                         Cut::edges, Cut::huge,  Cut::sparse, Cut::inner, Cut::beyond};

const char* to_text(Cut cut) {
    constexpr const char* kNames[] = {"none",  "empty", "ones",   "whole", "small",
                                      "edges", "huge",  "sparse", "inner", "beyond"};
    return kNames[static_cast<std::size_t>(cut)];
}

// Offsets of lengths that `next` gives, from `first` on until `end` is reached.
template <class Next>
U32 cut_by(std::uint64_t first, std::uint64_t end, Next&& next) {
    U32 offsets{static_cast<std::uint32_t>(first)};
    while (first < end) {
        first = std::min<std::uint64_t>(end, first + next(offsets.size()));
        offsets.push_back(static_cast<std::uint32_t>(first));
    }
    return offsets;
}

U32 make_offsets(Cut cut, std::uint64_t count, std::uint64_t tile, std::uint64_t seed) {
    const auto small = [&](std::size_t i) { return hash(seed, i) % (tile / 8 + 2); };
    const auto most = static_cast<std::uint32_t>(count);
    switch (cut) {
        case Cut::none: return {most / 2};
        case Cut::empty: return U32(9, most / 3);
        case Cut::ones: return cut_by(0, count, [](std::size_t) { return 1u; });
        case Cut::whole: return {0, most};
        case Cut::small: return cut_by(0, count, small);
        case Cut::edges: {
            const std::uint64_t lengths[] = {tile,     tile - 1, 1,        tile + 1, tile - 1,
                                             2 * tile, 0,        tile / 2, tile / 2, 3 * tile + 1};
            const std::size_t from = hash(seed) % 2 == 0 ? 0 : hash(seed) % std::size(lengths);
            return cut_by(0, count,
                          [&](std::size_t i) { return lengths[(from + i) % std::size(lengths)]; });
        }
        case Cut::huge: {
            U32 offsets(5, 0);
            const U32 before = cut_by(0, count / 5, small);
            const U32 behind = cut_by(count - count / 7, count, small);
            offsets.insert(offsets.end(), before.begin(), before.end());
            offsets.insert(offsets.end(), behind.begin(), behind.end());
            offsets.insert(offsets.end(), 300, most);
            return offsets;
        }
        case Cut::sparse: {
            U32 offsets(2 * count + 40);
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                // Half of them in a few places.
                const std::uint64_t at = hash(seed, i) % (count + 1);
                offsets[i] = static_cast<std::uint32_t>(i % 2 == 0 ? at : at / 64 * 64);
            }
            std::ranges::sort(offsets);
            return offsets;
        }
        case Cut::inner: return cut_by(count / 5, count - count / 4, small);
        case Cut::beyond: {
            U32 offsets = cut_by(0, count, small);
            offsets.pop_back();
            for (const std::uint64_t more : {count + 3, count + 3, count + tile})
                offsets.push_back(static_cast<std::uint32_t>(more));
            offsets.push_back(0xffffffff);
            return offsets;
        }
    }
    return {};
}

// Tiny, so that a few thousand items cross many tiles, and workgroups take several.
struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t vectors;
    std::uint32_t max_groups;
};
constexpr TinyPolicy kPolicies[] = {{16, 1, 7}, {32, 2, 5}, {64, 1, 3}, {128, 1, 4}, {16, 4, 40}};

SegmentedReducePolicy policy_of(const TinyPolicy& tiny, SegmentedReduceStrategy strategy) {
    return {strategy, tiny.workgroup_size, tiny.vectors, tiny.max_groups};
}

struct Row {
    Types types{};
    Operator op = Operator::sum;
    Tier tier = Tier::barrier;
    SegmentedReduceStrategy strategy = SegmentedReduceStrategy::two_pass;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};
    Cut cut = Cut::small;

    SegmentedReduceDesc desc(std::uint64_t max_count, std::uint64_t max_segments) const {
        return {.element = types.element,
                .op = op,
                .accumulator = types.accumulator,
                .max_count = max_count,
                .max_segments = max_segments,
                .tier = tier,
                .addressing = addressing,
                .policy = policy_of(policy, strategy)};
    }
    std::uint64_t tile_items() const {
        return policy.workgroup_size * policy.vectors * 16 / size_of(types.element);
    }
    std::string name() const {
        return fmt::format("{}_of_{}_into_{}_{}_{}_{}_{}_w{}x{}g{}", lanewise::to_text(op),
                           lanewise::to_text(types.element), lanewise::to_text(types.accumulator),
                           to_text(cut), lanewise::to_text(tier), lanewise::to_text(strategy),
                           lanewise::to_text(addressing), policy.workgroup_size, policy.vectors,
                           policy.max_groups);
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

bool possible(const Caps& caps, const Row& row) {
    if (!has_types(caps, row.types, row.op) || !lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (!has_workgroups(caps, row.tier, row.policy.workgroup_size)) return false;
    // Tiles of narrow elements that workgroup memory has no room for: the planner says which.
    const auto plan = plan_segmented_reduce(caps, row.desc(5000, 10));
    return plan || plan.error().code != ErrorCode::limit_exceeded;
}

const std::vector<std::size_t> kSizes = {
    std::size(kTypes),    std::size(kOperators), std::size(kTiers), std::size(kStrategies), 2,
    std::size(kPolicies), std::size(kCuts)};

Row row_of(const Choice& choice) {
    return {kTypes[choice[0]],
            kOperators[choice[1]],
            kTiers[choice[2]],
            kStrategies[choice[3]],
            choice[4] == 0 ? Addressing::descriptor : Addressing::device_address,
            kPolicies[choice[5]],
            kCuts[choice[6]]};
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<Choice> choices = pairwise_choices(kSizes, can);
    const bool simulated = TestDevice::shared().is_simulated();
    const std::size_t step = test_all()              ? (simulated ? 1 : 3)
                             : !simulated            ? 28
                             : has_small_subgroups() ? 6
                                                     : 3;
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// A plan on this device, and what its results should be.
class Runner {
public:
    Runner(TestDevice& device, const SegmentedReduceDesc& desc) : desc_(desc) {
        auto plan = plan_segmented_reduce(device.caps(), desc);
        if (!plan) {
            ADD_FAILURE() << "no plan: " << plan.error().message;
            return;
        }
        EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier));
        EXPECT_EQ(plan->passes[1].name, "segmented_reduce_tiles");
        runner_.emplace(device, *std::move(plan));
    }
    explicit operator bool() const { return runner_ && *runner_; }
    const Plan& plan() const { return runner_->plan(); }
    const SegmentedReduceDesc& desc() const { return desc_; }
    std::size_t result_bytes() const { return segmented_reduce_result_bytes(desc_); }

    // A result for each segment, at most max_segments; nullopt, with a failure added, where
    // something went wrong. `hostile`: an element that spoils the answer, which stands behind the
    // items.
    std::optional<Bytes> run(std::span<const std::byte> items, const U32& offsets,
                             std::span<const std::byte> hostile, RunOptions options = {}) {
        if (!*this) return std::nullopt;
        options.offsets = offsets;
        const std::uint64_t count = items.size() / plan().element_bytes;
        const std::size_t bound = runner_->bound_bytes(Role::input, count, options.count_in_buffer);
        Bytes before(items.begin(), items.end());
        while (before.size() < bound) {
            const std::size_t room = std::min(hostile.size(), bound - before.size());
            before.insert(before.end(), hostile.begin(),
                          hostile.begin() + static_cast<std::ptrdiff_t>(room));
        }
        Bytes after = runner_->run(before, count, options);
        const std::size_t most = plan().argument(Role::output)->bytes;
        if (after.size() != most) {
            // What went wrong has been said, unless nothing did.
            EXPECT_TRUE(after.empty()) << after.size() << " bytes of output, not " << most;
            return std::nullopt;
        }
        const std::size_t used =
            std::min<std::size_t>(offsets.size() - 1, desc_.max_segments) * result_bytes();
        const Bytes untouched = poison(after.size());
        for (std::size_t i = used; i < after.size(); ++i) {
            if (after[i] == untouched[i]) continue;
            ADD_FAILURE() << "result " << i / result_bytes() << " is written, of "
                          << used / result_bytes();
            break;
        }
        after.resize(used);
        return after;
    }

    // The same of stock elements, held against the reference.
    void expect_right(const Elements& data, const U32& offsets, const RunOptions& options = {}) {
        Elements hostile(desc_.element, 1);
        hostile.set(0, hostile_bits(desc_.element, desc_.op, data.count()));
        const auto results = run(data.bytes(), offsets, hostile.bytes(), options);
        if (!results) return;
        std::string why;
        EXPECT_TRUE(segmented_reduce_matches(desc_, data.bytes(), offsets, *results, &why))
            << data.count() << " items in " << offsets.size() - 1 << " segments: " << why;
    }
    void expect_right(std::uint64_t count, const U32& offsets, std::uint64_t seed,
                      const RunOptions& options = {}) {
        expect_right(make_elements(desc_.element, desc_.op, count, seed), offsets, options);
    }

private:
    SegmentedReduceDesc desc_;
    std::optional<PlanRunner> runner_;
};

class SegmentedReduceMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(SegmentedReduceMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const std::uint64_t tile = row.tile_items();
    const std::uint64_t full = tile * row.policy.max_groups;  // a tile for each workgroup
    std::set<std::uint64_t> sizes{0,        1,    2,        row.policy.workgroup_size + 1,
                                  tile - 1, tile, tile + 1, 2 * tile + 1};
    // Tiles of narrow elements are long: fewer of them.
    sizes.insert(std::min<std::uint64_t>(full + 1, 20 * tile));
    sizes.insert(std::min<std::uint64_t>(2 * full + tile / 2 + 3, 24 * tile + tile / 2 + 3));
    const std::uint64_t max_count = *sizes.rbegin();
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));
    const SegmentedReduceDesc desc = row.desc(max_count, 2 * max_count + 400);
    Runner runner(device(), desc);
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    if (row.strategy == SegmentedReduceStrategy::two_pass) {
        EXPECT_GT(share_out(runner.plan().share, max_count).groups, 1u)
            << "one workgroup is no test of many";
    }
    const bool picks = row.op == Operator::min || row.op == Operator::max || is_arg(row.op);
    std::size_t turn = 0;
    for (const std::uint64_t count : sizes) {
        for (const bool in_buffer : {false, true}) {
            // Sizes take one of the two; the largest takes both.
            if (count != max_count && (turn++ + seed) % 2 == 0) continue;
            SCOPED_TRACE(fmt::format("{} items, count {}", count,
                                     in_buffer ? "in a buffer" : "on the host"));
            RunOptions options{.count_in_buffer = in_buffer, .timestamps = turn % 2 == 0};
            // Above the maximum means the maximum.
            if (in_buffer && count == max_count) options.count_value = 0xffffffff;
            const FloatData floats = turn % 2 == 0 ? FloatData::exact
                                     : picks       ? FloatData::special
                                                   : FloatData::rounded;
            runner.expect_right(
                make_elements(row.types.element, row.op, count, seed + turn, floats),
                make_offsets(row.cut, count, tile, seed + turn), options);
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(SegmentedReduce, SegmentedReduceMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

class SegmentedReduceTest : public TierTest {
protected:
    static std::uint32_t workgroup() { return std::max(16u, device().caps().subgroup.size); }
    static std::uint32_t tile() { return 4 * workgroup(); }

    // Calls f with each tier that the device has; drivers, which compile everything anew, take one.
    template <class F>
    void for_some_tiers(F&& f) {
        if (device().is_simulated() || test_all()) return for_each_tier(f);
        claim(subgroup_tier());
        f(subgroup_tier());
    }

    // The same in most tests, so that it is compiled once.
    static SegmentedReduceDesc standard(Tier tier) {
        return {
            .max_count = 13 * tile() + 5,
            .max_segments = 4000,
            .tier = tier,
            .policy = SegmentedReducePolicy{SegmentedReduceStrategy::two_pass, workgroup(), 1, 5}};
    }
};

// In so many words.
TEST_F(SegmentedReduceTest, SegmentsInOrder) {
    const U32 items{9, 8, 30, 20, 10, 5, 1, 7, 2, 4, 3};
    for_each_tier([&](Tier tier) {
        Runner runner(device(), standard(tier));
        ASSERT_TRUE(runner);
        const auto sums = runner.run(bytes_of(items), {2, 5, 5, 6, 9}, bytes_of(U32{77}));
        ASSERT_TRUE(sums);
        EXPECT_EQ(*sums, bytes_of(U32{60, 0, 5, 10}));
    });
}

// The index is that in the whole input; of nothing it has all bits set.
TEST_F(SegmentedReduceTest, IndicesAreOfTheWholeInput) {
    const U32 items{9, 8, 30, 20, 30, 5, 1, 7, 1, 4, 3};
    for_some_tiers([&](Tier tier) {
        SegmentedReduceDesc desc = standard(tier);
        desc.op = Operator::argmin;
        Runner runner(device(), desc);
        ASSERT_TRUE(runner);
        const auto found = runner.run(bytes_of(items), {2, 5, 5, 6, 9}, bytes_of(U32{0}));
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, bytes_of(U32{20, 3, ~0u, ~0u, 5, 5, 1, 6}));
    });
}

// A segment that begins and ends everywhere around the borders of tiles and of workgroups' shares.
TEST_F(SegmentedReduceTest, BordersOfTilesAndWorkgroups) {
    for_each_tier([&](Tier tier) {
        Runner runner(device(), standard(tier));
        ASSERT_TRUE(runner);
        const auto count = static_cast<std::uint32_t>(runner.desc().max_count);
        const std::uint32_t share = share_out(runner.plan().share, count).tiles_per_group * tile();
        ASSERT_GT(share, tile());
        std::uint64_t seed = 1;
        for (const std::uint32_t begin :
             {0u, 1u, tile() - 1, tile(), share - 1, share, share + 1}) {
            for (const std::uint32_t end : {tile(), tile() + 1, share - 1, share, share + 1,
                                            2 * share, 3 * share + 1, count}) {
                // Drivers take some.
                if (++seed % 3 != 0 && !device().is_simulated() && !test_all()) continue;
                if (end < begin) continue;
                SCOPED_TRACE(fmt::format("items {} to {}", begin, end));
                runner.expect_right(count, {begin, end}, seed, {.timestamps = false});
                runner.expect_right(count, {0, begin, end, count}, seed, {.timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// Many empty segments, in one place and between places, before and behind everything.
TEST_F(SegmentedReduceTest, EmptySegments) {
    for_each_tier([&](Tier tier) {
        Runner runner(device(), standard(tier));
        ASSERT_TRUE(runner);
        const auto count = static_cast<std::uint32_t>(runner.desc().max_count);
        U32 offsets(700, 0);
        offsets.insert(offsets.end(), 700, 3);
        offsets.insert(offsets.end(), 9 * workgroup(), tile());
        offsets.insert(offsets.end(), {tile() + 1, tile() + 1, tile() + 2, 3 * tile()});
        offsets.insert(offsets.end(), 5 * workgroup(), 3 * tile() + 1);
        offsets.insert(offsets.end(), 700, count);
        runner.expect_right(count, offsets, 1);
        runner.expect_right(count, U32(900, 0), 2);
        runner.expect_right(count, U32(900, count), 3);
        runner.expect_right(0, U32(900, 0), 4);
        runner.expect_right(0, {5, 9, 9}, 5);
    });
}

// No segment: nothing is written. Offsets may be a single number, whatever it is.
TEST_F(SegmentedReduceTest, NoSegments) {
    for_each_tier([&](Tier tier) {
        Runner runner(device(), standard(tier));
        ASSERT_TRUE(runner);
        for (const std::uint32_t offset : {0u, 5u, 0xffffffffu})
            runner.expect_right(tile() + 3, {offset}, offset);
    });
}

// Of more segments than there is room for, the first ones count.
TEST_F(SegmentedReduceTest, MoreSegmentsThanThereIsRoomFor) {
    for_some_tiers([&](Tier tier) {
        SegmentedReduceDesc desc = standard(tier);
        desc.max_segments = 3;
        Runner runner(device(), desc);
        ASSERT_TRUE(runner);
        const U32 items(tile() + 9, 1);
        const auto sums = runner.run(
            bytes_of(items), {1, 5, tile(), tile() + 2, tile() + 3, tile() + 9}, bytes_of(U32{77}));
        ASSERT_TRUE(sums);
        EXPECT_EQ(*sums, bytes_of(U32{4, tile() - 5, 2}));
    });
}

// The number of segments in the first word of a buffer: of the offsets, which are more, the first.
TEST_F(SegmentedReduceTest, SegmentsByABuffer) {
    for_some_tiers([&](Tier tier) {
        detail::SegmentedReduceTask task{standard(tier), {}};
        task.max_segments = 6;
        task.segment_total = Role::values;
        const Caps& caps = device().caps();
        auto plan = plan_segmented_reduce(caps, task);
        ASSERT_TRUE(plan);
        const auto part = detail::segmented_reduce_part(caps, task, tier, plan->addressing);
        ASSERT_TRUE(part) << part.error().message;
        plan->passes.resize(1);
        std::ranges::copy(part->passes, std::back_inserter(plan->passes));
        Argument total = *plan->argument(Role::offsets);
        total.role = Role::values;
        plan->arguments.push_back(total);
        plan->segment_result_bytes = 0;
        const U32 items(3 * tile(), 1);
        const U32 offsets{1, 5, 5, tile() + 1, tile() + 3, tile() + 4, 3 * tile(), 3 * tile()};
        const U32 sums{4, 0, tile() - 4, 2, 1, 2 * tile() - 4};
        for (const std::uint32_t segments : {4u, 0u, ~0u}) {
            SCOPED_TRACE(segments);
            if (segments != 4 && !device().is_simulated() && !test_all()) continue;
            // Of the output there is what so many results take.
            plan->result_bytes = 4;
            plan->max_results = std::min<std::size_t>(segments, sums.size());
            PlanRunner runner(device(), *plan);
            ASSERT_TRUE(runner);
            const auto result = runner.run_with_values(bytes_of(items), bytes_of(U32{segments}),
                                                       items.size(), {.offsets = offsets});
            EXPECT_EQ(result.output,
                      bytes_of(U32(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(
                                                                    *plan->max_results))));
        }
    });
}

// 200 times the same bits, whoever finishes first.
TEST_F(SegmentedReduceTest, FloatSumsRepeat) {
    for_some_tiers([&](Tier tier) {
        SegmentedReduceDesc desc = standard(tier);
        desc.element = Scalar::f32;
        Runner runner(device(), desc);
        ASSERT_TRUE(runner);
        const Elements data =
            make_elements(Scalar::f32, Operator::sum, desc.max_count, 7, FloatData::rounded);
        const U32 offsets = make_offsets(Cut::huge, desc.max_count, tile(), 3);
        runner.expect_right(data, offsets);
        std::set<Bytes> seen;
        const int repeats = device().is_simulated() && !test_all() ? 5 : 200;
        for (int i = 0; i < repeats; ++i) {
            const auto sums =
                runner.run(data.bytes(), offsets, bytes_of(U32{0x7fc00000}), {.timestamps = false});
            ASSERT_TRUE(sums);
            seen.insert(*sums);
        }
        EXPECT_EQ(seen.size(), 1u);
    });
}

// Of many kinds: some that are not commutative, one that knows the index, a narrow one, and one of
// three words.
TEST_F(SegmentedReduceTest, CustomOperators) {
    const CustomCase cases[] = {custom_cases::matrix(), custom_cases::farthest(),
                                custom_cases::last_byte(), custom_cases::three_words()};
    for_some_tiers([&](Tier tier) {
        // Kernels of their own take long to compile: simulated devices take two in each tier,
        // drivers one, each another one.
        const std::size_t step = test_all() ? 1 : device().is_simulated() ? 2 : std::size(cases);
        std::size_t number = (device_number() + static_cast<std::size_t>(tier)) % step;
        for (; number < std::size(cases); number += step) {
            const CustomCase& made = cases[number];
            const CustomCase custom = device().is_webgpu() ? made.in_wgsl() : made;
            SCOPED_TRACE(custom.name());
            SegmentedReduceDesc desc = standard(tier);
            desc.custom = custom.op;
            desc.custom->nothing = custom.nothing;
            Runner runner(device(), desc);
            ASSERT_TRUE(runner);
            const std::size_t size = bytes_of(custom.op.element);
            for (const Cut cut : {Cut::edges, Cut::huge, Cut::inner}) {
                const std::uint64_t count = desc.max_count - number;
                const Bytes items = custom.make(count, number, Direction::forward);
                const U32 offsets =
                    make_offsets(cut, count, runner.plan().share.tile_items, number);
                const auto results = runner.run(items, offsets, custom.hostile);
                ASSERT_TRUE(results);
                Bytes expected;
                for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
                    const Bytes result =
                        custom.reduce_part(*desc.custom, items, offsets[s], offsets[s + 1]);
                    expected.insert(expected.end(), result.begin(), result.end());
                }
                EXPECT_TRUE(*results == expected)
                    << to_text(cut) << ", elements of " << size << " bytes, byte "
                    << std::ranges::mismatch(*results, expected).in1 - results->begin();
            }
        }
    });
}

// Offsets that fall touch no memory beside the buffers, and nothing hangs.
TEST_F(SegmentedReduceTest, OffsetsThatFallStayWithinTheBuffers) {
    for_each_tier([&](Tier tier) {
        Runner runner(device(), standard(tier));
        ASSERT_TRUE(runner);
        const std::uint64_t count = runner.desc().max_count;
        const auto most = static_cast<std::uint32_t>(count);
        U32 falling(300);
        for (std::uint32_t i = 0; i < falling.size(); ++i) falling[i] = 2 * (300 - i);
        U32 wild(900);
        for (std::size_t i = 0; i < wild.size(); ++i)
            wild[i] = static_cast<std::uint32_t>(hash(i) % (i % 7 == 0 ? ~0u : 2 * count));
        const Elements data = make_elements(Scalar::u32, Operator::sum, count, 1);
        for (const U32& offsets : {U32{30, 10}, falling, U32{0xffffffff, 5, 0}, wild,
                                   U32{0, most / 2, most / 8, most, most / 4, most}}) {
            EXPECT_TRUE(runner.run(data.bytes(), offsets, bytes_of(U32{1})));
        }
    });
}

// What Gpu plans by itself.
TEST_F(SegmentedReduceTest, DefaultPolicy) {
    const Tier tier = subgroup_tier();
    claim(tier);
    Runner runner(device(),
                  {.element = Scalar::u16, .max_count = 900, .max_segments = 900, .tier = tier});
    ASSERT_TRUE(runner);
    for (const std::uint64_t count : {900u, 3u, 255u})
        runner.expect_right(count, make_offsets(Cut::small, count, 128, count), count);
}

}  // namespace
}  // namespace lanewise::test
