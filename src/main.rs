//! The `drivestone` command: arguments in, exit code out. Everything else lives in the library.

fn main() -> std::process::ExitCode {
    drivestone::cli::main()
}
