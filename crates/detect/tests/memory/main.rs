//! The memory of every detector is bounded whatever it is fed, and forming events does not allocate.
//!
//! Without the test harness: a second thread would allocate meanwhile.

#[path = "../common/mod.rs"]
mod common;
#[path = "hostile_stream/ess.rs"]
mod ess_streams;
mod gdgem;
mod gdgem_ess;
#[allow(dead_code)]
#[path = "../forming/gdgem_ess/common.rs"]
mod gdgem_ess_common;
mod hostile_stream;
mod multiblade;
#[path = "../multiblade_common/mod.rs"]
mod multiblade_common;
mod multiblade_ess;
mod multigrid;
#[allow(dead_code)]
#[path = "../forming/multigrid/common.rs"]
mod multigrid_common;
mod multigrid_ess;
mod sonde;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let detectors: [(&str, fn()); 7] = [
        ("gdgem", gdgem::check_all),
        ("gdgem_ess", gdgem_ess::check_all),
        ("multiblade", multiblade::check_all),
        ("multiblade_ess", multiblade_ess::check_all),
        ("multigrid", multigrid::check_all),
        ("multigrid_ess", multigrid_ess::check_all),
        ("sonde", sonde::check_all),
    ];
    for (name, check_all) in detectors {
        check_all();
        println!("{name}: hostile streams stay within the bound and allocate nothing");
    }
}
