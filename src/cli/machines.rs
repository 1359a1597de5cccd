//! Virtual machines that a plan asks for: whether they can be made, making them, and taking them away.

use super::exit::{self, Failure};
use super::output;
use crate::fleet::Interrupter;
use crate::fleet::vms::check::{self, Checked};
use crate::fleet::vms::{Machines, Request, VmsError, Watch, state};
use crate::plan::Plan;

/// Machines that can be made.
pub struct Wanted<'a> {
    request: Request<'a>,
    checked: Checked,
}

/// Asks the hypervisors, and prints what their user should know. `None` for a plan whose hosts are there.
pub fn check<'a>(plan: &'a Plan, interrupter: &Interrupter) -> Result<Option<Wanted<'a>>, Failure> {
    let Some(libvirt) = &plan.fleet.libvirt else { return Ok(None) };
    let request = Request { libvirt, instances: &plan.fleet.instances, target: &plan.hardware.target };
    let checked = check::check(&request, &|| interrupter.is_asked()).map_err(failure)?;
    checked.warnings().iter().for_each(|text| output::warning(text));
    Ok(Some(Wanted { request, checked }))
}

impl Wanted<'_> {
    /// Makes them and waits until they can be used.
    pub fn make(&self, interrupter: &Interrupter) -> Result<Machines, Failure> {
        let watch = Watch {
            interrupted: &|| interrupter.is_asked(),
            progress: &|host, stage| output::note(&format!("{host}: {stage}")),
        };
        let state = state::default_folder().map_err(|error| failure(error.into()))?;
        let machines = Machines::make(&self.request, &self.checked, &state, &watch).map_err(failure)?;
        machines.warnings().iter().for_each(|text| output::warning(text));
        Ok(machines)
    }
}

/// Takes them away again.
pub fn remove(machines: Machines) -> Result<(), Failure> {
    output::note("Removing the virtual machines …");
    machines.remove().map_err(failure)
}

fn failure(error: VmsError) -> Failure {
    match error {
        error if error.is_interrupt() => Failure::new(exit::INTERRUPTED, error),
        VmsError::Refused(reasons) => Failure::new(exit::REFUSED, reasons.join("\nerror: ")),
        error => Failure::new(exit::PREPARING, error),
    }
}
