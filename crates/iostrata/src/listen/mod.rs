//! `--listen`: metrics, and the page, for whoever asks while the run goes on.

mod http;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use iostrata_report::metrics::{self, Dialect};
use iostrata_report::{RenderOptions, html};
use iostrata_result::RunResult;

use self::http::{Answer, Request, Server};

/// How often what is served is made anew, nanoseconds.
pub(crate) const SNAPSHOT_NS: u64 = 1_000_000_000;

/// The server, and what it serves; it ends with this.
pub(crate) struct Listener {
    latest: Arc<Mutex<Option<Arc<RunResult>>>>,
    server: Server,
}

impl Listener {
    /// Begins to listen.
    pub(crate) fn start(address: SocketAddr) -> anyhow::Result<Listener> {
        let latest: Arc<Mutex<Option<Arc<RunResult>>>> = Arc::default();
        let shared = Arc::clone(&latest);
        let serve = move |request: &Request| {
            let run = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // Who listens for others has a name among them.
            if address.ip().is_loopback() && !request.is_for_this_machine() {
                return Answer::text("421 Misdirected Request", "this is not the host that was asked for\n");
            }
            answer(request, run.as_deref())
        };
        let server = Server::start(address, serve).map_err(|error| anyhow!("--listen={address}: {error}"))?;
        Ok(Listener { latest, server })
    }

    /// A line that says where.
    pub(crate) fn place(&self) -> String {
        let at = self.server.address;
        format!("iostrata: metrics at http://{at}/metrics, a page at http://{at}/\n")
    }

    /// What is served from now on.
    pub(crate) fn show(&self, run: RunResult) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(run));
    }
}

fn answer(request: &Request, run: Option<&RunResult>) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET" | "HEAD", "/metrics") => {
            let dialect = Dialect::of_accept(&request.accept);
            Answer { status: "200 OK", kind: dialect.content_type(), fields: &[], body: metrics::render(run, dialect) }
        }
        ("GET" | "HEAD", "/") => {
            let body = match run {
                Some(run) => html::render(run, &RenderOptions::default()),
                None => html::waiting("The jobs have not begun yet."),
            };
            // A browser fetches the page again after so many seconds.
            Answer { status: "200 OK", kind: "text/html; charset=utf-8", fields: &[("Refresh", "5")], body }
        }
        ("GET" | "HEAD", _) => Answer::text("404 Not Found", "there are / and /metrics\n"),
        _ => Answer {
            fields: &[("Allow", "GET, HEAD")],
            ..Answer::text("405 Method Not Allowed", "only GET and HEAD\n")
        },
    }
}
