//! Multi-Grid with Mesytec modules, and the demonstrator at CNCS.

use crate::content::{CncsContent, MesytecContent};

pub(super) fn mesytec<'a>(contents: impl Iterator<Item = &'a MesytecContent>) -> Result<Vec<String>, String> {
    let last = contents.flat_map(|content| content.buses().into_keys()).max();
    let last = last.ok_or("there are no readouts, so that no bus is known")?;
    let bus = "\n[[multigrid.bus]]\nmax_channel = 120\nmax_wire = 80\nmax_z = 20\nswap_wires = true\nflipped_x = true\n\
               flipped_z = true\n";
    Ok(vec![format!(
        "[multigrid]\nreadout = \"mesytec\"\nstrategy = \"maximum\"\ntick = \"62.5ns\"\n\n\
         # UNKNOWN: how many channels of a bus are wires, and how they run. These are those of the demonstrator at ILL.{}",
        bus.repeat(usize::from(last) + 1)
    )])
}

pub(super) fn cncs<'a>(contents: impl Iterator<Item = &'a CncsContent>) -> Result<Vec<String>, String> {
    let last = contents.filter_map(CncsContent::last_module).max();
    let last = last.ok_or("there are no groups, so that no module is known")?;
    Ok(vec![format!(
        "[multigrid]\nreadout = \"cncs-2016\"\ntick = \"62.5ns\"\nwire_threshold = 230\ngrid_threshold = 170\n\
         double_neutrons = \"drop\"\n\n\
         # UNKNOWN: grids and wires of a module. These are those of the demonstrator at CNCS.\n\
         [multigrid.geometry]\nmodules = {}\ngrids = 48\nwires_x = 4\nwires_z = 16\n",
        u32::from(last) + 1
    )])
}
