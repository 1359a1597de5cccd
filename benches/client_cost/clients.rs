//! The four clients, each in a process of its own, and what a transaction costs them and the server.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::{SysconfVar, sysconf};

use super::server::Server;
use super::{THREADS, bare, floor, memory, ours, workload_named};

/// What sysbench prints once all connections are made and all statements prepared. The others print it too:
/// what comes before does not count.
pub const STARTED: &str = "Threads started!";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Sysbench,
    Drivestone,
    /// A loop on the `mysql` crate.
    Bare,
    Floor,
}

/// Of one run; times are processor time a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub user_us: f64,
    pub system_us: f64,
    pub server_us: f64,
    pub tps: f64,
}

impl Cost {
    pub fn total_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

impl Client {
    pub const ALL: [Client; 4] = [Client::Sysbench, Client::Drivestone, Client::Bare, Client::Floor];

    pub fn name(self) -> &'static str {
        match self {
            Client::Sysbench => "sysbench",
            Client::Drivestone => "drivestone",
            Client::Bare => "mysql crate",
            Client::Floor => "floor",
        }
    }

    fn command(self, workload: &str, server: &Server, seconds: u64) -> Command {
        match self {
            Client::Sysbench => server.sysbench(workload, "run", seconds),
            _ => this_as(self.name(), workload, &server.socket(), seconds),
        }
    }

    /// Runs it once.
    pub fn measure(self, workload: &str, server: &Server, seconds: u64) -> Cost {
        let reaped_before = reaped_us();
        let mut child = self.command(workload, server, seconds).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let lines = started(&mut output);
        let (client_before, server_before) = (processor_us(child.id()), processor_us(server.pid()));
        let rest: Vec<String> = lines.collect();
        let server_after = processor_us(server.pid());
        let status = child.wait().unwrap();
        assert!(status.success(), "{} ended with {status}: {rest:?}", self.name());
        let reaped = reaped_us();
        let (transactions, elapsed_s) = figures(&rest);
        let client = |at: usize| (reaped[at] - reaped_before[at] - client_before[at]) / transactions;
        let server_us: f64 = [0, 1].iter().map(|&at| server_after[at] - server_before[at]).sum();
        Cost {
            user_us: client(0),
            system_us: client(1),
            server_us: server_us / transactions,
            tps: transactions / elapsed_s,
        }
    }
}

/// This bench as one of its clients.
pub fn this_as(client: &str, workload: &str, socket: &Path, seconds: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--client", client, workload]).arg(socket).arg(seconds.to_string());
    command
}

/// Waits until a client says that it has started; the lines that follow.
pub fn started(output: &mut ChildStdout) -> impl Iterator<Item = String> {
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    lines.find(|line| line == STARTED).unwrap();
    lines
}

/// Transactions and seconds, from the lines of sysbench's report or of [`report`].
fn figures(lines: &[String]) -> (f64, f64) {
    let first = |name: &str| -> f64 {
        let line = lines.iter().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().trim_end_matches('s').parse().unwrap()
    };
    (first("transactions:"), first("total time:"))
}

/// What a client of ours says at its end.
pub fn report(transactions: u64, elapsed_s: f64) {
    println!("transactions: {transactions}\ntotal time: {elapsed_s}s");
}

/// Runs one of our clients in this process.
pub fn run_here(client: &str, workload: &str, socket: &Path, seconds: u64) {
    let shown = std::panic::take_hook();
    // Threads that wait for each other would wait for ever for one that panicked.
    std::panic::set_hook(Box::new(move |panic| {
        shown(panic);
        std::process::exit(101);
    }));
    let workload = workload_named(workload);
    match client {
        "drivestone" => ours::run(workload, THREADS, socket, seconds),
        "mysql crate" => bare::run(workload, socket, seconds),
        "floor" => floor::run(workload, socket, seconds),
        "memory" => memory::run_here(workload, socket, seconds),
        other => panic!("no such client: {other}"),
    }
}

/// User and system time of the children that have ended, µs.
fn reaped_us() -> [f64; 2] {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    [usage.user_time(), usage.system_time()].map(|time| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64)
}

/// User and system time of a process that runs, µs.
fn processor_us(pid: u32) -> [f64; 2] {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let tick_us = 1e6 / sysconf(SysconfVar::CLK_TCK).unwrap().unwrap() as f64;
    [11, 12].map(|at: usize| fields[at].parse::<f64>().unwrap() * tick_us)
}
