//! The command line: arguments to tool options, sections, and names of job files.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;

use crate::api::{Action, DocumentFormat, Eta, OutputFormat, Source, ToolOptions};
use crate::cli_options::{self, Argument, TOOL_OPTIONS, ToolSpec};
use crate::grammar::{self, Reading};
use crate::help;
use crate::profile::{self, PROFILES, Profile, ProfileOption};
use crate::report::Report;
use crate::suggest;
use crate::table::{OptionSpec, Status, all_options};
use crate::tool::{CHECKSUMS, Copying, Debug, IdleReport, Service, TOPICS};
use crate::value::{Kind, TimeUnit, Value};
use crate::words::{Line, Section, Spot, Word};

const SHORTEST_ETA_NS: u64 = 250_000_000;
const DEFAULT_GRACE_NS: u64 = 30_000_000_000;
const DEFAULT_ETA_NS: u64 = 1_000_000_000;

/// A command line taken apart.
pub(crate) struct CommandLine {
    pub(crate) tool: ToolOptions,
    /// Words before the first `--name`, and those of every `--name=global`, are in sections named `global`.
    pub(crate) sections: Vec<Section>,
    pub(crate) files: Vec<(PathBuf, Spot)>,
    /// `--section`.
    pub(crate) only: Vec<String>,
    pub(crate) strict: bool,
    pub(crate) fio_exact: bool,
    pub(crate) append_terse: bool,
    pub(crate) parse_only: bool,
    pub(crate) showcmd: bool,
    /// What is to be done at once instead of running.
    pub(crate) at_once: Option<Action>,
    /// `--profile`, and where it was asked for.
    pub(crate) profile: Option<(&'static Profile, Spot)>,
    /// The profile's own options.
    pub(crate) profile_words: Vec<Word>,
}

/// An argument with its place on the line.
struct Arg {
    text: String,
    spot: Spot,
    /// Whether the line shows it letter by letter.
    verbatim: bool,
}

/// How an argument looks on a shell's line.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/@%^".contains(c) || !c.is_ascii();
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn arguments(args: &[OsString], report: &mut Report) -> Vec<Arg> {
    let mut line = String::new();
    let mut spans = Vec::new();
    for arg in args {
        let text = arg.to_string_lossy().into_owned();
        let shown = shell_quoted(&text).replace(['\n', '\r'], " ");
        if !line.is_empty() {
            line.push(' ');
        }
        // Between plain quotes the text stands letter by letter too.
        let quotes = usize::from(shown.len() == text.len() + 2 && shown[1..].starts_with(text.as_str()));
        let span = line.len() + quotes..line.len() + shown.len() - quotes;
        let verbatim = shown == text || quotes == 1;
        spans.push((span, verbatim, arg.to_str().is_none(), text));
        line.push_str(&shown);
    }
    let line = Rc::new(Line { origin: "command line".into(), number: 1, text: line });
    let mut result = Vec::new();
    for (span, verbatim, broken, text) in spans {
        let spot = Spot { line: Rc::clone(&line), span };
        if broken {
            report.error(&spot, "this argument is not UTF-8", None);
        }
        result.push(Arg { text, spot, verbatim });
    }
    result
}

/// What a long name stands for.
enum Meaning {
    Tool(&'static ToolSpec),
    /// A job option: the whole name, and the row.
    Job(&'static str, &'static OptionSpec),
    Profile(&'static ProfileOption),
    Ambiguous(Vec<&'static str>),
    Unknown,
}

struct Parser<'a> {
    line: CommandLine,
    report: &'a mut Report,
    /// Engines named so far: their options may be shortened.
    engines: Vec<String>,
    /// The profile that is asked for anywhere on the line: its options are known on all of it.
    profile: Option<&'static Profile>,
}

/// The profile that the line asks for, wherever it does.
fn asked_profile(args: &[Arg]) -> Option<&'static Profile> {
    let mut args = args.iter().map(|arg| arg.text.trim_start_matches('-'));
    while let Some(arg) = args.next() {
        let value = arg.strip_prefix("profile=").or_else(|| if arg == "profile" { args.next() } else { None });
        if let Some(profile) = value.and_then(profile::find) {
            return Some(profile);
        }
    }
    None
}

/// Takes `args` (without the program's name) apart.
pub(crate) fn parse(args: &[OsString], source: &dyn Source, report: &mut Report) -> CommandLine {
    let args = arguments(args, report);
    let start = match args.first() {
        Some(first) => Spot { line: Rc::clone(&first.spot.line), span: 0..0 },
        None => {
            Spot { line: Rc::new(Line { origin: "command line".into(), number: 1, text: String::new() }), span: 0..0 }
        }
    };
    let destroy = source.env("IOSTRATA_ALLOW_DESTROY").unwrap_or_default();
    let line = CommandLine {
        tool: ToolOptions {
            output: None,
            formats: Vec::new(),
            terse_version: 3,
            save: None,
            html: None,
            also: Vec::new(),
            listen: None,
            live: false,
            eta: Eta::Auto,
            eta_interval_ns: DEFAULT_ETA_NS,
            eta_newline_ns: 0,
            readonly: false,
            warnings_fatal: false,
            allow_destroy: identities(&destroy),
            status_interval_ns: None,
            trigger_file: None,
            trigger_timeout_ns: None,
            trigger: None,
            aux_path: None,
            merge_only: false,
            grace_ns: DEFAULT_GRACE_NS,
            status_lines: None,
            terse_header: false,
            bandwidth_log: None,
            idle: None,
            debug: Debug::default(),
        },
        sections: vec![Section { name: "global".into(), spot: start, words: Vec::new() }],
        files: Vec::new(),
        only: Vec::new(),
        strict: false,
        fio_exact: false,
        append_terse: false,
        parse_only: false,
        showcmd: false,
        at_once: None,
        profile: None,
        profile_words: Vec::new(),
    };
    let profile = asked_profile(&args);
    let mut parser = Parser { line, report, engines: Vec::new(), profile };
    parser.run(&args);
    let formats = &mut parser.line.tool.formats;
    if formats.is_empty() {
        formats.push(OutputFormat::Normal);
    }
    if parser.line.append_terse && !formats.contains(&OutputFormat::Terse) {
        formats.push(OutputFormat::Terse);
    }
    parser.line
}

fn identities(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

impl Parser<'_> {
    fn run(&mut self, args: &[Arg]) {
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg.text == "--" {
                for file in rest.by_ref() {
                    self.line.files.push((PathBuf::from(&file.text), file.spot.clone()));
                }
                return;
            }
            let dashes = arg.text.len() - arg.text.trim_start_matches('-').len();
            if dashes == 0 || arg.text == "-" {
                self.line.files.push((PathBuf::from(&arg.text), arg.spot.clone()));
                continue;
            }
            self.option(arg, dashes.min(2), &mut rest);
            if self.line.at_once.is_some() {
                return;
            }
        }
    }

    fn option<'b>(&mut self, arg: &'b Arg, dashes: usize, rest: &mut (impl Iterator<Item = &'b Arg> + Clone)) {
        let next_is_option = rest.clone().next().is_none_or(|next| next.text.starts_with('-'));
        let body = &arg.text[dashes..];
        let (typed, inline) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        let name_spot = if arg.verbatim { arg.spot.within(&(0..dashes + typed.len())) } else { arg.spot.clone() };
        let meaning = match (dashes, body) {
            (1, "v") => self.meaning("version"),
            (1, "h") => self.meaning("help"),
            _ => by_value(self.meaning(typed), inline),
        };
        let (name, argument) = match &meaning {
            Meaning::Tool(row) => (row.name, row.argument),
            Meaning::Profile(option) if option.kind == Kind::Flag => (option.name, Argument::Optional("0|1")),
            Meaning::Profile(option) => (option.name, Argument::Required("VALUE")),
            Meaning::Job(name, row) if row.takes_no_value() => (*name, Argument::Optional("0|1")),
            // fio takes even an option that follows for the value.
            Meaning::Job(name, row) if row.bare && next_is_option => (*name, Argument::Optional("VALUE")),
            Meaning::Job(name, _) => (*name, Argument::Required("VALUE")),
            Meaning::Ambiguous(candidates) => {
                let list = candidates.iter().map(|c| format!("--{c}")).collect::<Vec<_>>().join(", ");
                let help = Some(format!("it may be one of {list}"));
                return self.report.error(&name_spot, format!("option `{typed}` is ambiguous"), help);
            }
            Meaning::Unknown => return self.unknown(typed, &name_spot),
        };
        let (value, value_spot, verbatim) = match (inline, argument) {
            (Some(_), Argument::None) => {
                return self.report.error(&name_spot, format!("option `--{name}` takes no value"), None);
            }
            (Some(value), _) => {
                let at = dashes + typed.len() + 1;
                let spot = if arg.verbatim { arg.spot.within(&(at..arg.text.len())) } else { arg.spot.clone() };
                (Some(value.to_owned()), spot, arg.verbatim)
            }
            (None, Argument::Required(_)) => match rest.next() {
                Some(next) => (Some(next.text.clone()), next.spot.clone(), next.verbatim),
                None => {
                    return self.report.error(&name_spot, format!("option `--{name}` needs a value"), None);
                }
            },
            (None, _) => (None, name_spot.clone(), false),
        };
        let word = Word { name: name.to_owned(), name_spot, value, value_spot, uncut: None, verbatim };
        match meaning {
            Meaning::Tool(row) => self.tool(row, &word),
            Meaning::Profile(_) => self.line.profile_words.push(word),
            _ => self.job(word),
        }
    }

    fn job(&mut self, word: Word) {
        let value = word.value.clone().unwrap_or_default();
        if word.name == "profile" {
            return self.profile(&value, &word);
        }
        if word.name == "name" {
            let section = Section { name: value, spot: word.name_spot.clone(), words: Vec::new() };
            self.line.sections.push(section);
        } else if word.name == "ioengine" {
            self.engines.push(value);
        }
        if let Some(section) = self.line.sections.last_mut() {
            section.words.push(word);
        }
    }

    /// An exact name, or the only option of fio's, or else of ours, that begins with `typed`.
    fn meaning(&self, typed: &str) -> Meaning {
        if let Some(row) = cli_options::find(typed) {
            return Meaning::Tool(row);
        }
        let own = self.profile.map_or(&[][..], |profile| profile.options);
        if let Some(option) = own.iter().find(|option| option.name == typed) {
            return Meaning::Profile(option);
        }
        let jobs = || all_options().flat_map(|row| row.names().map(move |name| (name, row)));
        if let Some((name, row)) = jobs().find(|(name, _)| *name == typed) {
            return Meaning::Job(name, row);
        }
        if typed.is_empty() {
            return Meaning::Unknown;
        }
        for fios in [true, false] {
            let tools = TOOL_OPTIONS.iter().filter(|row| (row.status != Status::Ours) == fios);
            let tools = tools.filter(|row| row.name.starts_with(typed)).map(|row| (row.name, Meaning::Tool(row)));
            let here = jobs().filter(|(name, row)| {
                row.known_to_fio() == fios
                    && name.starts_with(typed)
                    && (row.engines.is_empty() || self.engines.iter().any(|e| row.belongs_to(e)))
            });
            let here = here.map(|(name, row)| (name, Meaning::Job(name, row)));
            let mut found: Vec<(&'static str, Meaning)> = tools.chain(here).collect();
            match found.len() {
                0 => {}
                1 => return found.swap_remove(0).1,
                _ => return Meaning::Ambiguous(found.into_iter().map(|(name, _)| name).collect()),
            }
        }
        Meaning::Unknown
    }

    fn unknown(&mut self, typed: &str, spot: &Spot) {
        let names = all_options().flat_map(|row| row.names()).chain(TOOL_OPTIONS.iter().map(|row| row.name));
        let near = if self.report.is_long() { None } else { suggest::nearest(typed, names) };
        let help = near.map(|near| format!("did you mean `--{near}`?"));
        self.report.error(spot, format!("unknown option `{typed}`"), help);
    }

    fn tool(&mut self, row: &ToolSpec, word: &Word) {
        match row.status {
            Status::NotYet => {
                let message = format!("`--{}` is not carried out yet; it would {}", row.name, row.summary);
                return self.report.error(&word.name_spot, message, None);
            }
            Status::Refused { why, instead } => {
                let message = format!("`--{}` is not supported: {why}", row.name);
                return self.report.error(&word.name_spot, message, Some(format!("instead: {instead}")));
            }
            Status::NoEffect(_) => return,
            _ => {}
        }
        let value = word.value.as_deref().unwrap_or_default();
        let line = &mut self.line;
        match row.name {
            "output" => line.tool.output = Some(value.into()),
            "status-interval" => self.line.tool.status_interval_ns = self.time(word).filter(|ns| *ns > 0),
            "trigger-timeout" => self.line.tool.trigger_timeout_ns = self.time(word).filter(|ns| *ns > 0),
            "trigger-file" => line.tool.trigger_file = Some(value.into()),
            "trigger" => line.tool.trigger = Some(value.into()),
            "aux-path" => line.tool.aux_path = Some(value.into()),
            "save" => line.tool.save = Some(value.into()),
            "html" => line.tool.html = Some(value.into()),
            "also" => self.also(value, word),
            "listen" => self.listen(value, word),
            "live" => line.tool.live = true,
            "merge-blktrace-only" => line.tool.merge_only = true,
            "readonly" => line.tool.readonly = true,
            "warnings-fatal" => line.tool.warnings_fatal = true,
            "strict" => line.strict = true,
            "fio-exact" => line.fio_exact = true,
            "parse-only" => line.parse_only = true,
            "showcmd" => line.showcmd = true,
            "allow-destroy" => line.tool.allow_destroy.extend(identities(value)),
            "terse-header" => line.tool.terse_header = true,
            "status-lines" => line.tool.status_lines = Some(value.into()),
            "bandwidth-log" => line.tool.bandwidth_log = Some(if value.is_empty() { "agg" } else { value }.to_owned()),
            "version" => line.at_once = Some(Action::Print(help::version())),
            "help" => line.at_once = Some(Action::Print(help::usage())),
            "inflate-log" => line.at_once = Some(Action::Serve(Service::InflateLog(value.into()))),
            "cpuclock-test" => line.at_once = Some(Action::Serve(Service::ClockTest)),
            "crctest" => self.checksums(value, word),
            "memcpytest" => self.copies(value, word),
            "idle-prof" => self.idle(value, word),
            "debug" => self.debug(value, word),
            "section" => self.section(value, word),
            "output-format" => self.formats(value, word),
            "minimal" => line.tool.formats = vec![OutputFormat::Terse],
            "append-terse" => line.append_terse = true,
            "terse-version" => self.terse_version(value, word),
            "eta" => self.eta(value, word),
            "eta-interval" => self.eta_interval(word),
            "eta-newline" => self.line.tool.eta_newline_ns = self.time(word).unwrap_or_default(),
            "grace" => self.line.tool.grace_ns = self.time(word).unwrap_or_default(),
            "cmdhelp" => self.print(help::cmdhelp(value, self.profile), word),
            "enghelp" => self.print(help::enghelp(value), word),
            _ => {}
        }
    }

    fn error(&mut self, word: &Word, message: impl Into<String>, help: Option<String>) {
        self.report.error(&word.value_spot, message, help);
    }

    fn print(&mut self, text: Result<String, String>, word: &Word) {
        match text {
            Ok(text) => self.line.at_once = Some(Action::Print(text)),
            Err(message) => self.error(word, message, None),
        }
    }

    fn profile(&mut self, value: &str, word: &Word) {
        match profile::find(value) {
            Some(profile) => self.line.profile = Some((profile, word.value_spot.clone())),
            None => {
                let names = PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>().join(", ");
                self.error(word, format!("profile `{value}` not found"), Some(format!("there are: {names}")));
            }
        }
    }

    /// What `--crctest` and `--memcpytest` name: all of `known` if nothing; none if a name is wrong.
    fn picked<T: Copy>(&mut self, known: &[(&'static str, T)], value: &str, word: &Word) -> Option<Vec<T>> {
        let names = || known.iter().map(|(name, _)| *name);
        if value == "help" {
            let text = names().map(|name| format!("{name}\n")).collect();
            self.line.at_once = Some(Action::Print(text));
            return None;
        }
        let mut picked = Vec::new();
        for asked in value.split(',').map(str::trim).filter(|asked| !asked.is_empty()) {
            match known.iter().find(|(name, _)| *name == asked) {
                Some((_, item)) => picked.push(*item),
                None => {
                    let help = format!("there are: {}", names().collect::<Vec<_>>().join(", "));
                    self.error(word, format!("`{asked}` is none of those that can be measured"), Some(help));
                    return None;
                }
            }
        }
        Some(if picked.is_empty() { known.iter().map(|(_, item)| *item).collect() } else { picked })
    }

    fn checksums(&mut self, value: &str, word: &Word) {
        if let Some(picked) = self.picked(CHECKSUMS, value, word) {
            self.line.at_once = Some(Action::Serve(Service::Checksums(picked)));
        }
    }

    fn copies(&mut self, value: &str, word: &Word) {
        let known = Copying::ALL.map(|copying| (copying.word(), copying));
        if let Some(picked) = self.picked(&known, value, word) {
            self.line.at_once = Some(Action::Serve(Service::Copies(picked)));
        }
    }

    fn idle(&mut self, value: &str, word: &Word) {
        match value {
            "system" => self.line.tool.idle = Some(IdleReport::System),
            "percpu" => self.line.tool.idle = Some(IdleReport::PerCpu),
            "calibrate" => self.line.at_once = Some(Action::Serve(Service::Calibrate)),
            _ => self.error(word, format!("`{value}` is none of: system, percpu, calibrate"), None),
        }
    }

    fn debug(&mut self, value: &str, word: &Word) {
        let names = || TOPICS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        if matches!(value, "help" | "?") {
            self.line.at_once = Some(Action::Print(format!("topics of --debug: {},all,job:N\n", names())));
            return;
        }
        for topic in value.split(',').map(str::trim) {
            if !self.line.tool.debug.add(topic) {
                let near = suggest::nearest(topic, TOPICS.iter().map(|(name, _)| *name));
                let help = near.map_or(format!("there are: {}", names()), |near| format!("did you mean `{near}`?"));
                return self.error(word, format!("`{topic}` is nothing that can be traced"), Some(help));
            }
        }
    }

    fn section(&mut self, value: &str, word: &Word) {
        if value.starts_with("global") {
            let help = "the global sections always apply; name a job's section".to_owned();
            return self.error(word, "a global section holds no job", Some(help));
        }
        self.line.only.push(value.to_owned());
    }

    fn formats(&mut self, value: &str, word: &Word) {
        for format in value.split(',').map(str::trim) {
            match format {
                "normal" => self.line.tool.formats.push(OutputFormat::Normal),
                "json" => self.line.tool.formats.push(OutputFormat::Json),
                "json+" => self.line.tool.formats.push(OutputFormat::JsonPlus),
                "terse" | "minimal" | "csv" => self.line.tool.formats.push(OutputFormat::Terse),
                _ => {
                    let near = suggest::nearest(format, ["normal", "json", "json+", "terse"]);
                    let help = near.map(|near| format!("did you mean `{near}`?"));
                    self.error(word, format!("`{format}` is no output format"), help);
                }
            }
        }
        self.line.tool.formats.dedup();
    }

    fn also(&mut self, value: &str, word: &Word) {
        let named = value.split_once(':').filter(|(_, file)| !file.is_empty());
        let found = named.and_then(|(word, file)| Some((DocumentFormat::of_word(word)?, file)));
        match found {
            Some((format, file)) => self.line.tool.also.push((format, file.into())),
            None => {
                let words: Vec<&str> = DocumentFormat::ALL.iter().map(|format| format.word()).collect();
                let help = format!("a format, a colon, a file; formats are: {}", words.join(", "));
                self.error(word, format!("`{value}` names no format and file"), Some(help));
            }
        }
    }

    /// A port alone is one of this machine for itself: who wants others to read it says so.
    fn listen(&mut self, value: &str, word: &Word) {
        let own = value.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        match own.or_else(|_| value.parse()) {
            Ok(address) => self.line.tool.listen = Some(address),
            Err(_) => {
                let help = "a port (of 127.0.0.1), or an address and a port: `127.0.0.1:9101`, `[::1]:9101`".to_owned();
                self.error(word, format!("`{value}` is no address to listen at"), Some(help));
            }
        }
    }

    fn terse_version(&mut self, value: &str, word: &Word) {
        match value {
            "2" | "3" | "4" | "5" => self.line.tool.terse_version = value.parse().unwrap_or_default(),
            _ => self.error(word, format!("`{value}` is none of: 2, 3, 4, 5"), None),
        }
    }

    fn eta(&mut self, value: &str, word: &Word) {
        self.line.tool.eta = match value {
            "always" => Eta::Always,
            "never" => Eta::Never,
            "auto" => Eta::Auto,
            _ => return self.error(word, format!("`{value}` is none of: always, never, auto"), None),
        };
    }

    fn eta_interval(&mut self, word: &Word) {
        match self.time(word) {
            Some(ns) if ns < SHORTEST_ETA_NS => self.error(word, "250 ms is the shortest interval", None),
            Some(ns) => self.line.tool.eta_interval_ns = ns,
            None => {}
        }
    }

    fn time(&mut self, word: &Word) -> Option<u64> {
        let value = word.value.as_deref().unwrap_or_default();
        match grammar::parse(&Kind::Time(TimeUnit::Seconds), value, 1024, Reading::Plain) {
            Ok((Value::Nanos(ns), _)) => Some(ns),
            Ok(_) => None,
            Err(fault) => {
                self.report.error(&word.place_in_value(&fault.span), fault.message, fault.help);
                None
            }
        }
    }
}

/// fio's net engine has an option of the same name as one of ours, `listen`: a truth, where ours is an address.
fn by_value(meaning: Meaning, inline: Option<&str>) -> Meaning {
    match (&meaning, inline) {
        (Meaning::Tool(row), None | Some("" | "0" | "1")) if row.name == "listen" => all_options()
            .find(|option| option.name == row.name)
            .map_or(Meaning::Unknown, |option| Meaning::Job(option.name, option)),
        _ => meaning,
    }
}

/// What the line asks for, when all is well and nothing is to be done at once.
pub(crate) fn action(line: &CommandLine, showcmd: impl FnOnce() -> String) -> Action {
    if line.showcmd {
        return Action::Print(showcmd());
    }
    if line.parse_only { Action::ParseOnly } else { Action::Run }
}
