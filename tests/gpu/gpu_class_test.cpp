// Gpu: the whole round trip in one call.
#include "lanewise/gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "primitives/histogram/histogram_reference.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "primitives/scan/scan_reference.hpp"
#include "primitives/select/select_reference.hpp"
#include "primitives/sort/sort_reference.hpp"
#include "primitives/split/split_reference.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

class GpuClass : public GpuTest {
protected:
    // Made once: the probe and the device cost more than what is tested with them.
    static Gpu& gpu() {
        static const std::unique_ptr<Gpu> made = [] {
            auto created = Gpu::create();
            EXPECT_TRUE(created) << created.error().message;
            return created ? std::make_unique<Gpu>(*std::move(created)) : nullptr;
        }();
        return *made;
    }
};

TEST_F(GpuClass, UnderValidation) {
    std::vector<std::string> messages;
    {
        auto validated = Gpu::create({.device = {},
                                      .probe = true,
                                      .validation = true,
                                      .on_validation_message = [&](const std::string& message) {
                                          messages.push_back(message);
                                      }});
        ASSERT_TRUE(validated) << validated.error().message;
        const std::vector<std::uint32_t> values(5000, 3);
        EXPECT_EQ(validated->reduce(values), 15000u);
        EXPECT_EQ(validated->reduce(std::vector<std::uint32_t>{}), 0u);
        std::vector<std::uint32_t> prefixes(values.size());
        std::inclusive_scan(values.begin(), values.end(), prefixes.begin());
        EXPECT_EQ(validated->scan(values), prefixes);
        EXPECT_EQ(validated->scan(std::vector<std::uint32_t>{}), std::vector<std::uint32_t>{});
        std::vector<std::uint32_t> keys(prefixes.rbegin(), prefixes.rend());
        EXPECT_EQ(validated->sort(keys), prefixes);
        EXPECT_EQ(validated->sort(std::vector<std::uint32_t>{}), std::vector<std::uint32_t>{});
    }
    fail_on_messages(messages);
}

TEST_F(GpuClass, ListsDevices) {
    const auto devices = Gpu::list();
    ASSERT_TRUE(devices) << devices.error().message;
    ASSERT_FALSE(devices->empty());
    for (std::size_t i = 0; i < devices->size(); ++i) {
        EXPECT_EQ((*devices)[i].index, i);
        EXPECT_FALSE((*devices)[i].name.empty());
        EXPECT_EQ((*devices)[i].type, "cpu");
    }
}

TEST_F(GpuClass, TellsItsDevice) {
    EXPECT_FALSE(gpu().info().name.empty());
    EXPECT_EQ(gpu().caps().probe, ProbeState::passed) << gpu().caps().probe_report;
    EXPECT_EQ(gpu().caps().device_name, rig().caps().device_name);
}

TEST_F(GpuClass, ReducesEveryTypeOfItsInterface) {
    std::vector<std::uint32_t> u32(1000);
    std::iota(u32.begin(), u32.end(), 5u);
    std::vector<std::int32_t> i32(u32.begin(), u32.end());
    std::vector<float> f32(u32.begin(), u32.end());
    std::vector<std::uint64_t> u64(u32.begin(), u32.end());
    std::vector<std::int64_t> i64(u32.begin(), u32.end());
    EXPECT_EQ(gpu().reduce(u32), 504500u);
    EXPECT_EQ(gpu().reduce(u32, Operator::max), 1004u);
    i32[700] = -3;
    EXPECT_EQ(gpu().reduce(i32, Operator::min), -3);
    EXPECT_EQ(gpu().reduce(f32), 504500.0f);
    u64[3] += std::uint64_t{1} << 40;
    EXPECT_EQ(gpu().reduce(u64), 504500u + (std::uint64_t{1} << 40));
    i64[9] = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ(gpu().reduce(i64, Operator::min), std::numeric_limits<std::int64_t>::min());
    std::vector<double> f64(u32.begin(), u32.end());
    const auto sum = gpu().reduce(f64);
    if (gpu().caps().types.float64) {
        EXPECT_EQ(sum, 504500.0);
    } else {
        ASSERT_FALSE(sum);
        EXPECT_EQ(sum.error().code, ErrorCode::unsupported);
    }
}

// The typed scans, against the standard library's.
template <class T>
void expect_scans(Gpu& gpu, const std::vector<T>& values) {
    std::vector<T> expected(values.size());
    std::inclusive_scan(values.begin(), values.end(), expected.begin());
    EXPECT_EQ(gpu.scan(values), expected);
    std::exclusive_scan(values.begin(), values.end(), expected.begin(), T{});
    EXPECT_EQ(gpu.scan(values, Operator::sum, ScanKind::exclusive), expected);
    std::inclusive_scan(values.begin(), values.end(), expected.begin(),
                        [](T a, T b) { return std::max(a, b); });
    EXPECT_EQ(gpu.scan(values, Operator::max), expected);
}

TEST_F(GpuClass, ScansEveryTypeOfItsInterface) {
    std::vector<std::uint32_t> u32(5000);
    for (std::size_t i = 0; i < u32.size(); ++i) {
        u32[i] = static_cast<std::uint32_t>(hash(1, i) % 1000);  // f32 sums stay exact
    }
    expect_scans(gpu(), u32);
    std::vector<std::int32_t> i32(u32.begin(), u32.end());
    i32[700] = -3'000'000;
    expect_scans(gpu(), i32);
    expect_scans(gpu(), std::vector<float>(u32.begin(), u32.end()));
    std::vector<std::uint64_t> u64(u32.begin(), u32.end());
    u64[3] += std::uint64_t{1} << 40;
    expect_scans(gpu(), u64);
    std::vector<std::int64_t> i64(u32.begin(), u32.end());
    i64[9] = std::numeric_limits<std::int64_t>::min();
    expect_scans(gpu(), i64);
    const std::vector<double> f64(u32.begin(), u32.end());
    if (gpu().caps().types.float64) {
        expect_scans(gpu(), f64);
    } else {
        const auto sums = gpu().scan(f64);
        ASSERT_FALSE(sums);
        EXPECT_EQ(sums.error().code, ErrorCode::unsupported);
    }
}

// The typed sorts, against the standard library's.
template <class T>
void expect_sorts(Gpu& gpu, const std::vector<T>& keys) {
    std::vector<T> expected = keys;
    std::ranges::sort(expected);
    EXPECT_EQ(gpu.sort(keys), expected);
    std::vector<std::uint32_t> indices(keys.size());
    std::iota(indices.begin(), indices.end(), 0u);
    std::ranges::stable_sort(indices, {}, [&](std::uint32_t i) { return keys[i]; });
    EXPECT_EQ(gpu.argsort(keys), indices);
    std::ranges::sort(expected, std::greater());
    EXPECT_EQ(gpu.sort(keys, SortOrder::descending), expected);
    std::iota(indices.begin(), indices.end(), 0u);
    std::ranges::stable_sort(indices, std::greater(), [&](std::uint32_t i) { return keys[i]; });
    EXPECT_EQ(gpu.argsort(keys, SortOrder::descending), indices);
}

TEST_F(GpuClass, SortsEveryTypeOfItsInterface) {
    std::vector<std::int32_t> i32(3000);
    for (std::size_t i = 0; i < i32.size(); ++i)
        i32[i] = static_cast<std::int32_t>(hash(1, i) % 2000) - 1000;
    expect_sorts(gpu(), i32);
    expect_sorts(gpu(), std::vector<std::uint32_t>(i32.begin(), i32.end()));
    expect_sorts(gpu(), std::vector<float>(i32.begin(), i32.end()));
    expect_sorts(gpu(), std::vector<std::uint64_t>(i32.begin(), i32.end()));
    expect_sorts(gpu(), std::vector<std::int64_t>(i32.begin(), i32.end()));
    expect_sorts(gpu(), std::vector<double>(i32.begin(), i32.end()));
    EXPECT_EQ(gpu().sort(std::vector<float>{}), std::vector<float>{});
    EXPECT_EQ(gpu().argsort(std::vector<float>{}), std::vector<std::uint32_t>{});
}

template <class T>
void expect_segmented_sorts(Gpu& gpu, std::vector<T> keys) {
    const std::vector<std::uint32_t> offsets{3, 3, 50, 51, 1500, 2990};
    const std::vector<T> before = keys;
    const auto sorted = gpu.segmented_sort(keys, offsets, SortOrder::descending);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        std::sort(keys.begin() + offsets[s], keys.begin() + offsets[s + 1], std::greater());
    EXPECT_EQ(sorted, keys);
    EXPECT_EQ(gpu.segmented_sort(before, std::vector<std::uint32_t>{}), before);
}

TEST_F(GpuClass, SortsSegmentsOfEveryTypeOfItsInterface) {
    std::vector<std::int32_t> i32(3000);
    for (std::size_t i = 0; i < i32.size(); ++i)
        i32[i] = static_cast<std::int32_t>(hash(1, i) % 2000) - 1000;
    expect_segmented_sorts(gpu(), i32);
    expect_segmented_sorts(gpu(), std::vector<std::uint32_t>(i32.begin(), i32.end()));
    expect_segmented_sorts(gpu(), std::vector<float>(i32.begin(), i32.end()));
    expect_segmented_sorts(gpu(), std::vector<std::uint64_t>(i32.begin(), i32.end()));
    expect_segmented_sorts(gpu(), std::vector<std::int64_t>(i32.begin(), i32.end()));
    expect_segmented_sorts(gpu(), std::vector<double>(i32.begin(), i32.end()));
}

// The typed selects, against the standard library's.
template <class T>
void expect_selects(Gpu& gpu, const std::vector<T>& items) {
    std::vector<T> kept;
    std::vector<std::uint8_t> flags;
    for (const T item : items) {
        flags.push_back(item > T{15} ? 128 : 0);
        if (item > T{15}) kept.push_back(item);
    }
    EXPECT_EQ(gpu.select(items, flags), kept);
    std::vector<T> parts = items;
    std::ranges::stable_partition(parts, [](T item) { return item > T{15}; });
    const auto partitioned = gpu.partition(items, flags);
    ASSERT_TRUE(partitioned) << partitioned.error().message;
    EXPECT_EQ(partitioned->items, parts);
    EXPECT_EQ(partitioned->count, kept.size());
    const auto selected = gpu.select(items, "x > 15");
    if (sizeof(T) == 8 && !selected && selected.error().code == ErrorCode::unsupported) return;
    EXPECT_EQ(selected, kept);
    const auto again = gpu.partition(items, "x > 15");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->items, parts);
    EXPECT_EQ(again->count, kept.size());
}

TEST_F(GpuClass, SelectsEveryTypeOfItsInterface) {
    std::vector<std::int32_t> i32(3000);
    for (std::size_t i = 0; i < i32.size(); ++i)
        i32[i] = static_cast<std::int32_t>(hash(1, i) % 60) - 10;
    expect_selects(gpu(), i32);
    expect_selects(gpu(), std::vector<std::uint32_t>(i32.begin(), i32.end()));
    expect_selects(gpu(), std::vector<float>(i32.begin(), i32.end()));
    expect_selects(gpu(), std::vector<std::uint64_t>(i32.begin(), i32.end()));
    expect_selects(gpu(), std::vector<std::int64_t>(i32.begin(), i32.end()));
    expect_selects(gpu(), std::vector<double>(i32.begin(), i32.end()));
    EXPECT_EQ(gpu().select(std::vector<float>{}, "x > 1.0"), std::vector<float>{});
    EXPECT_EQ(gpu().select(std::vector<float>{}, std::vector<std::uint8_t>{}),
              std::vector<float>{});
}

// A predicate of the caller's own type, with all that there is to be had.
TEST_F(GpuClass, SelectsWithAPredicate) {
    struct Point {
        float x, y, z;
    };
    std::vector<Point> points(2000);
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::uint64_t h = hash(4, i);
        points[i] = {static_cast<float>(h % 9), static_cast<float>((h >> 8) % 9),
                     static_cast<float>((h >> 16) % 9)};
    }
    const auto bytes = std::as_bytes(std::span(points));
    SelectDesc desc{.predicate = CustomPredicate{.name = "near",
                                                 .element = {{Scalar::f32, 3, ""}},
                                                 .keep = "dot(x, x) < 70.0"},
                    .indices = true,
                    .rest = SelectRest::rejected};
    Kept kept(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Point& p = points[i];
        kept[i] = p.x * p.x + p.y * p.y + p.z * p.z < 70.0f;
    }
    const auto matches = [&] {
        const auto result = gpu().select(bytes, {}, {}, desc);
        ASSERT_TRUE(result) << result.error().message;
        std::string why;
        EXPECT_TRUE(select_matches(desc, bytes, {}, kept,
                                   {result->items, result->values, result->rejected, result->count},
                                   &why))
            << why;
        EXPECT_FALSE(result->report.passes.empty());
    };
    matches();
    desc.capacity = 100;
    matches();
    desc = {.predicate = desc.predicate, .indices = true, .items = false};
    matches();
    desc.predicate->keep = "mystery(x)";
    const auto refused = gpu().select(bytes, {}, {}, desc);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::bad_argument);
    EXPECT_NE(refused.error().message.find("mystery"), std::string::npos);
}

TEST_F(GpuClass, RefusesWhatIsNoSelect) {
    const std::vector<std::uint32_t> items(100);
    const std::vector<std::uint8_t> flags(99);
    const auto refused = [](const auto& result, const char* part) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::bad_argument);
        EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
    };
    refused(gpu().select(items, flags), "99 bytes of flags");
    refused(gpu().partition(items, ""), "keep");
    const auto bytes = std::as_bytes(std::span(items));
    refused(gpu().select(bytes.first(7), {}, {}, {}), "7 bytes");
    refused(gpu().select(bytes, std::as_bytes(std::span(flags)), {}, {.flag_bits = 1}),
            "99 bytes of flags where 100 items with flags of 1 bits take 13");
    refused(gpu().select(bytes, bytes.first(100), bytes, {.value_bytes = 8}), "bytes of values");
    refused(gpu().select(bytes, bytes.first(100), bytes, {.indices = true}), "indices are made");
}

template <class T>
void expect_segmented_sums(Gpu& gpu, const std::vector<T>& items) {
    const std::vector<std::uint32_t> offsets{3, 3, 50, 51, 1500, 2990};
    const auto sums = gpu.segmented_reduce(items, offsets);
    std::vector<T> expected;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        expected.push_back(
            std::accumulate(items.begin() + offsets[s], items.begin() + offsets[s + 1], T{}));
    }
    EXPECT_EQ(sums, expected);
    EXPECT_EQ(gpu.segmented_reduce(items, std::vector<std::uint32_t>{}), std::vector<T>{});
    EXPECT_EQ(gpu.segmented_reduce(std::vector<T>{}, std::vector<std::uint32_t>{0, 0}),
              std::vector<T>{T{}});
}

TEST_F(GpuClass, ReducesSegmentsOfEveryTypeOfItsInterface) {
    std::vector<std::int32_t> i32(3000);
    for (std::size_t i = 0; i < i32.size(); ++i)
        i32[i] = static_cast<std::int32_t>(hash(1, i) % 2000) - 1000;
    expect_segmented_sums(gpu(), i32);
    expect_segmented_sums(gpu(), std::vector<std::uint32_t>(i32.begin(), i32.end()));
    expect_segmented_sums(gpu(), std::vector<float>(i32.begin(), i32.end()));
    expect_segmented_sums(gpu(), std::vector<std::uint64_t>(i32.begin(), i32.end()));
    expect_segmented_sums(gpu(), std::vector<std::int64_t>(i32.begin(), i32.end()));
    const std::vector<double> f64(i32.begin(), i32.end());
    if (gpu().caps().types.float64) {
        expect_segmented_sums(gpu(), f64);
    } else {
        const auto sums = gpu().segmented_reduce(f64, std::vector<std::uint32_t>{0, 5});
        ASSERT_FALSE(sums);
        EXPECT_EQ(sums.error().code, ErrorCode::unsupported);
    }
    const std::vector<std::uint32_t> offsets{0, 5};
    EXPECT_FALSE(gpu().segmented_reduce(i32, offsets, Operator::argmin));
}

// What the host can see is wrong is refused, with the first place where it is.
TEST_F(GpuClass, RefusesWrongSegments) {
    const std::vector<std::uint32_t> keys(10);
    const auto refused = [&](const std::vector<std::uint32_t>& offsets, const char* word) {
        const auto sorted = gpu().segmented_sort(keys, offsets);
        ASSERT_FALSE(sorted);
        EXPECT_EQ(sorted.error().code, ErrorCode::bad_argument);
        EXPECT_NE(sorted.error().message.find(word), std::string::npos) << sorted.error().message;
        const auto reduced = gpu().segmented_reduce(keys, offsets);
        ASSERT_FALSE(reduced);
        EXPECT_EQ(reduced.error().code, ErrorCode::bad_argument);
        EXPECT_NE(reduced.error().message.find(word), std::string::npos) << reduced.error().message;
    };
    refused({0, 5, 4, 10}, "offset 2 is 4");
    refused({0, 11}, "11");
    const std::vector<std::byte> values(36);
    EXPECT_FALSE(gpu().segmented_sort(std::as_bytes(std::span(keys)), values,
                                      std::vector<std::uint32_t>{0, 10}, {.value_bytes = 4}));
}

TEST_F(GpuClass, Splits) {
    std::vector<std::uint32_t> keys(2000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(hash(3, i));
    const SplitDesc desc{.indices = true, .begin_bit = 3, .end_bit = 6};
    const auto made = gpu().split(std::as_bytes(std::span(keys)), {}, desc);
    ASSERT_TRUE(made) << made.error().message;
    std::string why;
    EXPECT_TRUE(split_matches(desc, std::as_bytes(std::span(keys)), {},
                              {made->keys, made->values, made->offsets}, &why))
        << why;
    EXPECT_EQ(made->report.plan.primitive, "split");
    const auto none = gpu().split({}, {}, {.end_bit = 1});
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_EQ(none->offsets, (std::vector<std::uint32_t>{0, 0, 0}));
    const auto wide = gpu().split(std::as_bytes(std::span(keys)), {}, {});
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().code, ErrorCode::bad_argument);
}

TEST_F(GpuClass, CountsByBins) {
    std::vector<std::uint8_t> bytes(5000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(hash(4, i));
    EXPECT_EQ(gpu().histogram(bytes), histogram_reference({}, std::as_bytes(std::span(bytes))));
    using Counts = std::vector<std::uint32_t>;
    EXPECT_EQ(gpu().histogram(std::vector<std::uint8_t>{}), Counts(256));
    EXPECT_EQ(gpu().histogram(std::vector<float>{-0.5f, 0.0f, 0.5f, 0.75f, 1.0f}, 2, {0.0, 1.0}),
              (Counts{1, 2}));
    EXPECT_EQ(gpu().histogram(std::vector<std::uint32_t>{1, 2, 3, 9}, 3, {0, 9}),
              (Counts{2, 1, 0}));
    EXPECT_EQ(gpu().histogram(std::vector<std::int32_t>{-3, -1, 0, 2}, 2, {-3, 3}), (Counts{2, 2}));
    // Pixels.
    const HistogramDesc pixels{.channels = 4};
    const auto made = gpu().histogram(std::as_bytes(std::span(bytes)), pixels);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->counts, histogram_reference(pixels, std::as_bytes(std::span(bytes))));
    EXPECT_EQ(made->report.plan.primitive, "histogram");
    for (const std::uint32_t channels : {0u, 3u}) {
        const auto refused =
            gpu().histogram(std::as_bytes(std::span(bytes)), {.channels = channels});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::bad_argument);
    }
    EXPECT_FALSE(gpu().histogram(std::vector<float>{1.0f}, 0, {0.0, 1.0}));
}

TEST_F(GpuClass, SortsBytesWithValues) {
    const Elements keys = [] {
        Elements all(Scalar::i16, 2001);
        for (std::size_t i = 0; i < all.count(); ++i) all.set(i, hash(2, i));
        return all;
    }();
    std::vector<std::uint32_t> values(keys.count() * 3);
    std::iota(values.begin(), values.end(), 7u);
    const auto value_bytes = std::as_bytes(std::span(values));
    SortDesc desc{.key = Scalar::i16, .value_bytes = 12, .order = SortOrder::descending};
    const auto sorted = gpu().sort(keys.bytes(), value_bytes, desc);
    ASSERT_TRUE(sorted) << sorted.error().message;
    std::string why;
    EXPECT_TRUE(sort_matches(desc, keys.bytes(), value_bytes, sorted->keys, sorted->values, &why))
        << why;
    EXPECT_EQ(sorted->report.plan.primitive, "sort");
    EXPECT_EQ(sorted->report.plan.max_count, keys.count());
    EXPECT_EQ(sorted->report.passes.size(), sorted->report.plan.passes.size() - 1)
        << "all but count_to_groups";
    for (const PassTime& pass : sorted->report.passes) EXPECT_GT(pass.nanoseconds, 0.0);
    desc.value_bytes = 0;
    desc.argsort = true;
    const auto indices = gpu().sort(keys.bytes(), {}, desc);
    ASSERT_TRUE(indices) << indices.error().message;
    EXPECT_TRUE(indices->keys.empty());
    EXPECT_TRUE(sort_matches(desc, keys.bytes(), {}, {}, indices->values, &why)) << why;
}

TEST_F(GpuClass, SortsThatCannotBe) {
    const std::vector<std::byte> keys(40), values(44);
    const auto refused = [&](std::span<const std::byte> with, const SortDesc& desc,
                             std::initializer_list<const char*> words) {
        const auto sorted = gpu().sort(keys, with, desc);
        ASSERT_FALSE(sorted);
        EXPECT_EQ(sorted.error().code, ErrorCode::bad_argument) << sorted.error().message;
        for (const char* word : words) {
            EXPECT_NE(sorted.error().message.find(word), std::string::npos)
                << sorted.error().message;
        }
    };
    refused(values, {.value_bytes = 4}, {"44", "40"});
    refused({}, {.value_bytes = 8}, {"0 bytes", "80"});
    refused(values, {}, {"44", "0"});
    refused(values, {.argsort = true}, {"argsort"});
    refused({}, {.key = Scalar::u64, .ping_pong = true}, {"ping_pong"});
    refused({}, {.begin_bit = 40}, {"40", "32"});
    refused(std::span(values).first(40), {.value_bytes = 4, .argsort = true}, {"argsort"});
    const auto odd = gpu().sort(std::span(keys).first(39), {}, {});
    ASSERT_FALSE(odd);
    EXPECT_EQ(odd.error().code, ErrorCode::bad_argument);
    EXPECT_NE(odd.error().message.find("39"), std::string::npos) << odd.error().message;
}

TEST_F(GpuClass, EmptyInput) {
    EXPECT_EQ(gpu().scan(std::vector<std::uint32_t>{}), std::vector<std::uint32_t>{});
    EXPECT_EQ(gpu().scan(std::vector<std::int64_t>{}, Operator::min, ScanKind::exclusive),
              std::vector<std::int64_t>{});

    EXPECT_EQ(gpu().reduce(std::vector<std::uint32_t>{}), 0u);
    EXPECT_EQ(gpu().reduce(std::vector<std::uint32_t>{}, Operator::min), 0xffffffffu);
    EXPECT_EQ(gpu().reduce(std::vector<float>{}, Operator::max),
              -std::numeric_limits<float>::infinity());
}

TEST_F(GpuClass, OperatorsThatATypeDoesNotHave) {
    const auto bits = gpu().reduce(std::vector<float>{1, 2}, Operator::bit_or);
    ASSERT_FALSE(bits);
    EXPECT_EQ(bits.error().code, ErrorCode::bad_argument);
    const auto scanned = gpu().scan(std::vector<float>{1, 2}, Operator::bit_or);
    ASSERT_FALSE(scanned);
    EXPECT_EQ(scanned.error().code, ErrorCode::bad_argument);
}

// Typed calls have no place for an index.
TEST_F(GpuClass, IndicesNeedBytes) {
    const std::vector<std::uint32_t> values{3, 1, 2};
    const auto reduced = gpu().reduce(values, Operator::argmin);
    ASSERT_FALSE(reduced);
    EXPECT_EQ(reduced.error().code, ErrorCode::bad_argument);
    EXPECT_NE(reduced.error().message.find("ReduceDesc"), std::string::npos);
    const auto scanned = gpu().scan(values, Operator::argmax);
    ASSERT_FALSE(scanned);
    EXPECT_EQ(scanned.error().code, ErrorCode::bad_argument);
    EXPECT_NE(scanned.error().message.find("ScanDesc"), std::string::npos);
}

TEST_F(GpuClass, ReportsWhatItDid) {
    for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
        const Elements data = make_elements(Scalar::i16, Operator::argmax, 12345, 3);
        ReduceDesc desc{.element = Scalar::i16, .op = Operator::argmax, .tier = tier};
        const auto result = gpu().reduce(data.bytes(), desc);
        if (!result) {
            EXPECT_EQ(tier, Tier::pinned) << result.error().message;
            continue;
        }
        desc.max_count = 12345;
        EXPECT_EQ(result->accumulator, Scalar::i32);
        EXPECT_EQ(result->report.plan.tier, tier);
        EXPECT_EQ(result->report.plan.max_count, 12345u);
        EXPECT_TRUE(result->report.fallbacks.empty());
        ASSERT_FALSE(result->report.passes.empty());
        EXPECT_EQ(result->report.passes[0].name, "reduce_tiles");
        for (const PassTime& pass : result->report.passes) {
            EXPECT_GE(pass.nanoseconds, 0.0);
            EXPECT_LT(pass.nanoseconds, 60e9);
        }
        std::string why;
        EXPECT_TRUE(reduce_matches(desc, data.bytes(), result->bytes, &why)) << why;
    }
}

TEST_F(GpuClass, ReportsWhatItDidInAScan) {
    for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
        const Elements data = make_elements(Scalar::i16, Operator::argmax, 12345, 3);
        ScanDesc desc{.element = Scalar::i16,
                      .op = Operator::argmax,
                      .kind = ScanKind::exclusive,
                      .direction = Direction::reverse,
                      .tier = tier};
        const auto result = gpu().scan(data.bytes(), desc);
        if (!result) {
            EXPECT_EQ(tier, Tier::pinned) << result.error().message;
            continue;
        }
        desc.max_count = 12345;
        EXPECT_EQ(result->accumulator, Scalar::i32);
        EXPECT_EQ(result->report.plan.primitive, "scan");
        EXPECT_EQ(result->report.plan.tier, tier);
        EXPECT_EQ(result->report.plan.max_count, 12345u);
        EXPECT_TRUE(result->report.fallbacks.empty());
        ASSERT_FALSE(result->report.passes.empty());
        std::string why;
        EXPECT_TRUE(scan_matches(desc, data.bytes(), result->bytes, &why, &result->report.plan))
            << why;
    }
}

// Bytes that are no whole number of elements.
TEST_F(GpuClass, BytesThatAreNoElements) {
    const std::vector<std::byte> bytes(7);
    const auto result = gpu().reduce(std::span<const std::byte>(bytes), ReduceDesc{});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::bad_argument);
    const auto scanned = gpu().scan(std::span<const std::byte>(bytes), ScanDesc{});
    ASSERT_FALSE(scanned);
    EXPECT_EQ(scanned.error().code, ErrorCode::bad_argument);
}

TEST_F(GpuClass, UnknownDevicesAreNamed) {
    const auto none = Gpu::create({.device = "no such device",
                                   .probe = true,
                                   .validation = false,
                                   .on_validation_message = {}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::bad_argument) << none.error().message;
    EXPECT_NE(none.error().message.find("no such device"), std::string::npos)
        << none.error().message;
    const auto index = Gpu::create(
        {.device = "77", .probe = true, .validation = false, .on_validation_message = {}});
    ASSERT_FALSE(index);
    EXPECT_NE(index.error().message.find("77"), std::string::npos) << index.error().message;
}

TEST_F(GpuClass, TheEnvironmentNamesADevice) {
    ::setenv("LANEWISE_DEVICE", "no such device", 1);
    const auto none = Gpu::create();
    ::setenv("LANEWISE_DEVICE", "0", 1);
    const auto first = Gpu::create(
        {.device = {}, .probe = false, .validation = false, .on_validation_message = {}});
    ::unsetenv("LANEWISE_DEVICE");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("no such device"), std::string::npos)
        << none.error().message;
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->info().index, 0u);
    EXPECT_EQ(first->caps().probe, ProbeState::not_run);
}

}  // namespace
}  // namespace lanewise::test
