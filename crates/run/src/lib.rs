//! Runs jobs: plan, layout, worker loops, and the document at the end.
//!
//! [`plan()`] turns jobs into workers with files and regions; [`execute()`] lays the files out, starts the workers
//! stage by stage, watches them, and hands a [`iostrata_result::RunResult`] to a [`Sink`], whatever happens.
#![deny(missing_docs)]

mod attend;
mod budget;
pub mod buffers;
mod clock;
mod collect;
mod disks;
mod error;
mod execute;
mod flow;
mod gate;
pub mod generate;
mod group;
mod helpers;
mod idle;
mod latency_target;
mod layout;
mod live;
mod locks;
pub mod pace;
mod plan;
mod progress;
mod recorder;
mod regions;
mod remarks;
mod replay;
mod room;
mod sampler;
mod settings;
mod stage;
mod trace;
mod verify;
mod worker;
mod zones;

pub use attend::Trigger;
pub use collect::{facts, workload_name};
pub use error::{Refused, RunError};
pub use execute::{Context, Event, Sink, execute, refuse};
pub use idle::unit_work_ns;
pub use layout::Laid;
pub use live::{Ending, State};
pub use plan::{FilePlan, Plan, WorkerPlan, file_names, plan};
pub use progress::Progress;
pub use recorder::LogSender;
pub use replay::merge_traces;
pub use room::ToMake;
pub use trace::trace_line;
pub use verify::checksum;
