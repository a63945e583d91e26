/** The ledger: what was sent, received and lost, where, and what happened to the rest. */

import { AdviceList } from "./advice_list";
import type { ToldByRun } from "./beam_data";
import { DiscardList } from "./discard_list";
import type { Model } from "./model";
import { duration, grouped, known, share } from "./numbers";
import { OutputTable } from "./output_table";
import type { BeamMonitor, Ledger, Packets } from "./protocol";
import { group, note, row, text } from "./rows";
import { SourceList } from "./source_list";

export class LedgerPanel {
  /** What goes above the outputs, and below: their table stays while the rows are regenerated. */
  private readonly above = document.getElementById("ledger-above")!;
  private readonly below = document.getElementById("ledger-below")!;
  private readonly outputs = new OutputTable();
  private readonly advice = new AdviceList(this.above);
  private readonly sources = new SourceList(this.below);
  private readonly discards = new DiscardList(this.below);
  private readonly age = document.getElementById("ledger-age")!;

  /** `runs` is what runs tell of themselves. */
  constructor(private readonly model: Model, private readonly runs: () => ToldByRun[]) {}

  /** Says how old the ledger is: also while no updates come. */
  updateAge(): void {
    const { status, statusAt } = this.model;
    const since = performance.now() - statusAt;
    this.age.textContent = status?.ledger ? `${duration(status.ledger.age_ms + since)} old` : "";
  }

  update(): void {
    const { status } = this.model;
    const ledger = status?.ledger;
    this.updateAge();
    this.outputs.update(status?.outputs ?? []);
    this.advice.update(status?.advice ?? []);
    this.discards.update(ledger?.discarded ?? []);
    const above = document.createDocumentFragment();
    const below = document.createDocumentFragment();
    if (ledger) {
      packetRows(above, ledger);
      if (ledger.balances) balanceRows(above, ledger);
      else yieldRows(above, ledger);
      beamMonitorRows(below, ledger.beam_monitors ?? []);
    } else {
      above.append(text("p", "empty", status ? "No counters have come yet." : ""));
    }
    this.sources.update(ledger?.sources ?? []);
    toldRows(below, this.runs());
    this.viewRows(below);
    this.above.replaceChildren(above);
    this.below.replaceChildren(below);
  }

  /** What this page shows of it: the view drops what it cannot keep up with, and reports it. */
  private viewRows(rows: DocumentFragment): void {
    const { status } = this.model;
    if (!status) return;
    const table = group(rows, "This view");
    const { content } = this.model.hello ?? {};
    row(table, content ? `${content.things} so far` : "events in the picture", grouped(status.events));
    if (status.outside_geometry > 0) row(table, "outside the geometry", grouped(status.outside_geometry), "bad");
    if (status.before_first_pulse > 0) row(table, "before the first pulse", grouped(status.before_first_pulse), "minor");
    if (status.beyond_spectrum > 0) row(table, "beyond the spectrum", grouped(status.beyond_spectrum), "minor");
    row(table, "updates", `${this.model.updatesPerSecond().toFixed(1)}\u202f/s`, "minor");
    row(table, "skipped, page too slow", grouped(status.skipped), "minor");
  }
}

function packetRows(rows: DocumentFragment, ledger: Ledger): void {
  const { packets } = ledger;
  const table = group(rows, "Packets");
  const lost = packets.lost ?? packets.lost_at_least ?? 0;
  const atLeast = packets.lost_at_least === undefined ? "–" : `at least ${grouped(packets.lost_at_least)}`;
  row(table, "sent", known(packets.sent));
  row(table, "received", grouped(packets.received));
  row(table, "lost", packets.lost === null ? atLeast : grouped(packets.lost), lost > 0 ? "bad" : "");
  if (lost > 0) {
    for (const loss of ledger.locations) {
      const name = `at: ${loss.location}${loss.inferred ? " (inferred)" : ""}`;
      row(table, name, grouped(loss.packets), "minor");
    }
    if (ledger.unlocated > 0) row(table, "at: unlocated", grouped(ledger.unlocated), "minor");
  }
  note(table, bound(packets, ledger));
  row(table, "reordered", grouped(packets.reordered), "minor");
  row(table, "duplicated", grouped(packets.duplicated), "minor");
  if (packets.unconfirmed > 0) row(table, "with an unconfirmed number", grouped(packets.unconfirmed), "minor");
  if (packets.restarts > 0) row(table, "restarts of the numbering", grouped(packets.restarts), "minor");
  if (ledger.handed_over > packets.received) {
    row(table, "of no known source", grouped(ledger.handed_over - packets.received), "minor");
  }
}

/** The upper bound of the true share lost, in words. */
function bound(packets: Packets, ledger: Ledger): string {
  if (packets.received === 0 && packets.sent === null) return "no packets yet";
  const [unnumbered, all] = [ledger.unnumbered_sources, ledger.sources.length];
  if (unnumbered > 0 && unnumbered < all) return `${unnumbered} of ${all} sources have no packet numbers: their loss cannot be seen`;
  if (packets.sent === null && ledger.balances) return "whole trains, or ends of trains, are missing: how many packets they had is not known";
  if (packets.sent === null) return "packets have no numbers: loss cannot be seen";
  if (packets.loss_upper_bound === undefined) return "no packets yet";
  return `true share lost below ${share(packets.loss_upper_bound)} (95\u202f%)`;
}

/** Trains and images: what happened to all of them. */
function balanceRows(rows: DocumentFragment, ledger: Ledger): void {
  for (const { of, entered, left, discarded, held } of ledger.balances ?? []) {
    const table = group(rows, of === "trains" ? "Trains" : "Images");
    row(table, of === "trains" ? "begun" : "looked at", grouped(entered));
    row(table, of === "trains" ? "whole and good" : "kept", grouped(left));
    row(table, "discarded", grouped(discarded), discarded > 0 && of === "trains" ? "bad" : "");
    row(table, "open", grouped(held), "minor");
  }
  const table = group(rows, "Balance");
  row(table, "unaccounted", grouped(ledger.unaccounted), ledger.unaccounted > 0 ? "bad" : "good");
}

function yieldRows(rows: DocumentFragment, ledger: Ledger): void {
  const table = group(rows, "From readouts to events");
  row(table, "readouts", known(ledger.readouts));
  row(table, "hits", known(ledger.hits));
  row(table, "events", grouped(ledger.events));
  row(table, "held", grouped(ledger.held), "minor");
  const unaccounted = ledger.unaccounted;
  row(table, "unaccounted", grouped(unaccounted), unaccounted > 0 ? "bad" : "good");
}

function beamMonitorRows(rows: DocumentFragment, monitors: BeamMonitor[]): void {
  if (monitors.length === 0) return;
  const table = group(rows, "Beam monitors");
  for (const { name, kind, total, outside, pulses } of monitors) {
    const what = kind === "integrating" ? "sum of values" : "events";
    row(table, name, grouped(total)).title =
      `${what} in ${grouped(pulses)} pulses; ${grouped(outside)} outside the histogram`;
  }
}

/** What runs tell of themselves: it is not added to what came here. */
function toldRows(rows: DocumentFragment, runs: ToldByRun[]): void {
  for (const run of runs.filter(({ is_module }) => !is_module)) {
    const table = group(rows, `Told by the run ${run.source}`);
    const lost = run.packets_lost ?? run.packets_lost_at_least ?? 0;
    const atLeast = run.packets_lost_at_least === null ? "–" : `at least ${grouped(run.packets_lost_at_least)}`;
    row(table, "packets sent", known(run.packets_sent));
    row(table, "packets received", known(run.packets_received));
    row(table, "packets lost", run.packets_lost === null ? atLeast : grouped(run.packets_lost), lost > 0 ? "bad" : "");
    for (const part of runs.filter(({ is_module, source }) => is_module && source.startsWith(`${run.source}/`))) {
      const missing = part.packets_lost ?? part.packets_lost_at_least ?? 0;
      if (missing > 0) row(table, `of ${part.source.slice(run.source.length + 1)}`, grouped(missing), "bad");
    }
    row(table, "events formed", known(run.events_formed));
    row(table, "events acknowledged", known(run.events_acknowledged), "minor");
    row(table, "events not in the topic", known(run.events_lost), (run.events_lost ?? 0) > 0 ? "bad" : "");
    row(table, "unaccounted", known(run.unaccounted), (run.unaccounted ?? 0) > 0 ? "bad" : "good");
    if (run.complete !== null) note(table, run.complete ? "the run says that nothing is missing" : "the run says that it is not complete");
  }
}
