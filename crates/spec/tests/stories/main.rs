//! The language as a person uses it: command lines and job files in, jobs and diagnostics out.

mod against_fio;
mod carried_out;
mod command_line;
mod corpus;
mod diagnostics;
mod documents;
mod every_message;
mod job_files;
mod misreadings;
mod pacing;
mod profiles;
mod rules;
mod values;
mod world;
