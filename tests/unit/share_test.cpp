// share_out: every item is handled exactly once, and no dispatch is above its limits (A3, A6, A7,
// A8).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>

#include "lanewise/plan.hpp"

namespace lanewise {
namespace {

// What the header promises of a Launch, in arithmetic that cannot wrap: tiles and groups have 32
// bits each, so that their products have 64.
::testing::AssertionResult is_right(const Share& share, std::uint64_t count, const Launch& launch) {
    const auto wrong = [&](const char* what) {
        return ::testing::AssertionFailure()
               << what << ": count " << count << ", tile_items " << share.tile_items
               << ", max_groups " << share.max_groups << ", max_tiles_per_dispatch "
               << share.max_tiles_per_dispatch << " gave tiles " << launch.tiles
               << ", tiles_per_group " << launch.tiles_per_group << ", groups " << launch.groups
               << ", dispatches " << launch.dispatches;
    };
    if (launch.count != count) return wrong("count is not repeated");
    const std::uint64_t tiles = count / share.tile_items + (count % share.tile_items != 0 ? 1 : 0);
    if (launch.tiles != tiles) return wrong("tiles is not ceil(count / tile_items)");
    if (launch.tiles_per_group < 1) return wrong("no tile for a group");
    if (launch.groups < 1) return wrong("no group");
    if (std::uint64_t{launch.groups} * launch.tiles_per_group < tiles)
        return wrong("tiles are left out");
    if (std::uint64_t{launch.groups - 1} * launch.tiles_per_group >=
        std::max<std::uint64_t>(tiles, 1)) {
        return wrong("the last group has no tile");
    }
    const std::uint64_t dispatches =
        (std::uint64_t{launch.groups} + share.max_groups - 1) / share.max_groups;
    if (launch.dispatches != dispatches)
        return wrong("dispatches is not ceil(groups / max_groups)");
    const std::uint64_t groups = std::min(launch.groups, share.max_groups);
    const std::uint64_t tiles_of_first = std::min(groups * launch.tiles_per_group, tiles);
    if (tiles_of_first > share.max_tiles_per_dispatch)
        return wrong("a dispatch has too many tiles");
    return ::testing::AssertionSuccess();
}

TEST(ShareOut, EmptyInputHasOneGroup) {
    const Launch launch =
        share_out({.tile_items = 1024, .max_groups = 7, .max_tiles_per_dispatch = 100}, 0);
    EXPECT_EQ(launch.count, 0u);
    EXPECT_EQ(launch.tiles, 0u);
    EXPECT_EQ(launch.groups, 1u);
    EXPECT_EQ(launch.dispatches, 1u);
    EXPECT_GE(launch.tiles_per_group, 1u);
}

TEST(ShareOut, EverySmallCount) {
    for (const Share share : {Share{1, 1, ~0u}, Share{1, 7, 7}, Share{16, 3, ~0u}, Share{64, 3, 5},
                              Share{100, 7, 8}, Share{64, 1, 1}, Share{48, 5, 21}}) {
        for (std::uint64_t count = 0; count <= 5000; ++count) {
            ASSERT_TRUE(is_right(share, count, share_out(share, count)));
        }
    }
}

// One group more than a dispatch takes.
TEST(ShareOut, OneTileMoreThanTheLimitsTake) {
    for (const std::uint32_t cap : {7u, 65535u}) {
        const Share share{.tile_items = 256, .max_groups = cap, .max_tiles_per_dispatch = cap};
        const std::uint64_t count = std::uint64_t{cap} * 256 + 1;
        const Launch launch = share_out(share, count);
        EXPECT_TRUE(is_right(share, count, launch));
        EXPECT_EQ(launch.dispatches, 2u);
        EXPECT_EQ(launch.groups, cap + 1);
    }
    // Without a bound on the tiles of a dispatch, groups take more tiles instead.
    const Share loose{.tile_items = 256, .max_groups = 7};
    const Launch launch = share_out(loose, 7 * 256 + 1);
    EXPECT_TRUE(is_right(loose, 7 * 256 + 1, launch));
    EXPECT_EQ(launch.dispatches, 1u);
    EXPECT_EQ(launch.tiles_per_group, 2u);
}

TEST(ShareOut, CountsThatDoNotFit32Bits) {
    const std::uint64_t one = 1;
    const Share share{.tile_items = 4096, .max_groups = 1024, .max_tiles_per_dispatch = 1u << 19};
    for (const std::uint64_t count :
         {(one << 31) - 1, one << 31, (one << 31) + 1, (one << 32) - 1, one << 32, (one << 32) + 7,
          std::uint64_t{4333734380}, (one << 40) - 1, one << 40, (one << 40) + 1,
          (one << 43) - 4096}) {
        EXPECT_TRUE(is_right(share, count, share_out(share, count)));
    }
}

RC_GTEST_PROP(ShareOut, CoversEveryItemOnceWithinTheLimits, ()) {
    Share share;
    share.tile_items =
        *rc::gen::oneOf(rc::gen::inRange(1u, 300u),
                        rc::gen::map(rc::gen::inRange(0, 17), [](int bit) { return 1u << bit; }));
    share.max_groups = *rc::gen::oneOf(rc::gen::inRange(1u, 10u), rc::gen::inRange(1u, 70000u));
    share.max_tiles_per_dispatch = *rc::gen::oneOf(
        rc::gen::just(~0u), rc::gen::map(rc::gen::inRange(0u, 100000u), [&](std::uint32_t more) {
            return share.max_groups + more;
        }));
    // Tiles have 32 bits: the precondition that a plan keeps.
    const std::uint64_t most = std::uint64_t{share.tile_items} * 0xffffffffu;
    const std::uint64_t count = *rc::gen::oneOf(
        rc::gen::inRange<std::uint64_t>(0, 100000),
        rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                     [&](std::uint64_t n) { return n % (most + 1); }),
        rc::gen::map(
            rc::gen::pair(rc::gen::inRange(20, 49), rc::gen::inRange<std::uint64_t>(0, 15)),
            [&](const auto& pair) {
                return std::min((std::uint64_t{1} << pair.first) - 7 + pair.second, most);
            }));
    const Launch launch = share_out(share, count);
    const auto right = is_right(share, count, launch);
    if (!right) RC_FAIL(right.message());
}

// A count below another never takes more groups' worth of partials than the plan was sized for.
RC_GTEST_PROP(ShareOut, GroupsNeverExceedTheTiles, ()) {
    const Share share{.tile_items = *rc::gen::inRange(1u, 100u),
                      .max_groups = *rc::gen::inRange(1u, 100u),
                      .max_tiles_per_dispatch = *rc::gen::inRange(100u, 1000u)};
    const std::uint64_t count = *rc::gen::inRange<std::uint64_t>(0, 1000000);
    const Launch launch = share_out(share, count);
    RC_ASSERT(launch.groups <= std::max(launch.tiles, 1u));
}

}  // namespace
}  // namespace lanewise
