//! The whole way: arguments to an [`Invocation`].

use std::ffi::OsString;
use std::rc::Rc;

use crate::api::{Action, Diagnostic, Host, Invocation, Source, ToolOptions};
use crate::assemble::{Assembler, Built, Settings};
use crate::cli::{self, CommandLine};
use crate::help;
use crate::job::{Job, OptionWord};
use crate::jobfile;
use crate::profile;
use crate::report::Report;
use crate::rules;
use crate::words::{Section, Spot};

/// Understands a command line (without the program's name), job files and all.
///
/// # Errors
///
/// Everything that is wrong, at once, with its place; warnings among it.
pub fn parse_command_line(args: &[OsString], host: &Host, source: &dyn Source) -> Result<Invocation, Vec<Diagnostic>> {
    let mut report = Report::default();
    let line = cli::parse(args, source, &mut report);
    if let Some(action) = line.at_once {
        return Ok(at_once(action, line.tool));
    }
    let settings = Settings { strict: line.strict, fio_exact: line.fio_exact, readonly: line.tool.readonly };
    let mut collector = Collector {
        assembler: Assembler { settings, host, source, report: &mut report },
        global_words: Vec::new(),
        templates: Vec::new(),
        jobs: Vec::new(),
    };
    collector.collect(&line, host, source);
    let Collector { global_words, templates, jobs, .. } = collector;
    rules::waits(&jobs, &mut report);
    let jobs: Vec<Job> = jobs.into_iter().map(|(job, _)| job).collect();
    if line.tool.warnings_fatal {
        report.warnings_are_fatal();
    }
    if jobs.is_empty() && !report.failed() && !line.parse_only {
        report.general("No job(s) defined", "name a job file, or give --name=JOB and its options; see --help");
    }
    if report.failed() {
        return Err(report.into_list());
    }
    let action = cli::action(&line, || help::showcmd(&templates, &jobs));
    let profile = line.profile.as_ref().map(|(profile, _)| profile.name.to_owned());
    Ok(Invocation { action, tool: line.tool, global_words, jobs, profile, diagnostics: report.into_list() })
}

fn at_once(action: Action, tool: ToolOptions) -> Invocation {
    Invocation { action, tool, global_words: Vec::new(), jobs: Vec::new(), profile: None, diagnostics: Vec::new() }
}

struct Collector<'a> {
    assembler: Assembler<'a>,
    global_words: Vec<OptionWord>,
    /// For each job the words of the template that it took.
    templates: Vec<Rc<Vec<OptionWord>>>,
    /// With the place that each is declared at.
    jobs: Vec<(Job, Spot)>,
}

impl Collector<'_> {
    fn collect(&mut self, line: &CommandLine, host: &Host, source: &dyn Source) {
        let profile = self.profile(line, host);
        let template = self.sections(Built::default(), profile.as_ref().unwrap_or(&line.sections), None, false);
        for (index, (path, spot)) in line.files.iter().enumerate() {
            let sections = jobfile::read(path, spot, host, source, self.assembler.report);
            self.sections(template.clone(), &sections, Some(&line.only), index > 0);
        }
    }

    /// The sections of a profile. What the line says for all jobs stands above what the profile says for them.
    fn profile(&mut self, line: &CommandLine, host: &Host) -> Option<Vec<Section>> {
        let (profile, asked_at) = line.profile.as_ref()?;
        let report = &mut *self.assembler.report;
        if line.sections.len() > 1 || !line.files.is_empty() {
            let help = "leave out --name and job files, or the profile";
            report.error(asked_at, "a profile brings jobs of its own", Some(help.to_owned()));
            return Some(Vec::new());
        }
        let mut sections = profile::sections(profile, asked_at, &line.profile_words, host, report);
        let at = sections.len().min(1);
        sections.splice(at..at, line.sections.iter().cloned());
        Some(sections)
    }

    /// Applies sections in order and returns the template at the end. `only` names the sections of a job file that
    /// are wanted (none named: all); it is `None` for the command line. With `barrier` the first job is a stonewall.
    fn sections(
        &mut self,
        mut template: Built,
        sections: &[Section],
        only: Option<&[String]>,
        mut barrier: bool,
    ) -> Built {
        for section in sections {
            if section.is_global() {
                template = self.assembler.apply(&template, section, only.is_none());
                Rc::make_mut(&mut template.above).extend(template.words.iter().cloned());
                self.global_words.append(&mut template.words);
                continue;
            }
            if only.is_some_and(|names| !names.is_empty() && !names.contains(&section.name)) {
                continue;
            }
            let mut built = self.assembler.apply(&template, section, only.is_none());
            built.draft.job.stonewall |= std::mem::take(&mut barrier);
            self.templates.push(Rc::clone(&built.above));
            let settings = self.assembler.settings;
            let job = rules::finish(built, &section.spot, settings, self.assembler.report);
            self.jobs.push((job, section.spot.clone()));
        }
        template
    }
}
