//! `drivestone check`

use super::arguments::Profiles;
use super::exit::Failure;
use super::output;
use super::request::Request;

/// Checks two profiles against their hosts.
pub fn check(profiles: &Profiles) -> Result<(), Failure> {
    let request = Request::from_profiles(profiles)?;
    let checked = request.look()?;
    checked.fleet.quit();
    request.judge(&checked.preflight)?;
    let plan = &request.plan;
    output::print(&format!("{} on {}: ready to run\n", plan.profile.name, plan.hardware.name))
}
