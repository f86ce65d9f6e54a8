// lanewise: the command-line tool. One file per verb; output.hpp says what they share.
#include <fmt/format.h>

#include <new>

#include "cli/output.hpp"

#ifndef LANEWISE_VERSION
#define LANEWISE_VERSION "unknown"
#endif

namespace {

using namespace lanewise::cli;

Status run(int argc, char** argv) {
    CLI::App app("GPU parallel primitives: what this machine's devices can do, and how fast");
    app.name("lanewise");
    app.set_version_flag("--version", "lanewise " LANEWISE_VERSION);
    app.require_subcommand(0, 1);  // none is refused below: CLI11 would not name a wrong verb
    app.footer(
        "Exit status: 0 good, 1 a wrong result or a failure, 2 bad usage or bad input.\n"
        "lanewise VERB --help tells the options of a verb.");
    Action action;
    add_info(app, action);
    add_reduce(app, action);
    add_scan(app, action);
    add_sort(app, action);
    add_top_k(app, action);
    add_segmented_reduce(app, action);
    add_segmented_sort(app, action);
    add_split(app, action);
    add_select(app, action);
    add_partition(app, action);
    add_histogram(app, action);
    add_plan(app, action);
    add_bench(app, action);
#ifdef LANEWISE_HAS_SIMULATOR
    add_check(app, action);
#endif
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // --help, --version
        app.exit(asked);
        return Status::good;
    } catch (const CLI::ParseError& error) {
        std::string verb;
        for (auto chosen = app.get_subcommands(); !chosen.empty();
             chosen = chosen[0]->get_subcommands()) {
            verb += chosen[0]->get_name() + " ";
        }
        return fail(Status::usage, fmt::format("{}; see lanewise {}--help", error.what(), verb));
    }
    if (!action) return fail(Status::usage, "a verb is missing; see lanewise --help");
    const Status status = action();
    if (!flush_output()) return fail(Status::failed, "standard output could not be written");
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const std::bad_alloc&) {
        return static_cast<int>(fail(Status::failed, "out of memory"));
    } catch (const std::exception& error) {
        return static_cast<int>(fail(Status::failed, error.what()));
    }
}
