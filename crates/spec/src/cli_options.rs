//! Options of the command line that are no job options: the second table.

use Argument::{None, Optional, Required};

use crate::table::Status::{self, Differs, NoEffect, Ours, Refused, Same};

/// Whether an argument follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// None.
    None,
    /// Always; `--opt=x` or `--opt x`. The word shown for it.
    Required(&'static str),
    /// Perhaps; only `--opt=x`. The word shown for it.
    Optional(&'static str),
}

/// One option of the command line.
#[derive(Clone, Copy, Debug)]
pub struct ToolSpec {
    /// Name, without the dashes.
    pub name: &'static str,
    /// Its argument.
    pub argument: Argument,
    /// One line.
    pub summary: &'static str,
    /// How it stands to fio's.
    pub status: Status,
}

const fn row(name: &'static str, argument: Argument, summary: &'static str, status: Status) -> ToolSpec {
    ToolSpec { name, argument, summary, status }
}

const NO_NETWORK: Status = Refused {
    why: "there is no client and server mode",
    instead: "`ssh HOST iostrata run …` for each host; every one gives a document of its own",
};

const STATUS: Status = Differs(
    "in the normal text; as JSON each report is one line of a file of its own, `--status-lines`, which is \
     `OUTPUT.status.jsonl` beside a file of `--output`, and the document is given once, at the end",
);

const IDLE: Status = Differs(
    "the kernel's own counts of idle time are taken; no threads spin meanwhile, which would change what is measured",
);

const BANDWIDTH: Status = Differs("written whether progress is shown or not, and every interval is in it");

const DEBUG: Status =
    Differs("the lines are our own, parts that are not in this program have none, and a wrong word is an error");

const MICRO: Status = Differs("md5 to sha3, as `verify=` has them; not the hashes that fio uses only inside itself");

/// Every one.
pub static TOOL_OPTIONS: &[ToolSpec] = &[
    row("output", Required("FILE"), "write the report to a file", Same),
    row("output-format", Required("LIST"), "normal, json, json+ or terse, with commas between", Same),
    row("save", Required("FILE"), "write the whole result to a file", Ours),
    row("html", Required("FILE"), "write a page with charts to a file", Ours),
    row("also", Required("FORMAT:FILE"), "write the result in one more format to one more file; may be repeated", Ours),
    row(
        "listen",
        Required("[ADDRESS:]PORT"),
        "serve metrics and a page while the run goes on (0 or 1: the net engine's option)",
        Ours,
    ),
    row("live", None, "show the run on the whole screen", Ours),
    row("eta", Required("WHEN"), "show progress: always, never or auto", Same),
    row("eta-interval", Required("TIME"), "refresh progress this often, 250 ms or more", Same),
    row("eta-newline", Required("TIME"), "keep a line of progress this often", Same),
    row("readonly", None, "refuse jobs that write or trim", Same),
    row("warnings-fatal", None, "treat warnings as errors", Same),
    row("strict", None, "treat values that fio would misread as errors", Ours),
    row("fio-exact", None, "take such values as fio does", Ours),
    row("allow-destroy", Required("ID,…"), "devices with data on them that may be overwritten", Ours),
    row("grace", Required("TIME"), "how long outstanding I/Os may take after the end", Ours),
    row("section", Required("NAME"), "run only this section of the job files; may be repeated", Same),
    row("parse-only", None, "check the jobs and stop", Same),
    row("showcmd", None, "print the jobs as a command line and stop", Same),
    row("version", None, "print the version and stop", Same),
    row("help", None, "print this page and stop", Same),
    row("cmdhelp", Optional("OPTION"), "list the job options, or explain one, or `all`", Same),
    row("enghelp", Optional("ENGINE[,OPTION]"), "list the engines, or an engine's options, or explain one", Same),
    row("max-jobs", Required("N"), "ignored", NoEffect("there is no limit; fio ignores it too")),
    row("alloc-size", Required("KIB"), "ignored", NoEffect("memory is taken as needed")),
    row(
        "terse-version",
        Required("N"),
        "version of terse lines: 2, 3, 4 or 5; of 3, fields 1 to 121 stay, disks follow",
        Same,
    ),
    row("append-terse", None, "add terse lines to the report", Same),
    row("minimal", None, "report in terse lines", Same),
    row("terse-header", None, "put a line with the names of the fields before terse lines", Ours),
    row("bandwidth-log", Optional("NAME"), "log the bandwidth of all jobs together", BANDWIDTH),
    row(
        "latency-log",
        Required("NAME"),
        "log latencies",
        Refused { why: "fio has dropped it", instead: "the job option write_lat_log" },
    ),
    row("debug", Required("LIST"), "trace parts of the program: a list, `all`, `job:N` for one job, `help`", DEBUG),
    row("inflate-log", Required("FILE"), "print a compressed log and stop", Same),
    row("status-interval", Required("TIME"), "print a full report this often", STATUS),
    row("status-lines", Required("FILE"), "write those reports there, one JSON document a line", Ours),
    row("aux-path", Required("DIR"), "where logs, states and the output of commands go", Same),
    row("idle-prof", Required("KIND"), "report how idle the CPUs were: system, percpu; calibrate and stop", IDLE),
    row("trigger-file", Required("FILE"), "run the trigger when this file appears", Same),
    row("trigger-timeout", Required("TIME"), "run the trigger after this time", Same),
    row("trigger", Required("COMMAND"), "command to run as the trigger", Same),
    row("trigger-remote", Required("COMMAND"), "command to run on the servers", NO_NETWORK),
    row("server", Optional("ADDRESS"), "wait for clients", NO_NETWORK),
    row("daemonize", Required("PIDFILE"), "run the server in the background", NO_NETWORK),
    row("client", Required("HOST"), "run the jobs on another host", NO_NETWORK),
    row("remote-config", Required("FILE"), "job file on the server", NO_NETWORK),
    row("cpuclock-test", None, "check the CPU's clock and stop", Same),
    row("crctest", Optional("LIST"), "measure checksums and stop: all, or a list", MICRO),
    row("memcpytest", Optional("LIST"), "measure memory copies and stop: all, or a list", Same),
    row("merge-blktrace-only", None, "merge traces and stop", Same),
];

/// The option of this name.
pub(crate) fn find(name: &str) -> Option<&'static ToolSpec> {
    TOOL_OPTIONS.iter().find(|row| row.name == name)
}
