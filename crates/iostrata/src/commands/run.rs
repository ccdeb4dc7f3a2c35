//! `iostrata run`, and everything that is no other subcommand: fio's command line.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};

use anyhow::{Context as _, anyhow, bail};
use iostrata_device::{Guard, Refusal, Target};
use iostrata_os::clock::monotonic_ns;
use iostrata_os::signals::Signals;
use iostrata_os::{file, host};
use iostrata_report::{RenderOptions, fio_json, terse, text};
use iostrata_result::{Note, OptionWord, RunResult};
use iostrata_run::{
    Context, Event, Plan, Refused, RunError, Sink, Trigger, execute, merge_traces, plan, refuse, trace_line,
};
use iostrata_spec::{
    Action, Diagnostic, Eta, Host, Invocation, OutputFormat, Source, ToolOptions, Topic, parse_command_line,
    render_diagnostics,
};

use crate::bandwidth::BandwidthLog;
use crate::beside::Beside;
use crate::commands::service::serve;
use crate::listen::{Listener, SNAPSHOT_NS};
use crate::logs::LogWriter;
use crate::output::{Destination, complain, print};
use crate::screen::{DRAW_NS, Screen};
use crate::status::{status_lines, status_note};
use crate::watch::Watch;

/// The exit code of a run that a signal ended.
const SIGNALLED: u8 = 128;
/// Nobody writes a job file of so many bytes; a data file was named by mistake.
const LARGEST_JOB_FILE: u64 = 64 << 20;
/// How often the bandwidth of all jobs is logged, as in fio.
const BANDWIDTH_INTERVAL_NS: u64 = 500_000_000;
/// How long to wait between looks at whether the plan is made; it is told of when it is.
const PLANNING_LOOK_NS: u64 = 500_000_000;

/// The machine, for the parser.
pub(crate) struct Machine;

impl Source for Machine {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        if path == Path::new("-") {
            let mut text = Vec::new();
            std::io::stdin().lock().read_to_end(&mut text)?;
            return Ok(text);
        }
        let facts = file::facts_at(path)?;
        let what = match facts.kind {
            file::Kind::Block => "it is a block device, and no job file",
            file::Kind::Char if path != Path::new("/dev/null") && path != Path::new("/dev/stdin") => {
                "it is a device, and no job file"
            }
            _ if facts.size_bytes > LARGEST_JOB_FILE => "it is far too large for a job file",
            _ => return std::fs::read(path),
        };
        Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what))
    }

    fn head(&self, path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }
}

/// Runs a fio command line. `as_fio`: called under that name.
pub(crate) fn run(arguments: &[OsString], as_fio: bool) -> ExitCode {
    with_signals(as_fio, |signals| carry_out(arguments, as_fio, signals))
}

/// Carries something out with the signal handlers installed, and makes an exit code of its end.
pub(crate) fn with_signals(as_fio: bool, work: impl FnOnce(Signals) -> anyhow::Result<u8>) -> ExitCode {
    // Before anything else: a signal from now on ends the run in order.
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => return fail(as_fio, &anyhow::Error::new(error).context("installing the signal handlers")),
    };
    let code = work(signals).unwrap_or_else(|error| {
        fail(as_fio, &error);
        1
    });
    // All is written. Up to the process's very end a signal must be seen in its exit code.
    signals.end_at_once();
    ExitCode::from(if signals.pending().is_some() { SIGNALLED } else { code })
}

fn fail(as_fio: bool, error: &anyhow::Error) -> ExitCode {
    complain(&format!("{}: {error:#}\n", program(as_fio)));
    ExitCode::FAILURE
}

fn program(as_fio: bool) -> &'static str {
    if as_fio { "fio" } else { "iostrata" }
}

/// This machine, for the parser.
pub(crate) fn machine_host() -> Host {
    Host {
        page_size: host::page_size() as u64,
        cpus: host::online_cpus(),
        memory_bytes: host::memory_bytes(),
        macos: cfg!(target_os = "macos"),
    }
}

fn carry_out(arguments: &[OsString], as_fio: bool, signals: Signals) -> anyhow::Result<u8> {
    if !as_fio && arguments.first().is_some_and(|word| word == "--version" || word == "-v") {
        return print(&format!("iostrata-{} ({})\n", env!("CARGO_PKG_VERSION"), iostrata_spec::FIO_VERSION))
            .map(|()| 0);
    }
    let colored = std::io::stderr().is_terminal();
    let invocation = match parse_command_line(arguments, &machine_host(), &Machine) {
        Ok(invocation) => invocation,
        Err(diagnostics) => {
            complain(&render_diagnostics(&diagnostics, colored));
            return Ok(1);
        }
    };
    match &invocation.action {
        Action::Print(text) => return print(text).map(|()| 0),
        Action::ParseOnly => return Ok(0),
        Action::Serve(service) => return serve(service),
        Action::Run => {}
    }
    let machine_format = invocation.tool.formats.iter().any(|format| *format != OutputFormat::Normal);
    if !invocation.diagnostics.is_empty() && !as_fio && !machine_format {
        complain(&render_diagnostics(&invocation.diagnostics, colored));
    }
    run_jobs(arguments, &Arc::new(invocation), as_fio, signals)
}

fn run_jobs(
    arguments: &[OsString],
    invocation: &Arc<Invocation>,
    as_fio: bool,
    signals: Signals,
) -> anyhow::Result<u8> {
    let tool = &invocation.tool;
    if tool.merge_only {
        return Ok(merge(invocation).map_or_else(
            |refused| {
                complain(&format!("{}: {refused}\n", program(as_fio)));
                1
            },
            |()| 0,
        ));
    }
    let destination = tool.output.clone().map_or(Destination::Stdout, Destination::File);
    let beside = Beside::of(tool);
    beside.check()?;
    // Without a standard output there is still the file of --save.
    if destination != Destination::Stdout || beside.is_empty() {
        destination.check()?;
    }
    let render = RenderOptions { as_fio, ..RenderOptions::default() };
    let Some(prepared) = prepare_or_signal(invocation, signals)? else { return Ok(SIGNALLED) };
    let (plan, guard) = match prepared {
        Ok(ready) => ready,
        Err(refused) => {
            refused.errors.iter().for_each(|error| complain(&format!("{}: {error}\n", program(as_fio))));
            let untouched = Guard::admit(&[], &[], false).map_err(|_| anyhow!("{refused}"))?;
            let result = refuse(&refused, context(arguments, invocation, untouched, signals, false));
            return tell_refusal(&result, tool, &destination, &beside, &render).map(|()| 1);
        }
    };

    let normal = tool.formats.contains(&OutputFormat::Normal);
    let live = !tool.live && destination == Destination::Stdout && tool.formats.first() == Some(&OutputFormat::Normal);
    let eta = match tool.eta {
        _ if tool.live => false,
        // Where only programs read, a line of progress would spoil the document.
        _ if destination == Destination::Stdout && !normal => false,
        Eta::Always => true,
        Eta::Never => false,
        Eta::Auto => iostrata_os::terminal::stdout_is_terminal(),
    };
    let mut watch = Watch::new(render.clone(), normal, live, eta, tool.eta_newline_ns);
    watch.status_lines = status_lines(tool);
    watch.bandwidth = tool.bandwidth_log.as_deref().map(BandwidthLog::start).transpose()?;
    watch.listener = tool.listen.map(Listener::start).transpose()?;
    watch.screen = tool.live.then(Screen::open).transpose()?;
    if let Some(place) = watch.listener.as_ref().map(Listener::place) {
        watch.complain(&place);
    }
    let mut context = context(arguments, invocation, guard, signals, eta);
    if tool.live {
        (context.progress_ns, context.snapshot_ns) = (Some(DRAW_NS), Some(DRAW_NS));
    }
    if watch.bandwidth.is_some() && !eta {
        context.progress_ns = Some(BANDWIDTH_INTERVAL_NS);
    }
    context.notes.extend(status_note(tool));
    if tool.debug.any() {
        parsed(invocation).iter().for_each(|line| watch.event(Event::Trace(line)));
    }
    let trace = if live { print_trace } else { complain };
    let logs = LogWriter::start(&plan, tool.debug, trace)?;
    if let Some(logs) = &logs {
        context.logs = Some(logs.sender.clone());
        context.notes.extend(logs.notes.iter().cloned());
    }
    execute(&plan, context, &mut watch);
    let logged = logs.map_or(Ok(()), LogWriter::finish);
    let Some(result) = watch.result.take() else { bail!("the run ended without a result; please report it") };
    let done = total_bytes(&result);
    let logged = logged.and(watch.bandwidth.take().map_or(Ok(()), |log| log.finish(done)));
    let saved = beside.write(&result, &render);
    if !(normal && destination == Destination::Stdout) {
        // The normal text has these lines itself.
        let errors = result.workers.iter().filter_map(|worker| text::error_line(worker, &render));
        errors.for_each(|line| complain(&line));
    }
    let document = document(&result, tool, Some(&watch), &render);
    destination.write(&document).and(saved).and(logged)?;
    Ok(iostrata_result::derive::exit_code(&result))
}

/// For the lines of `--debug` that come from the logs' thread.
fn print_trace(line: &str) {
    // A closed standard output is told of when the report is written.
    let _ = print(line);
}

/// Bytes of all workers, by direction.
fn total_bytes(result: &RunResult) -> [u64; 3] {
    let mut bytes = [0; 3];
    for worker in &result.workers {
        for (sum, direction) in bytes.iter_mut().zip([&worker.read, &worker.write, &worker.trim]) {
            *sum += direction.as_ref().map_or(0, |direction| direction.bytes);
        }
    }
    bytes
}

/// The options of each job as they were read, for `--debug=parse` and `--debug=profile`.
fn parsed(invocation: &Invocation) -> Vec<String> {
    let debug = invocation.tool.debug;
    let mut lines = Vec::new();
    for (number, job) in (1..).zip(&invocation.jobs).filter(|(number, _)| debug.traces(Topic::Parse, *number)) {
        let own = job.words.iter().map(|word| format!("{}: {}={}", job.name, word.name, word.value));
        lines.extend(own.map(|text| trace_line(Topic::Parse, number, &text)));
    }
    if debug.traces(Topic::Profile, debug.only_job.unwrap_or(0)) {
        let names: Vec<&str> = invocation.jobs.iter().map(|job| job.name.as_str()).collect();
        let text = match &invocation.profile {
            Some(profile) => format!("{profile} stands for the jobs {}", names.join(", ")),
            None => String::from("no profile is asked for"),
        };
        lines.push(trace_line(Topic::Profile, 0, &text));
    }
    lines
}

/// Programs that asked for a document get one. The text would say no more than standard error has said.
fn tell_refusal(
    result: &RunResult,
    tool: &ToolOptions,
    destination: &Destination,
    beside: &Beside,
    render: &RenderOptions,
) -> anyhow::Result<()> {
    let saved = beside.write(result, render);
    let document = document(result, tool, None, render);
    let written = if document.is_empty() { Ok(()) } else { destination.write(&document) };
    written.and(saved)
}

/// [`prepare`] in a thread of its own: looking at files and devices takes as long as their servers like, and a system
/// call on a server that does not answer lets no handler run. `None` if a signal came first.
fn prepare_or_signal(
    invocation: &Arc<Invocation>,
    signals: Signals,
) -> anyhow::Result<Option<Result<(Plan, Guard), Refused>>> {
    let (tell, told) = mpsc::channel();
    let invocation = Arc::clone(invocation);
    let work = move || {
        iostrata_os::signals::block_in_this_thread();
        // Nobody listens any more if a signal came first.
        let _ = tell.send(prepare(&invocation));
        signals.notify();
    };
    std::thread::Builder::new().name("plan".into()).spawn(work).context("starting a thread")?;
    loop {
        match told.try_recv() {
            Ok(prepared) => return Ok(Some(prepared)),
            Err(TryRecvError::Disconnected) => bail!("a fault in iostrata itself ended the planning; please report it"),
            Err(TryRecvError::Empty) if signals.pending().is_some() => return Ok(None),
            Err(TryRecvError::Empty) => _ = signals.wait_until_ns(monotonic_ns() + PLANNING_LOOK_NS),
        }
    }
}

/// Merges the traces that jobs want merged before they replay them.
fn merge(invocation: &Invocation) -> Result<(), Refused> {
    let errors: Vec<RunError> = invocation.jobs.iter().filter_map(|job| merge_traces(job).err()).collect();
    if errors.is_empty() { Ok(()) } else { Err(Refused { plan: Plan::default(), errors }) }
}

/// Plans the run and asks the guard. Of what jobs work on nothing is touched yet.
pub(crate) fn prepare(invocation: &Invocation) -> Result<(Plan, Guard), Refused> {
    merge(invocation)?;
    let fresh_seed = RandomState::new().build_hasher().finish();
    let plan = plan(&invocation.jobs, iostrata_engine::registry::find, fresh_seed)?;
    match admit(&plan, invocation.tool.allow_destroy.clone()) {
        Ok(guard) => Ok((plan, guard)),
        Err(errors) => Err(Refused { plan, errors }),
    }
}

/// What the run needs besides its plan.
pub(crate) fn context(
    arguments: &[OsString],
    invocation: &Invocation,
    guard: Guard,
    signals: Signals,
    progress: bool,
) -> Context {
    Context {
        guard: Arc::new(guard),
        signals,
        grace_ns: invocation.tool.grace_ns,
        progress_ns: progress.then_some(invocation.tool.eta_interval_ns),
        command_line: arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        global_options: words(&invocation.global_words),
        status_ns: invocation.tool.status_interval_ns,
        snapshot_ns: invocation.tool.listen.map(|_| SNAPSHOT_NS),
        trigger: Trigger {
            file: invocation.tool.trigger_file.clone(),
            after_ns: invocation.tool.trigger_timeout_ns,
            command: invocation.tool.trigger.clone(),
        },
        aux_folder: invocation.tool.aux_path.clone().unwrap_or_default().into(),
        tool_version: env!("CARGO_PKG_VERSION").to_string(),
        notes: invocation.diagnostics.iter().map(note_of).collect(),
        logs: None,
        debug: invocation.tool.debug,
        idle: invocation.tool.idle,
    }
}

/// All formats that were asked for, in fio's order. Without a `watch` there is no normal text.
fn document(result: &RunResult, tool: &ToolOptions, watch: Option<&Watch>, render: &RenderOptions) -> String {
    let asked = |format| tool.formats.contains(&format);
    let normal = asked(OutputFormat::Normal) && watch.is_some();
    let mut document = String::new();
    if let Some(watch) = watch.filter(|_| normal) {
        document.push_str(&watch.kept);
        document.push_str(if watch.eta { "\n" } else { "" });
    }
    if asked(OutputFormat::Terse) {
        let version = terse::Version::of(tool.terse_version).unwrap_or(terse::Version::V3);
        document.push_str(&terse::render(result, version, tool.terse_header));
    }
    if asked(OutputFormat::Json) || asked(OutputFormat::JsonPlus) {
        document.push_str(&fio_json::render(result, asked(OutputFormat::JsonPlus), render));
    }
    if normal {
        document.push_str(&text::render(result, render));
    }
    document
}

/// Asks the guard for all targets of the run, before anything happens to any of them.
fn admit(plan: &Plan, mut allow_destroy: Vec<String>) -> Result<Guard, Vec<RunError>> {
    if let Ok(list) = std::env::var("IOSTRATA_ALLOW_DESTROY") {
        allow_destroy.extend(list.split(',').map(str::to_string));
    }
    let targets: Vec<Target<'_>> = plan
        .workers
        .iter()
        .filter(|worker| worker.engine.caps.opens_files())
        .flat_map(|worker| {
            worker.files.iter().map(|file| Target {
                path: &file.path,
                destructive: worker.job.workload.writes || worker.job.workload.trims,
                job: &worker.job.name,
            })
        })
        .collect();
    let refusal = |refusal: &Refusal| {
        let text = refusal.to_string();
        let own = text.strip_prefix(&format!("job {}: ", refusal.job)).unwrap_or(&text);
        RunError::refused(&refusal.job, own.to_string())
    };
    Guard::admit(&targets, &allow_destroy, false).map_err(|refusals| refusals.iter().map(refusal).collect())
}

fn words(words: &[iostrata_spec::OptionWord]) -> Vec<OptionWord> {
    words.iter().map(|word| OptionWord { name: word.name.clone(), value: word.value.clone() }).collect()
}

/// A warning of the parser as a note of the document.
fn note_of(diagnostic: &Diagnostic) -> Note {
    let place = diagnostic.place.as_ref().map_or(String::new(), |place| format!("{}:{}: ", place.origin, place.line));
    let help = diagnostic.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
    Note { code: "warning".into(), job: None, text: format!("{place}{}{help}", diagnostic.message) }
}
