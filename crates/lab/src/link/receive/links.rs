//! A thread for each receiver, which looks at the packets that it has just fetched.

use super::processor::ProcessorMeter;
use super::told::{Told, Watcher};
use super::{LinkAccount, LinkProgress, LinkReceiving, ReceivedLink, SLAB_BYTES, StreamLosses, work_for};
use crate::link::error::LinkReceiveError;
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread_in_turn;
use evforge_net::host_counters::HostCounterReader;
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::session::{
    PacketHandler, PacketReceiver, ReceivingThread, SessionClock, receive_with_threads,
};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// A link while it is received.
struct Link<'a, A> {
    address: SocketAddr,
    account: A,
    told: &'a Told<A>,
}

/// The links of one receiver.
struct Links<'a, A> {
    slab: PacketSlab,
    links: Vec<Link<'a, A>>,
    settings: &'a LinkReceiving,
    /// True if the receiver counts losses of all links together.
    is_shared: bool,
    processor: ProcessorMeter,
}

impl<A: LinkAccount> PacketHandler for Links<'_, A> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.processor.wait();
        &mut self.slab
    }

    fn received(&mut self, packets: usize, receiver: &dyn PacketReceiver) {
        for packet in self.slab.batch().iter() {
            let port = packet.origin.destination_port;
            // A receiver takes nothing but what is sent to its ports.
            if let Some(link) = self.links.iter_mut().find(|link| link.address.port() == port) {
                link.account.take(&packet);
                work_for(self.settings.work);
            }
        }
        self.slab.clear();
        self.processor.handled(packets);
        for Link { account, told, .. } in &self.links {
            if packets > 0 {
                told.tell(account);
            }
            told.tell_losses_if_asked(|| StreamLosses::of(receiver.losses(), self.is_shared));
            told.show_if_asked(account);
        }
    }
}

/// Receives until the time is over, nothing has come for long enough or `stop` is set, into an account from `account` for each
/// address. `watch` is called in this thread some 50 times per second, `show` with each account that is to be seen, by its
/// number.
///
/// # Errors
/// The first failure of a receiver; the others are stopped then.
pub(crate) fn receive_links<A: LinkAccount>(
    receivers: Vec<LiveReceiver>,
    settings: &LinkReceiving,
    account: impl Fn() -> A,
    stop: &AtomicBool,
    watch: impl FnMut(&LinkProgress),
    mut show: impl FnMut(usize, &A, StreamLosses),
) -> Result<Vec<ReceivedLink<A>>, LinkReceiveError> {
    let told: Vec<Told<A>> =
        receivers.iter().flat_map(LiveReceiver::local_addresses).map(|_| Told::default()).collect();
    let interfaces = receivers.iter().map(LiveReceiver::interfaces_in_use).collect();
    let host = HostCounterReader::start(settings.counters, interfaces).map_err(LinkReceiveError::NoThread)?;
    let place = |number: usize| pin_current_thread_in_turn(&settings.cores, number);
    let threads = threads(receivers, settings, &account, &told);
    let show = |number, account: &mut A, _: &_, losses| show(number, account, losses);
    let mut watcher = Watcher::new(&told, settings.shows_accounts, watch, show);
    let clock = SessionClock::start(settings.limits.clone(), stop);
    let received = receive_with_threads(clock, threads, &place, |progress| watcher.attend(progress))?;
    let mut links = Vec::new();
    for (number, thread) in received.into_iter().enumerate() {
        if let Some(failure) = thread.end.failure {
            return Err(failure.into());
        }
        let (receiver, state, handler) = (thread.receiver, thread.end.state, thread.handler);
        let losses = StreamLosses::of(state.losses, handler.is_shared);
        let processor = handler.processor.used();
        links.extend(handler.links.into_iter().map(|link| ReceivedLink {
            thread: number,
            address: link.address,
            way: receiver.description().to_owned(),
            account: link.account,
            losses,
            buffer: receiver.buffer(),
            by_worker: false,
            worked: None,
            state: state.clone(),
            host: host.now(),
            work: settings.work,
            processor,
        }));
    }
    Ok(links)
}

/// A thread for each receiver, with its links.
fn threads<'a, A: LinkAccount>(
    receivers: Vec<LiveReceiver>,
    settings: &'a LinkReceiving,
    account: &impl Fn() -> A,
    told: &'a [Told<A>],
) -> Vec<ReceivingThread<LiveReceiver, Links<'a, A>>> {
    let mut left = told.iter();
    let thread = |(number, receiver): (usize, LiveReceiver)| {
        // As many as the receiver has addresses: the shorter one is asked first, so none is left out.
        let of_receiver = receiver.local_addresses().into_iter().zip(left.by_ref());
        let links = of_receiver.map(|(address, told)| Link { address, account: account(), told }).collect();
        let handler = Links {
            slab: PacketSlab::new(settings.packets_at_once(), SLAB_BYTES),
            links,
            settings,
            is_shared: receiver.buffer().is_none(),
            processor: ProcessorMeter::new(),
        };
        ReceivingThread { name: format!("link {number}"), receiver, handler }
    };
    receivers.into_iter().enumerate().map(thread).collect()
}
