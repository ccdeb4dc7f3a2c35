//! A job in the making: the typed job, and the few facts that only the rules at the end need.

use crate::job::*;

/// What options write into, before the rules make a [`Job`] of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The job so far.
    pub job: Job,
    /// `randrepeat`.
    pub rand_repeat: bool,
    /// `randseed`.
    pub rand_seed: Option<u64>,
    /// What has a grammar of its own.
    pub texts: Texts,
}

/// Values that the rules take apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// `ignore_error`.
    pub ignore_error: Option<String>,
    /// `mem`.
    pub memory: Option<String>,
    /// `replay_skip`.
    pub replay_skip: Option<String>,
    /// `numa_cpu_nodes`.
    pub numa_cpu_nodes: Option<String>,
    /// `numa_mem_policy`.
    pub numa_mem_policy: Option<String>,
    /// `plids`.
    pub placement_ids: Option<String>,
}

impl Draft {
    /// A job of which nothing was said.
    pub fn new() -> Self {
        Draft { job: default_job(), rand_repeat: true, rand_seed: None, texts: Texts::default() }
    }
}

impl Default for Draft {
    fn default() -> Self {
        Draft::new()
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers {
            zero: false,
            refill: false,
            scramble: true,
            pattern: None,
            compress_percent: 0,
            compress_chunk_bytes: 512,
            dedupe_percent: None,
            dedupe_mode: DedupeMode::Repeat,
            dedupe_set_percent: 5,
            dedupe_global: false,
        }
    }
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
            lat: true,
            clat: true,
            slat: true,
            samples: true,
            gtod_reduce: false,
            bw_window_ms: 500,
            iops_window_ms: 500,
        }
    }
}

impl Default for Reporting {
    fn default() -> Self {
        Reporting {
            group: false,
            kb_base: 1024,
            unit_base: 0,
            percentiles: Percentiles::default(),
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
            significant_figures: 4,
            unified: Unified::None,
            disk_util: true,
            odd_sizes: std::collections::BTreeMap::new(),
            block_lives: false,
            hidden: false,
        }
    }
}

fn default_job() -> Job {
    Job {
        name: String::new(),
        section: String::new(),
        description: None,
        words: Vec::new(),
        clones: 1,
        thread: false,
        stonewall: false,
        new_group: false,
        start_delay_ns: (0, 0),
        order: Order::default(),
        flow: Flow::default(),
        errors: ErrorRules::default(),
        process: Process::default(),
        cpus: Vec::new(),
        cpu_policy: CpuPolicy::Shared,
        engine: crate::engines::DEFAULT.to_owned(),
        engine_options: EngineOptions::default(),
        workload: Workload { reads: true, writes: false, trims: false, random: false, modifier: None },
        block_size: PerDirection::all(4096),
        shape: IoShape::default(),
        mix_read_percent: 50,
        depth: 1,
        batch_submit: None,
        batch_complete_min: None,
        batch_complete_max: None,
        depth_low: None,
        submit_mode: SubmitMode::Inline,
        serialize_overlap: false,
        filenames: Vec::new(),
        directories: Vec::new(),
        filename_format: None,
        files: 1,
        open_files: None,
        file_service: FileService::RoundRobin(1),
        file_size: None,
        size: None,
        io_size: None,
        offset: Size::Bytes(0),
        offset_align_bytes: 0,
        offset_increment: Size::Bytes(0),
        number_ios: None,
        loops: 1,
        runtime_ns: 0,
        time_based: false,
        ramp_ns: 0,
        ramp_bytes: 0,
        start_clock: 0,
        steady: SteadyState::default(),
        direct: false,
        sync_flag: SyncFlag::None,
        invalidate: true,
        fadvise: FadviseHint::ByWorkload,
        fallocate: Fallocate::Native,
        overwrite: false,
        create_serialize: true,
        create_fsync: true,
        create_on_open: false,
        create_only: false,
        allow_create: true,
        open_directory: None,
        pre_read: false,
        fill_device: false,
        unlink_each_loop: false,
        unlink: false,
        file_lock: FileLock::None,
        syncs: Syncs::default(),
        append: false,
        write_hint: WriteHint::Unset,
        no_random_map: false,
        seed: Seed::Repeat,
        rate: Rates::default(),
        max_latency_ns: PerDirection::all(None),
        latency_search: LatencySearch::default(),
        think: ThinkTime::default(),
        buffers: Buffers::default(),
        memory: Memory::default(),
        verify: Verify::default(),
        measure: Measure::default(),
        reporting: Reporting::default(),
        logs: Logs::default(),
        record: None,
        replay: Replay::default(),
    }
}
