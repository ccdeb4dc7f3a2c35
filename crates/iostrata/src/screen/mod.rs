//! `--live`: the run on the whole screen.

mod draw;

use std::io::{IsTerminal, Stdout};

use anyhow::{Context as _, bail};
use iostrata_os::terminal::{FullScreen, give_back};
use iostrata_result::RunResult;
use iostrata_run::{Plan, Progress};
use ratatui::Terminal;
use ratatui::backend::{Backend as _, CrosstermBackend};

use self::draw::Picture;
use crate::output::complain;

/// How often it is drawn, nanoseconds.
pub(crate) const DRAW_NS: u64 = 250_000_000;

/// The screen. When it goes, the terminal is as it was, and what was to be said meanwhile is said.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    full: FullScreen,
    picture: Picture,
    held_back: Vec<String>,
}

impl Screen {
    /// Takes over the terminal.
    pub(crate) fn open() -> anyhow::Result<Screen> {
        if !std::io::stdout().is_terminal() {
            bail!(
                "--live needs a terminal, and standard output is none: --eta=always shows the progress anywhere, and \
                 --listen=PORT shows the run in a browser"
            );
        }
        let terminal = Terminal::new(CrosstermBackend::new(std::io::stdout())).context("the terminal")?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        let full = FullScreen::enter().context("the terminal")?;
        Ok(Screen { terminal, full, picture: Picture::default(), held_back: Vec::new() })
    }

    /// The jobs of the run.
    pub(crate) fn planned(&mut self, plan: &Plan) {
        self.picture.planned(plan);
        self.draw();
    }

    /// How far it is.
    pub(crate) fn progress(&mut self, progress: &Progress) {
        self.picture.progress = progress.clone();
        self.draw();
    }

    /// What is known now.
    pub(crate) fn snapshot(&mut self, run: RunResult) {
        self.picture.run = Some(run);
        self.draw();
    }

    /// A sentence that would have gone to standard error: the last is shown, all are said in the end.
    pub(crate) fn say(&mut self, text: &str) {
        self.picture.said = text.trim_end().to_owned();
        self.held_back.push(text.to_owned());
        self.draw();
    }

    /// The next picture is drawn whole. The terminal is asked nothing: it would have to answer through the keyboard.
    fn begin_anew(&mut self) {
        if let Ok(mut terminal) = Terminal::new(CrosstermBackend::new(std::io::stdout())) {
            let _ = terminal.backend_mut().clear();
            self.terminal = terminal;
        }
    }

    fn draw(&mut self) {
        if self.full.is_there() {
            // A terminal that went away is told of when the report is written.
            if self.full.was_emptied() {
                self.begin_anew();
            }
            let _ = self.terminal.draw(|frame| self.picture.draw(frame));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        self.held_back.iter().for_each(|text| complain(text));
    }
}
