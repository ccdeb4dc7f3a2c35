//! `--listen`: metrics, and the page, for whoever asks while the run goes on.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use iostrata_report::metrics::{self, Dialect};
use iostrata_report::{RenderOptions, html};
use iostrata_result::RunResult;
use tiny_http::{Header, Method, Request, Response, Server};

/// How often what is served is made anew, nanoseconds.
pub(crate) const SNAPSHOT_NS: u64 = 1_000_000_000;
/// A browser fetches the page again after so many seconds.
const PAGE_SECONDS: &str = "5";

/// The server, in a thread of its own; it ends with this.
pub(crate) struct Listener {
    latest: Arc<Mutex<Option<Arc<RunResult>>>>,
    server: Arc<Server>,
}

impl Listener {
    /// Begins to listen, and says where.
    pub(crate) fn start(address: SocketAddr) -> anyhow::Result<Listener> {
        let server = Server::http(address).map_err(|error| anyhow!("--listen={address}: {error}"))?;
        let server = Arc::new(server);
        let latest: Arc<Mutex<Option<Arc<RunResult>>>> = Arc::default();
        if let Some(at) = server.server_addr().to_ip() {
            crate::output::complain(&format!("iostrata: metrics at http://{at}/metrics, a page at http://{at}/\n"));
        }
        let (serving, shared) = (Arc::clone(&server), Arc::clone(&latest));
        let work = move || {
            iostrata_os::signals::block_in_this_thread();
            for request in serving.incoming_requests() {
                let run = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                answer(request, run.as_deref());
            }
        };
        std::thread::Builder::new().name("listen".into()).spawn(work)?;
        Ok(Listener { latest, server })
    }

    /// What is served from now on.
    pub(crate) fn show(&self, run: RunResult) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(run));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

fn answer(request: Request, run: Option<&RunResult>) {
    let path = request.url().split('?').next().unwrap_or_default().to_owned();
    if !matches!(request.method(), Method::Get | Method::Head) {
        return send(
            request,
            405,
            "text/plain; charset=utf-8",
            &[("Allow", "GET, HEAD")],
            "only GET and HEAD\n".into(),
        );
    }
    match path.as_str() {
        "/metrics" => {
            let accept = request.headers().iter().find(|header| header.field.equiv("Accept"));
            let dialect = Dialect::of_accept(accept.map_or("", |header| header.value.as_str()));
            send(request, 200, dialect.content_type(), &[], metrics::render(run, dialect));
        }
        "/" => {
            let page = match run {
                Some(run) => html::render(run, &RenderOptions::default()),
                None => html::waiting("The jobs have not begun yet."),
            };
            send(request, 200, "text/html; charset=utf-8", &[("Refresh", PAGE_SECONDS)], page);
        }
        _ => send(request, 404, "text/plain; charset=utf-8", &[], "there are / and /metrics\n".into()),
    }
}

fn send(request: Request, status: u16, kind: &str, more: &[(&str, &str)], body: String) {
    let mut response = Response::from_string(body).with_status_code(status);
    let always = [("Content-Type", kind), ("Cache-Control", "no-store")];
    for (name, value) in always.iter().chain(more) {
        if let Ok(header) = Header::from_bytes(*name, *value) {
            response.add_header(header);
        }
    }
    // Who went away needs no answer.
    let _ = request.respond(response);
}
