//! A fault in our own code is one job's error: the others run to their end, and everything that was counted is
//! reported.

use std::path::Path;
use std::sync::Arc;

use iostrata_device::Guard;
use iostrata_engine::{
    Availability, Caps, Completions, Deadline, Engine, EngineConfig, EngineError, EngineSpec, FileTable, Granted,
    Instance, Io, SlotArena, Stuck, SyncOp, registry,
};
use iostrata_os::signals::Signals;
use iostrata_result::{End, RunResult};
use iostrata_run::{Context, Event, Sink, execute, plan};
use iostrata_spec::{Host, Source, parse_command_line};

/// The call in which the engines below panic.
const LAST: u32 = 10;

/// Answers at once, until it panics.
#[derive(Default)]
struct Panicking {
    calls: u32,
}

impl Panicking {
    fn count(&mut self) {
        self.calls += 1;
        assert!(self.calls < LAST, "call {LAST} was one too many");
    }
}

impl SyncOp for Panicking {
    fn attach(&mut self, _: &FileTable, _: Arc<SlotArena>) -> Result<Granted, EngineError> {
        Ok(Granted { depth: 1, used: Vec::new(), notes: Vec::new() })
    }

    fn call(&mut self, io: &Io) -> i32 {
        self.count();
        io.len as i32
    }
}

impl Engine for Panicking {
    fn attach(&mut self, _: &FileTable, _: Arc<SlotArena>, depth: u32) -> Result<Granted, EngineError> {
        Ok(Granted { depth, used: Vec::new(), notes: Vec::new() })
    }

    fn submit(&mut self, ios: &[Io], done: &mut Completions) -> Result<usize, EngineError> {
        for io in ios {
            self.count();
            done.push(iostrata_engine::Completion { slot: io.slot, result: io.len as i32 });
        }
        Ok(ios.len())
    }

    fn reap(&mut self, _: u32, _: Deadline, _: &mut Completions) -> Result<(), EngineError> {
        Ok(())
    }

    fn quiesce(&mut self, _: Deadline, _: &mut Completions) -> Stuck {
        Stuck::default()
    }
}

static AT_ONCE: EngineSpec = EngineSpec {
    name: "psync",
    caps: Caps { diskless: true, ..Caps::SYNCHRONOUS },
    doc: "panics",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Sync(Box::<Panicking>::default())),
};

static IN_FLIGHT: EngineSpec = EngineSpec {
    name: "posixaio",
    caps: Caps { diskless: true, ..Caps::ASYNCHRONOUS },
    doc: "panics",
    availability: || Availability::Here,
    make: |_: &EngineConfig| Ok(Instance::Async(Box::<Panicking>::default())),
};

/// A world without files and variables.
struct Nowhere;

impl Source for Nowhere {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn exists(&self, _: &Path) -> bool {
        false
    }
}

struct Keep(Option<RunResult>);

impl Sink for Keep {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Done(result) = event {
            self.0 = Some(*result);
        }
    }
}

fn run(words: &str) -> RunResult {
    let host = Host { page_size: 4096, cpus: 2, memory_bytes: 1 << 30, macos: cfg!(target_os = "macos") };
    let words: Vec<_> = words.split_whitespace().map(Into::into).collect();
    let jobs = parse_command_line(&words, &host, &Nowhere).unwrap().jobs;
    let find = |name: &str| match name {
        "psync" => Some(&AT_ONCE),
        "posixaio" => Some(&IN_FLIGHT),
        other => registry::find(other),
    };
    let plan = plan(&jobs, find, 1).unwrap();
    let context = Context {
        status_ns: None,
        snapshot_ns: None,
        trigger: Default::default(),
        aux_folder: Path::new("").into(),
        guard: Arc::new(Guard::admit(&[], &[], false).unwrap()),
        signals: Signals::install().unwrap(),
        grace_ns: 1_000_000_000,
        progress_ns: None,
        command_line: Vec::new(),
        global_options: Vec::new(),
        tool_version: "test".into(),
        notes: Vec::new(),
        logs: None,
        debug: Default::default(),
        idle: None,
    };
    let mut keep = Keep(None);
    execute(&plan, context, &mut keep);
    keep.0.unwrap()
}

#[test]
fn a_panic_in_a_worker_is_that_jobs_error_and_nobody_elses() {
    // The panics' messages on standard error are no part of the story.
    std::panic::set_hook(Box::new(|_| {}));
    let result = run(
        "--size=1m --rw=read --name=sync --ioengine=psync --name=async --ioengine=posixaio --iodepth=4 --name=good \
         --ioengine=null",
    );
    let _ = std::panic::take_hook();
    assert_eq!(result.end, End::Finished);
    for failed in &result.workers[..2] {
        let text = failed.error_text.as_deref().unwrap();
        assert_eq!(failed.error, libc::EFAULT, "{text}");
        assert!(text.contains(&failed.job.name) && text.contains("call 10 was one too many"), "{text}");
        assert!(text.contains("please report it"), "{text}");
        // What was done before the panic stays counted: all of it, or all but the batch that panicked.
        let ios = failed.read.as_ref().unwrap().ios;
        assert!((4..u64::from(LAST)).contains(&ios), "{ios} I/Os of {}", failed.job.name);
    }
    let good = &result.workers[2];
    assert_eq!((good.error, good.read.as_ref().unwrap().bytes), (0, 1 << 20));
}
