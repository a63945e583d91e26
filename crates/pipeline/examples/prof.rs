use evforge_core::event::EventBatch; use evforge_core::packet::*; use evforge_pipeline::config::Config; use evforge_net::capture::*; use std::path::Path; use std::time::Instant;
fn main(){ let a:Vec<String>=std::env::args().collect(); let config=Config::read(Path::new(&a[1]),&a[3..].to_vec()).unwrap();
 let mut slab=PacketSlab::new(20000,64<<20); let mut r=CaptureReader::open(Path::new(&a[2])).unwrap(); r.fill(&mut slab).unwrap();
 let mut batch=EventBatch::new(100000);
 let mut ds:Vec<_>=(0..200).map(|_|config.build_detector().unwrap()).collect();
 let mut t=vec![]; let mut n=0;
 for d in &mut ds { batch.clear(); let s=Instant::now(); d.ingest(&slab.batch(),0,&mut batch); let m=s.elapsed(); d.close(&mut batch); t.push((s.elapsed(),m)); n=d.ledger().counters.value("readouts").unwrap(); }
 t.sort(); println!("median {:?} min {:?} {} events {:.1} M/s", t[100],t[0],batch.len(), n as f64/t[100].0.as_secs_f64()/1e6);
}
