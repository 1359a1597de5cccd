//! What a transaction costs the load host: drivestone against sysbench, a bare loop on the `mysql` crate,
//! and the floor, which only sends the same requests and finds the ends of the answers.
//!
//! `cargo bench --bench client_cost [-- ROUNDS [SECONDS]]`: starts a private server under
//! `DRIVESTONE_BENCH_DIR` (or /var/tmp), needs sysbench 1.0, and removes everything afterwards.
//!
//! The machine drifts, so the four run in turn, briefly, in an order that moves on each round; ratios are
//! of neighbours in one round, and their median has a confidence interval.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints its figures, and stops where it cannot go on"
)]

#[path = "client_cost/bare.rs"]
mod bare;
#[path = "client_cost/clients.rs"]
mod clients;
#[path = "client_cost/floor.rs"]
mod floor;
#[path = "client_cost/memory.rs"]
mod memory;
#[path = "client_cost/ours.rs"]
mod ours;
#[path = "shared/pairs.rs"]
mod pairs;
#[path = "client_cost/server.rs"]
mod server;

use std::path::Path;

use clients::{Client, Cost};
use drivestone::workload::{KeyDistribution, Workload, WorkloadKind};
use pairs::Ratio;
use server::Server;

const ROUNDS: usize = 15;
const SECONDS: u64 = 3;
const THREADS: u32 = 32;
const TABLES: u32 = 10;
/// Fits the buffer pool: what differs is the clients.
const ROWS: u64 = 50_000;
const WORKLOADS: [&str; 2] = ["oltp_point_select", "oltp_read_write"];
/// Of the run whose memory is looked at.
const MANY_THREADS: u32 = 128;
const MANY_TABLES: u32 = 100;
const MEMORY_SECONDS: u64 = 20;

/// One of a run's figures.
type Figure = fn(&Cost) -> f64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [flag, client, workload, socket, seconds] = arguments.as_slice()
        && flag == "--client"
    {
        return clients::run_here(client, workload, Path::new(socket), seconds.parse().unwrap());
    }
    let number = |at: usize| arguments.get(at).map(|text| text.parse::<u64>().unwrap());
    let rounds = number(0).map_or(ROUNDS, |n| usize::try_from(n).unwrap());
    let seconds = number(1).unwrap_or(SECONDS);
    let server = Server::start();
    server.load();
    for workload in WORKLOADS {
        compare(workload, &server, rounds, seconds);
    }
    server.add_tables();
    memory::measure("oltp_read_write", &server, MEMORY_SECONDS);
}

/// A workload with sysbench's defaults on the tables of this bench.
fn workload_named(name: &str) -> Workload {
    let kind = WorkloadKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap();
    Workload::new(kind, TABLES, ROWS, KeyDistribution::Uniform)
}

/// Runs all clients in turn, `rounds` times, and prints what they cost and their ratios.
fn compare(workload: &str, server: &Server, rounds: usize, seconds: u64) {
    println!("{workload}, {THREADS} threads, {TABLES} × {ROWS} rows, {rounds} rounds of {seconds} s");
    let mut costs: Vec<[Cost; 4]> = Vec::new();
    for round in 0..rounds {
        let mut row = [Cost::default(); 4];
        for turn in 0..4 {
            let at = (round + turn) % 4;
            row[at] = Client::ALL[at].measure(workload, server, seconds);
        }
        costs.push(row);
    }
    print_costs(&costs);
    print_ratios(&costs);
}

fn print_costs(costs: &[[Cost; 4]]) {
    let header = ["client µs", "user µs", "system µs", "server µs", "TPS"];
    println!("{:<12} {}", "median", header.map(|name| format!("{name:>10}")).join(" "));
    for (at, client) in Client::ALL.iter().enumerate() {
        let of = |figure: Figure| {
            let median = median(costs.iter().map(|row| figure(&row[at])).collect());
            format!("{median:>10.1}")
        };
        let figures = [
            of(Cost::total_us),
            of(|cost| cost.user_us),
            of(|cost| cost.system_us),
            of(|cost| cost.server_us),
            of(|cost| cost.tps),
        ];
        println!("{:<12} {}", client.name(), figures.join(" "));
    }
}

fn print_ratios(costs: &[[Cost; 4]]) {
    let figures: [(&str, Figure); 4] = [
        ("client", Cost::total_us),
        ("user", |cost| cost.user_us),
        ("server", |cost| cost.server_us),
        ("TPS", |cost| cost.tps),
    ];
    // Places in `Client::ALL`.
    for (ours, theirs) in [(1, 0), (1, 2), (1, 3), (2, 0), (0, 3)] {
        println!("{} / {}", Client::ALL[ours].name(), Client::ALL[theirs].name());
        for (name, figure) in figures {
            let pairs: Vec<_> = costs.iter().map(|row| (figure(&row[ours]), figure(&row[theirs]))).collect();
            println!("  {name:<7} {}", Ratio::of(&pairs));
        }
    }
    println!();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
