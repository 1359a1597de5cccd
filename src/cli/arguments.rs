//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// drivestone measures how fast a storage device makes a real database.
///
/// A hardware profile says what is under test and how small the buffer pool must be; a test profile says
/// what runs. drivestone starts a private MariaDB on the device, loads it with sysbench's OLTP
/// transactions, watches the device as iostat does, and says whether the result may be believed.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  drivestone plan hardware/this-machine.yaml profiles/quick.yaml
      what would be created, how large it gets, and what the arithmetic predicts
  drivestone run hardware/this-machine.yaml profiles/quick.yaml
      measure this machine's disk in about two minutes
  drivestone run hardware/dell-r730.yaml profiles/storagereview-oltp.yaml --set threads=64
      the published method with 64 threads instead of 32
  drivestone run hardware/example-ssh-hosts.yaml profiles/quick.yaml --set counts=2,4
      two, then four hosts at once, reached by ssh
  drivestone report reports/runs/* --format html --out comparison.html
      one page for several results
  drivestone import sysbench.log --device 'old SAN volume'
      a result from what sysbench printed

Exit codes: 0 ok, 2 usage, 3 profile or plan refused, 4 preparing failed,
5 run failed or incomplete, 130 interrupted.";

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check two profiles against their hosts, without creating anything
    Check(Profiles),
    /// Show the sizes, the predictions and what would be created, without creating anything
    Plan {
        #[command(flatten)]
        what: Profiles,
        /// Print the plan, the facts found and the verdict as JSON
        #[arg(long)]
        json: bool,
    },
    /// Carry a plan out and leave a result
    Run(Run),
    /// Report results again, at any time and on any machine
    Report(Report),
    /// Show the tree of block devices, or what a path stands on
    Devices(Devices),
    /// Print device statistics, with the columns of `iostat -x`
    Iostat(Iostat),
    /// Print a hardware profile for what is there
    Discover(Discover),
    /// Show what the environments of two results differ in
    Env(Env),
    /// Read a log of sysbench's into a result, to be reported beside others
    Import(Import),
    /// List the virtual machines that crashed runs left on hypervisors, and remove them
    Clean(Clean),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, such as `drivestone man run | man -l -`
    Man {
        /// The page of a subcommand [default: the program's]
        command: Option<String>,
    },
    /// Serve a coordinator over standard input and output (drivestone starts this itself)
    #[command(hide = true)]
    Agent {
        /// Remove the program's file first: it was copied here for this once
        #[arg(long)]
        remove_program: bool,
    },
}

/// Two profiles, and changes to the second.
#[derive(Debug, Args)]
pub struct Profiles {
    /// Hardware profile: the device under test and the buffer pool
    pub hardware: PathBuf,
    /// Test profile: workload, dataset, threads, durations
    pub profile: PathBuf,
    /// Override a value of the test profile, such as threads=64 or server.variables.innodb_io_capacity=500
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
The result is a folder: plan, environment, server configuration and log, and a journal that survives
a crash. Ctrl-C once stops the load and keeps what was measured; a second time ends
everything at once.")]
pub struct Run {
    /// Hardware profile: the device under test and the buffer pool
    #[arg(required_unless_present = "from")]
    pub hardware: Option<PathBuf>,
    /// Test profile: workload, dataset, threads, durations
    #[arg(required_unless_present = "from")]
    pub profile: Option<PathBuf>,
    /// Override a value of the test profile, such as threads=64 or duration=10min
    #[arg(long = "set", value_name = "KEY=VALUE", conflicts_with = "from")]
    pub overrides: Vec<String>,
    /// Repeat the plan and the seeds of a result instead
    #[arg(long, value_name = "RESULT", conflicts_with_all = ["hardware", "profile"])]
    pub from: Option<PathBuf>,
    /// Folder for the result; it must not exist [default: reports/runs/<utc>-<hardware>-<profile>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct Report {
    /// Results: folders that `run` or `import` left
    #[arg(required = true)]
    pub results: Vec<PathBuf>,
    /// What to make [default: what --out ends in, else table]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// File to write [default: standard output]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Put host-1, serial-1, … in place of host names, serial numbers and world-wide names
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `devices`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without an argument: every device that has a size or is used, with what stands on it. With one: the
mount, its device (the headline of a run there), and each layer below it down to the disks, with what
they have moved since boot. All of it is read from /sys and /proc.")]
pub struct Devices {
    /// A file or folder, or a block device such as /dev/sda, sda or 8:0
    #[arg(value_name = "PATH|DEVICE")]
    pub what: Option<PathBuf>,
    /// Print everything that is known as JSON
    #[arg(long)]
    pub json: bool,
    /// Put serial-1, wwid-1, … in place of serial numbers and world-wide names
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `iostat`.
#[derive(Debug, Args)]
#[command(after_help = "\
The columns, their order and their digits are those of sysstat's `iostat -x`; `-` is unknown: the
device was created anew, or the kernel does not count it. Without INTERVAL there is one report since
boot; with it, reports of intervals only (as `iostat -y`), without end unless there is a COUNT.

A recording for --replay holds snapshots of /proc/diskstats, each headed by a line `# <seconds>`:
  while sleep 1; do echo \"# $(cut -d' ' -f1 /proc/uptime)\"; cat /proc/diskstats; done > recording
With --json each report is an object on a line of its own: `at_s`, `elapsed_s`, and `devices`, each
with its `device` and iostat's columns by their names; null is unknown.")]
pub struct Iostat {
    /// Devices such as sda, /dev/nvme0n1 or 8:0 [default: whole devices that have been used], then the
    /// seconds between reports, then how many reports
    #[arg(value_name = "DEVICE… INTERVAL COUNT")]
    pub words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Report a recording instead; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// Arguments of `discover`.
#[derive(Debug, Args)]
#[command(after_help = "\
The profile is valid as it is, for example
  drivestone discover /mnt/dut > hardware/my-disk.yaml
and ready to be edited: what no device tells, such as its NAND, is left to fill in. The buffer pool is
proposed from memory and free space, with the arithmetic beside it.")]
pub struct Discover {
    /// A folder on the device under test, or the device itself
    #[arg(value_name = "PATH|DEVICE")]
    pub what: PathBuf,
    /// Put serial-1, wwid-1, … in place of serial numbers and world-wide names
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `env`.
#[derive(Debug, Args)]
#[command(after_help = "\
Compared are the plans, the hosts, the devices below the data directories, and the servers with all
their variables. What changes with every start, such as process ids and free space, is left out.")]
pub struct Env {
    /// A result: a folder that `run` left
    #[arg(value_name = "RESULT")]
    pub first: PathBuf,
    /// Another one
    #[arg(value_name = "RESULT")]
    pub second: PathBuf,
    /// Print the differences as JSON
    #[arg(long)]
    pub json: bool,
    /// Put host-1, serial-1, … in place of host names, serial numbers and world-wide names
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Read is what sysbench 0.4, 0.5, 1.0 and 1.1 print when they `run` a database test: whole files, what
was piped or copied from a terminal, several runs one after the other, and logs that end early. What
the log does not say stays unknown, and figures that cannot be are refused. The result is a folder
with the log and what was read from it; passwords on command lines are blanked in it.")]
pub struct Import {
    /// The log: a file, or - for standard input
    pub log: PathBuf,
    /// Folder for the result; it must not exist [default: reports/runs/<utc>-imported-<name>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to call the result [default: the file's name without its ending]
    #[arg(long)]
    pub name: Option<String>,
    /// The device under test, as reports are to call it
    #[arg(long, value_name = "TEXT")]
    pub device: Option<String>,
    /// The workload of runs whose command line the log lacks, such as oltp_read_write
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run removes the machines that it made, also when it fails or is interrupted. This is for what a
crash or an unreachable hypervisor left. Only what carries the tag of such a run is removed; what a
living run uses is not touched.")]
pub struct Clean {
    /// Remove what is listed
    #[arg(long)]
    pub remove: bool,
}

/// Report formats.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    /// Text for terminals and mails
    Table,
    /// One self-contained page with charts
    Html,
    /// Everything, for programs
    Json,
}
