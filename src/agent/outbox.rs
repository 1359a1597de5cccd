//! Events on their way out: one writer, so that lines never mix.

use std::io::Write;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::protocol::Event;

/// Where activities put their events. Clones share one writer.
#[derive(Clone)]
pub struct Outbox {
    events: Sender<Option<Event>>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Outbox {
    /// Starts the writer. It ends quietly when the output is gone: then nobody listens.
    pub fn start(mut output: impl Write + Send + 'static) -> Self {
        let (events, incoming) = channel::<Option<Event>>();
        let writer = thread::spawn(move || {
            while let Ok(Some(event)) = incoming.recv() {
                let Ok(mut line) = serde_json::to_vec(&event) else { continue };
                line.push(b'\n');
                if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                    return;
                }
            }
        });
        Self { events, writer: Arc::new(Mutex::new(Some(writer))) }
    }

    /// Sends one event.
    pub fn send(&self, event: Event) {
        // It fails only when the output is gone, and then nobody listens.
        let _ = self.events.send(Some(event));
    }

    /// Waits until everything sent so far is written.
    pub fn finish(&self) {
        let _ = self.events.send(None);
        if let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = writer.join();
        }
    }
}
